"""Who may join an advance reservation, and what of it is left for them."""

from collections.abc import Iterator

from msgspec import structs

from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.controller.core.resources.lending import held
from xce.controller.core.time.reservations import reservations
from xce.model.placing import Share
from xce.model.waiting.reservation import Reservation
from xce.scheduler.time.terms import ADVANCE, Hold, less


def named(state: State, name: str) -> Reservation | None:
    """The advance reservation of that name."""
    found = reservations(state).values()
    return next((one for one in found if one.kind == ADVANCE and one.name == name), None)


def left_of(state: State, one: Reservation) -> tuple[Share, ...]:
    """What of an advance reservation its jobs do not hold."""
    return less(one.shares, tuple(_joined(state, one.name)))


def _joined(state: State, name: str) -> Iterator[Share]:
    for number in sorted(state.allocations):
        allocation = state.allocations[number]
        job = state.jobs.get(allocation.job)
        if job is not None and state.specs[job.spec].reservation == name:
            yield from held(allocation)


def may_join(state: State, name: str, uid: int) -> c.Rejection | None:
    """What keeps a user's job out of a reservation, None where nothing does."""
    found = named(state, name)
    if not name:
        return None
    if found is None:
        message = f"Reservation <{name}>: No such reservation"
        return c.Rejection(code="invalid", message=message, field="reservation")
    if uid not in found.users:
        message = f"Reservation <{name}>: User permission denied"
        return c.Rejection(code="not_allowed", message=message, field="reservation")
    return None


def with_left(state: State, holds: tuple[Hold, ...]) -> tuple[Hold, ...]:
    """Reservations as a session sees them: of advance ones, what is left."""
    if not any(hold.kind == ADVANCE for hold in holds):
        return holds
    known = reservations(state)
    return tuple(
        structs.replace(hold, shares=left_of(state, known[hold.number]))
        if hold.kind == ADVANCE
        else hold
        for hold in holds
    )

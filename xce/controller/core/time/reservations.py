"""Reservations in the log: set and moved by plans, over when used, when nobody waits, or late.

A plan says what it reserves; the commit looks whether the holder still waits and writes one
record for each. Behind every decision `settle_reservations` ends those whose holder does not wait
any more: what was begun used them. A reservation that nobody used ends at its deadline.
"""

from xce.controller.core.arrays.elements import found_job
from xce.controller.core.commands import CommitPlan
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.queueing.queues import dispatches
from xce.controller.core.resources.pools import pooled_share
from xce.model.group import Group
from xce.model.ids import asker_text, claim_of, group_text
from xce.model.job import Job
from xce.model.records import ReservationEnded, ReservationSet
from xce.model.start import Claim
from xce.model.waiting.reservation import Reservation
from xce.scheduler.time.terms import BACKFILL, Hold, Reserve

USED, UNUSED, LATE, REMOVED, MOVED = "used", "holder_gone", "deadline", "removed", "preempts"


def reservations(state: State) -> dict[int, Reservation]:
    """What is kept for somebody from a moment on, by number."""
    return state.tables["reservation"]  # type: ignore[return-value]


def write_reserves(draft: Draft, command: CommitPlan) -> int:
    """One record for each reservation of a plan whose holder still waits; gives their number."""
    written = 0
    for reserve in command.reserves:
        written += _set(draft, command, reserve)
    return written


def _set(draft: Draft, command: CommitPlan, reserve: Reserve) -> bool:
    state = draft.state
    old = reservations(state).get(reserve.number)
    if not waits(state, reserve.group, reserve.job) or (reserve.number and old is None):
        return False
    if any(share.host not in state.hosts for share in reserve.shares):
        return False
    slips = (old.slips if old is not None else 0) + (0 < reserve.before_us < reserve.from_us)
    facts = ReservationSet(
        reservation=reserve.number or state.last("reservation") + 1,
        kind=BACKFILL,
        group=reserve.group,
        job=reserve.job,
        from_us=reserve.from_us,
        until_us=reserve.from_us + state.config.backfill.patience_us,
        end_us=reserve.end_us,
        shares=tuple(pooled_share(state.config.pools, share) for share in reserve.shares),
        cause=reserve.cause,
        before_us=reserve.before_us,
        slips=slips,
        session=command.session,
        snapshot_lsn=command.snapshot_lsn,
        snapshot_us=command.snapshot_us,
    )
    draft.open(facts, [_who(reserve.group, reserve.job)])
    return True


def reserved_since(state: State, lsn: int) -> frozenset[str]:
    """Hosts of which something was reserved in advance behind what a session saw: then only
    another session may place there."""
    found = [one for one in reservations(state).values() if one.lsn > lsn and not any(one.holder)]
    return frozenset(share.host for one in found for share in one.shares)


def waits(state: State, group: int, job: int) -> bool:
    """Whether the holder of a reservation still waits to be placed: what its queue does not let
    begin would keep the room from others for nothing."""
    found = holder_of(state, group, job)
    if found is None or found.state != "PENDING":
        return False
    return dispatches(state, state.config.queue(found.queue))


def holder_of(state: State, group: int, job: int) -> Group | Job | Claim | None:
    """For whom something is reserved: a gang, a plain job, or a standalone claim by its key."""
    if group:
        return state.groups.get(group)
    return state.claims.get(claim_of(job)) if job < 0 else found_job(state, job)


def settle_reservations(draft: Draft) -> None:
    """End what is reserved for somebody who does not wait any more."""
    state = draft.state
    for number in list(reservations(state)):
        found = reservations(state)[number]
        if found.holder == (0, 0) or waits(state, found.group, found.job):
            continue
        holder = holder_of(state, found.group, found.job)
        begun = holder is not None and holder.state in ("STARTING", "RUNNING", "BOUND")
        end_reservation(draft, number, USED if begun else UNUSED)


def end_reservation(draft: Draft, number: int, why: str) -> None:
    """A reservation is over."""
    found = reservations(draft.state)[number]
    draft.open(ReservationEnded(reservation=number, why=why), [holder_text(found)])
    draft.drop("reservation", number, "ended")


def reservation_due(draft: Draft, number: int) -> None:
    """The deadline of a reservation has come."""
    found = reservations(draft.state).get(number)
    if found is not None and found.until_us <= draft.now_us:
        end_reservation(draft, number, LATE)


def holds(state: State) -> tuple[Hold, ...]:
    """What is reserved, as a session sees it."""
    found = (_hold(state, one) for _, one in sorted(reservations(state).items()))
    return tuple(found)


def _hold(state: State, one: Reservation) -> Hold:
    holder = holder_of(state, one.group, one.job)
    return Hold(
        number=one.number, kind=one.kind, group=one.group, job=one.job, who=holder_text(one),
        queue=holder.queue if holder is not None else "", from_us=one.from_us,
        end_us=one.end_us, shares=one.shares,
    )  # fmt: skip


def holder_text(one: Reservation) -> str:
    """Whom a reservation is for."""
    return one.name or _who(one.group, one.job)


def _who(group: int, job: int) -> str:
    return group_text(group) if group else asker_text(job)

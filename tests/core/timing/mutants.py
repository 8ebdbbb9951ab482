"""Planted mistakes about time: reservations that nobody obeys, victims that nobody needs."""

from collections.abc import Callable, Sequence
from typing import Any

from tests.core.swapped import swapped
from xce.controller.core.orders import wanted
from xce.controller.core.time import giving_way
from xce.scheduler.time.backfill import Backfill
from xce.scheduler.time.preempt import Preemption, Way


def backfill_ignores_reservations() -> Any:
    """Nobody leaves alone what is reserved."""
    return swapped(Backfill, "prepare", lambda self, ask: None)


def preemption_without_proof() -> Any:
    """All candidates give way, whether that helps or not."""

    def way(self: Any, ask: Any, candidates: Sequence[Any], at_us: int, skip: int) -> Way:
        return Way(tuple(candidates), candidates[0].shares)

    return swapped(Preemption, "way", way)


def more_victims_than_needed() -> Any:
    """The whole row of candidates gives way where one would be enough."""
    own = Preemption.way

    def way(self: Any, ask: Any, candidates: Sequence[Any], at_us: int, skip: int) -> Way | None:
        found = own(self, ask, candidates, at_us, skip)
        return Way(tuple(candidates), found.shares) if found is not None else None

    return swapped(Preemption, "way", way)


def borrowed_space_is_kept() -> Any:
    """The host is not told when borrowed space is due."""
    return swapped(wanted, "over_us", lambda state, launch, spec: spec.terminate_us)


def victims_are_not_looked_at_again() -> Any:
    """The commit takes the plan's word for who runs."""
    return swapped(giving_way, "_stands", lambda *given: True)


TIMING: dict[str, tuple[Callable[[], Any], str]] = {
    "backfill ignores what is reserved": (
        backfill_ignores_reservations,
        "timing.reservations.what_would_delay_the_head_is_not_begun",
    ),
    "preemption without proof": (
        preemption_without_proof,
        "timing.preemption.nobody_gives_way_for_what_can_never_fit_or_would_not_fit_all_the_same",
    ),
    "more victims than needed": (
        more_victims_than_needed,
        "timing.preemption.one_victim_that_is_enough_gives_way_and_not_ten",
    ),
    "borrowed space is kept": (
        borrowed_space_is_kept,
        "timing.reservations.borrowed_space_is_given_back_by_the_host_when_it_is_due",
    ),
    "victims are not looked at again": (
        victims_are_not_looked_at_again,
        "timing.preemption.the_commit_looks_again_whether_the_victims_run_as_the_plan_saw_them",
    ),
}

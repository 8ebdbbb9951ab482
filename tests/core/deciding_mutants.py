"""Planted mistakes in who goes first, who waits for whom, who gives way and who goes on."""

from typing import Any

from tests.core.swapped import swapped
from xce.controller.core.deciders.asked import move
from xce.controller.core.deciders.placing import short_way
from xce.controller.core.queueing import fairness, ordering
from xce.scheduler import session
from xce.scheduler.limits.job_groups import GroupRooms
from xce.scheduler.policies import Waits
from xce.scheduler.sharing.limits import Limits
from xce.scheduler.time import backfill
from xce.scheduler.time.backfill import Backfill


def the_short_way_reuses_attempts() -> Any:
    """A plain job that runs again does so under its first attempt."""
    own = short_way.MemberPlan
    return swapped(short_way, "MemberPlan", lambda **given: own(**{**given, "attempt": 1}))


def nobody_ages() -> Any:
    """Waiting adds nothing to a priority."""
    own = ordering.parts
    return swapped(
        ordering, "parts", lambda names, w: own(names, Waits(w.priority, w.submit_us, w.tasks))
    )


def a_reservation_never_moves() -> Any:
    """What was reserved once stays where it was."""
    own = Backfill._reserve

    def reserve(self: Any, ask: Any, mine: Any, start: Any) -> None:
        if mine is None:
            own(self, ask, mine, start)

    return swapped(Backfill, "_reserve", reserve)


DECIDING: dict[str, tuple[Any, str]] = {
    "the short way uses attempts again": (
        the_short_way_reuses_attempts,
        "living.requeue.a_running_job_is_stopped_and_runs_again_under_its_number",
    ),
    "nobody ages": (nobody_ages, "queues.who_ages_catches_up"),
    "an operator moves nothing": (
        lambda: swapped(move, "_push", lambda *given: None),
        "living.moving.operators_move_over_all_of_the_queue",
    ),
    "history never fades": (
        lambda: swapped(fairness, "decayed", lambda amount, passed_us, history_us: amount),
        "fairshare.what_was_used_fades_to_a_tenth_within_the_history",
    ),
    "what runs is not in the shares": (
        lambda: swapped(fairness, "_of_account", lambda *given: fairness.Used()),
        "fairshare.what_runs_counts_while_it_runs_and_not_twice_when_it_ended",
    ),
    "surplus is not trimmed to limits": (
        lambda: swapped(Limits, "trimmed", lambda self, ask: ask),
        "limits.a_gang_goes_as_a_whole_and_its_surplus_only_as_far_as_there_is_room",
    ),
    "the first that waits reserves nothing": (
        lambda: swapped(Backfill, "_deserves", lambda *given: False),
        "timing.reservations.what_would_delay_the_head_is_not_begun",
    ),
    "a reservation never moves": (
        a_reservation_never_moves,
        "timing.reservations.a_reservation_slips_when_what_runs_is_given_longer",
    ),
    "strict lets others by": (
        lambda: swapped(backfill, "STRICT", "nothing"),
        "timing.reservations.the_policy_none_reserves_nothing_and_strict_lets_nobody_overtake",
    ),
    "suspended work takes what is not free": (
        lambda: swapped(session, "take_back", lambda work, ask: None),
        "suspending.a_resume_that_waits_says_for_what_and_goes_before_new_work",
    ),
    "a session does not count a job group": (
        lambda: swapped(GroupRooms, "book", lambda self, path: None),
        "job_groups.a_session_books_no_more_than_a_group_may_have",
    ),
    "who joined an advance reservation may use all": (
        lambda: swapped(Backfill, "_within", lambda self, ask: None),
        "timing.advance.those_who_joined_share_what_is_kept_and_no_more",
    ),
}

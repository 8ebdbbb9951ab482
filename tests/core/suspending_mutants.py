"""Planted mistakes of suspending, each with the test that must find it; see `mutants`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.core.swapped import swapped
from xce.controller.core.deciders import resumes
from xce.controller.core.life import suspending
from xce.controller.core.life.draft import Draft
from xce.controller.core.orders import wanted


@contextmanager
def lent_before_it_is_frozen() -> Iterator[None]:
    """What a job lends is free from the moment at which it is asked to stop."""
    own = suspending._stop

    def stop(one: Draft, job: Any, by: str, why: str) -> None:
        own(one, job, by, why)
        suspending._lend(one, one.state.jobs[job.key])

    with swapped(suspending, "_stop", stop):
        yield


SUSPENDING: dict[str, tuple[Callable[[], Any], str]] = {
    "lent before it is frozen": (
        lent_before_it_is_frozen,
        "suspending.slots_are_lent_once_the_host_says_that_nothing_runs_and_not_before",
    ),
    "resumed without a plan": (
        lambda: swapped(suspending, "_go_on", suspending.give_back),
        "suspending.a_resume_that_waits_says_for_what_and_goes_before_new_work",
    ),
    "a resume is not checked again": (
        lambda: swapped(resumes, "can_go_on", lambda *given: True),
        "suspending.what_others_took_between_the_snapshot_and_the_commit_makes_the_resume_stale",
    ),
    "what lent is let go before it is killed": (
        lambda: swapped(wanted, "_freeze", lambda state, launch, target: launch.freeze + 1),
        "suspended_ends.a_suspended_job_that_is_killed_does_not_run_in_room_that_others_have",
    ),
    "a part of a gang is stopped alone": (
        lambda: swapped(suspending, "together", lambda state, key: (key,)),
        "suspended_gangs.a_gang_is_suspended_and_resumed_whole",
    ),
}

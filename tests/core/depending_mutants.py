"""Planted mistakes about dependencies and job groups, each with the test that must find it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from msgspec import structs

from tests.core.swapped import swapped
from xce.controller.core.depending import latch as latching
from xce.controller.core.depending.links import Links
from xce.controller.core.job_groups import limits
from xce.scheduler.limits.job_groups import GroupRooms


@contextmanager
def nothing_is_latched() -> Iterator[None]:
    """A condition that came true is not written down: a restart, or a rerun, forgets it."""
    own = latching._write

    def write(draft: Any, told: Any) -> None:
        own(draft, tuple(structs.replace(one, conditions=()) for one in told if one.met))

    with swapped(latching, "_write", write):
        yield


@contextmanager
def nobody_is_asked_again() -> Iterator[None]:
    """An end does not look for those that wait for it."""
    with swapped(latching, "_touched", lambda draft, moved: []):
        yield


@contextmanager
def names_are_everybodys() -> Iterator[None]:
    """A name means anybody's job."""
    own = Links.named

    def named(self: Links, owner: int, name: str) -> list[int]:
        return sorted(one for who in self.names for one in own(self, who, name))

    with swapped(Links, "named", named):
        yield


DEPENDING: dict[str, tuple[Callable[[], AbstractContextManager[None]], str]] = {
    "a condition that held is forgotten": (
        nothing_is_latched,
        "depending.dependencies.what_is_latched_survives_restarts_cuts_and_the_parents_return",
    ),
    "those that wait are not told of an end": (
        nobody_is_asked_again,
        "depending.dependencies.a_job_waits_until_what_it_waits_for_is_done_and_says_so",
    ),
    "a name means anybody's job": (
        names_are_everybodys,
        "depending.dependencies.names_mean_all_of_the_owners_jobs_that_are_called_so",
    ),
    "a job group's limit is not checked again at the commit": (
        lambda: swapped(limits, "has_room", lambda state, key, taken: True),
        "job_groups.the_limit_is_checked_again_when_a_plan_is_committed",
    ),
    "a session forgets what it booked in a job group": (
        lambda: swapped(GroupRooms, "book", lambda self, path: None),
        "job_groups.a_session_books_no_more_than_a_group_may_have",
    ),
}

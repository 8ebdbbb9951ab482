"""Job arrays: how they are named in requests, and how they and their elements are shown.

`12` is the array, `12[3]` an element, `12[1-50]` several. Elements that are no jobs of their own
are counted by their letters and made into lines one by one, so that a page of a million costs a
page.
"""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from heapq import merge
from itertools import islice
from typing import Any

import msgspec
from fastapi import APIRouter, Query
from msgspec import Struct
from starlette.responses import Response

from xce.api.answers import LIMIT_MAX, answer, cursor_of, page
from xce.api.asks import user_name
from xce.api.ports import Engine, StateView
from xce.api.show import Shown
from xce.controller.core.arrays.elements import (
    exit_code_of,
    jobs_of_array,
    tally_of,
)
from xce.model.ids import job_index, job_text, place_of
from xce.model.job import Job, Spec
from xce.model.waiting.array import (
    COUNTED,
    DONE,
    EXITED,
    HELD,
    JOB,
    KILLED,
    PENDING,
    Array,
    Runs,
    among,
    element_of,
    indices_of,
)

Body = dict[str, Any]
STAT_OF = {PENDING: "PEND", HELD: "PSUSP", DONE: "DONE", EXITED: "EXIT", KILLED: "EXIT"}


class ArrayRoutes:
    """The route of arrays as wholes; one array, and its elements, are shown by those of jobs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The route, documented."""
        router = APIRouter(tags=["jobs"])
        router.add_api_route("/v1/arrays", self.listing, methods=["GET"])
        return router

    async def listing(
        self,
        *,
        user: str = "",
        queue: str = "",
        name: str = Query("", description="a name, * and ? stand for anything"),
        all_: bool = Query(False, alias="all", description="those that have ended, too"),
        limit: int = Query(200, ge=1, le=LIMIT_MAX),
        cursor: str = "",
    ) -> Response:
        """Job arrays, each with the counts of its elements; without `all` those that live."""
        after = cursor_of(cursor)
        await self._engine.settled()
        state = self._engine.state
        found = [
            array
            for _, array in sorted(state.arrays.items())
            if (all_ or not array.ended_us) and is_asked(array, name, user, queue)
        ]
        rest = [array for array in found if array.number > after]
        cut, following = page(rest, limit, lambda array: array.number)
        items = [array_line(state, array) for array in cut]
        return answer({"items": items, "next": following, "total": len(found), "lsn": state.lsn})


def is_asked(one: Job | Array, name: str, user: str, queue: str) -> bool:
    """Whether a list that asks for these is about it; an element goes by its array's name, too."""
    whole = one.name
    if isinstance(one, Job) and job_index(one.key):
        whole = whole.rpartition("[")[0]
    if name and not fnmatchcase(whole, name) and one.name != name:
        return False
    if user and user not in (user_name(one.owner), str(one.owner)):
        return False
    return not queue or one.queue == queue


# -- lists ---------------------------------------------------------------------------------------


class Matching(Struct, frozen=True):
    """Elements of one array that a list is about and that are no jobs of their own."""

    array: Array
    letters: str
    runs: Runs = ()

    def count(self) -> int:
        """How many there are."""
        if not self.runs:
            return sum(self.array.count(letter) for letter in self.letters)
        return (
            sum(len(range(a, b + 1, step)) for a, b, step in self._among()) if self.letters else 0
        )

    def jobs(self, after: int) -> Iterator[tuple[int, Job]]:
        """Place and job of each, ascending, beyond the place `after`."""
        base = place_of(self.array.number)
        for index in self._indices(max(0, after - base)) if self.letters else ():
            yield base + index, element_of(self.array, index)

    def _among(self) -> Runs:
        return among(self.array, self.runs, self.letters)

    def _indices(self, after: int) -> Iterator[int]:
        if not self.runs:
            return indices_of(self.array, self.letters, after)
        found = {i for a, b, step in self._among() for i in range(a, b + 1, step) if i > after}
        return iter(sorted(found))


def page_of(
    jobs: list[Job], matching: list[Matching], after: int, limit: int
) -> tuple[list[Job], str | None, int]:
    """One page of jobs and elements in the order of their numbers, beyond the key `after`; the next
    cursor; and how many there are on all pages."""
    after = place_of(after)
    total = len(jobs) + sum(one.count() for one in matching)
    own = sorted((place_of(job.key), job) for job in jobs if place_of(job.key) > after)
    streams = [iter(own), *(one.jobs(after) for one in matching)]
    found = list(islice(merge(*streams, key=lambda pair: pair[0]), limit + 1))
    shown = [job for _, job in found[:limit]]
    return shown, str(shown[-1].key) if len(found) > limit else None, total


def matching_of(array: Array, fits: Callable[[Job], bool], runs: Runs = ()) -> Matching:
    """The array's elements that fit: all of one letter do, or none."""
    letters = ""
    for letter in COUNTED:
        first = next(indices_of(array, letter), 0) if letter != JOB and array.count(letter) else 0
        if first and fits(element_of(array, first)):
            letters += letter
    return Matching(array, letters, runs)


# -- one array -----------------------------------------------------------------------------------


def stats_of(state: StateView, array: Array) -> dict[str, int]:
    """How many elements are in each of LSF's states."""
    shown, found = Shown(state), dict[str, int]()
    for job in jobs_of_array(state, array.number):
        stat = shown.stat(job)
        found[stat] = found.get(stat, 0) + 1
    for letter, stat in STAT_OF.items():
        if array.count(letter):
            found[stat] = found.get(stat, 0) + array.count(letter)
    return dict(sorted(found.items()))


def array_line(state: StateView, array: Array) -> Body:
    """One array as `jobs -A` shows it."""
    tally = tally_of(state, array.number) if array.number in state.arrays else _tally(array)
    return {
        "id": job_text(array.number),
        "name": array.name,
        "array": array.text,
        "user": user_name(array.owner),
        "owner": array.owner,
        "queue": array.queue,
        "priority": array.priority,
        "limit": array.limit or None,
        "elements": array.size,
        "states": dict(sorted(tally.items())),
        "stats": stats_of(state, array),
        "state": _state(array, tally),
        "submit_us": array.submit_us,
        "ended_us": array.ended_us or None,
        "exit_code": _code(state, array, tally),
    }


def array_body(state: StateView, array: Array, spec: Spec | None = None) -> Body:
    """One array, whole."""
    spec = spec or state.specs[array.spec]
    return {
        **array_line(state, array),
        "command": list(spec.command),
        "script": bool(spec.script),
        "cwd": spec.cwd,
        "stdout": spec.stdout or "xce-%J-%I.out",
        "stderr": spec.stderr or None,
        "stdin": spec.stdin or None,
        "tasks": spec.tasks,
        "resreq": spec.resreq,
        "application": spec.application or None,
        "killed_by": array.killed_by or None,
    }


def retired_array(kept: Mapping[str, Any], state: StateView) -> Body:
    """An array that has left, from what the history kept."""
    array = msgspec.convert(kept["array"], Array)
    return {**array_body(state, array, msgspec.convert(kept["spec"], Spec)), "retired": True}


def retired_element(kept: Mapping[str, Any], index: int) -> tuple[Job, Spec] | None:
    """An element that ended without ever being a job, of an array that has left."""
    array = msgspec.convert(kept["array"], Array)
    if array.letter(index) not in (DONE, EXITED, KILLED):
        return None
    return element_of(array, index), msgspec.convert(kept["spec"], Spec)


def _tally(array: Array) -> dict[str, int]:
    found = {"DONE": array.count(DONE), "EXITED": array.count(EXITED) + array.count(KILLED)}
    return {state: count for state, count in found.items() if count}


def _state(array: Array, tally: dict[str, int]) -> str:
    """What stands for all elements: the least far of those that go on, else how they ended."""
    if array.ended_us:
        return "DONE" if set(tally) == {"DONE"} else "EXITED"
    order = ("RUNNING", "STARTING", "ENDING", "PENDING", "HELD")
    return next((state for state in order if tally.get(state)), "PENDING")


def _code(state: StateView, array: Array, tally: dict[str, int]) -> int | None:
    """0 when all are done, else the first code that is not; None while it lives."""
    if not array.ended_us:
        return None
    if set(tally) == {"DONE"}:
        return 0
    there = array.number in state.arrays
    return (exit_code_of(state, array.number) if there else array.exit_code) or 1

"""Elements of arrays: jobs of their own, or letters of their array. Pure look-ups.

An element that was singled out is in the table of jobs; every other one is what its array's
letter says. Whoever asks for a job by its key asks here, so that both look alike.
"""

from collections.abc import Iterator
from typing import Protocol

from xce.controller.core.arrays.counts import ElementCounts
from xce.model.ids import job_index, job_number
from xce.model.job import Job, exit_code
from xce.model.tables import ENDED_JOB
from xce.model.waiting.array import (
    COUNTED,
    DONE,
    EXITED,
    HELD,
    JOB,
    KILLED,
    NONE,
    PENDING,
    STATE_OF,
    Array,
    Runs,
    element_of,
    has_index,
)


class Counted(Protocol):
    """The part of the indexes that is looked at."""

    elements: ElementCounts


class Seen(Protocol):
    """The part of a state that is looked at."""

    @property
    def jobs(self) -> dict[int, Job]:
        """By key."""

    @property
    def arrays(self) -> dict[int, Array]:
        """By number."""

    @property
    def index(self) -> Counted:
        """What is counted."""


WAITING_LETTERS, ENDED_LETTERS = PENDING + HELD, DONE + EXITED + KILLED
SEEN_MAX = 20_000
RUNNING = ("STARTING", "RUNNING", "ENDING")
"""States of elements that count toward their array's slot limit."""


def found_job(state: Seen, key: int) -> Job | None:
    """The job or element of that key; None where there is none (or it has left)."""
    job = state.jobs.get(key)
    if job is not None or not job_index(key):
        return job
    return _element(state, key, ENDED_LETTERS + WAITING_LETTERS)


def waiting_element(state: Seen, key: int) -> Job | None:
    """The job that an element becomes by its first change; None where none of that key waits."""
    return _element(state, key, WAITING_LETTERS)


def _element(state: Seen, key: int, letters: str) -> Job | None:
    """What an element is by its letter. It is looked at several times until it is placed, so it
    is kept as long as its array is the same."""
    array = state.arrays.get(job_number(key))
    if array is None:
        return None
    seen = state.index.elements.seen
    known = seen.get(key)
    if known is None or known[0] is not array:
        letter = array.letter(job_index(key))
        if letter in (JOB, NONE):
            return None
        if len(seen) >= SEEN_MAX:
            seen.clear()
        known = seen[key] = (array, element_of(array, job_index(key)), letter)
    return known[1] if known[2] in letters else None


def job_of(state: Seen, key: int) -> Job:
    """The job or element of that key; KeyError where there is none."""
    job = found_job(state, key)
    if job is None:
        raise KeyError(key)
    return job


def jobs_of_array(state: Seen, number: int, runs: Runs = ()) -> Iterator[Job]:
    """Elements that are jobs of their own, ascending; with runs only those inside."""
    keys = sorted(state.index.elements.keys.get(number, ()))
    for key in keys:
        if not runs or has_index(runs, job_index(key)):
            yield state.jobs[key]


def running_of(state: Seen, number: int) -> int:
    """How many elements count toward the slot limit now."""
    states = state.index.elements.states.get(number, {})
    return sum(states.get(one, 0) for one in RUNNING)


def room_of(state: Seen, array: Array) -> int | None:
    """How many more elements may run; None where there is no limit."""
    return max(0, array.limit - running_of(state, array.number)) if array.limit else None


def tally_of(state: Seen, number: int) -> dict[str, int]:
    """How many elements are in each state of a job, exactly."""
    array = state.arrays[number]
    found = dict(state.index.elements.states.get(number, {}))
    for letter, count in zip(COUNTED, array.tally, strict=True):
        if letter != JOB and count:
            state_name = STATE_OF[letter]
            found[state_name] = found.get(state_name, 0) + count
    return found


def is_over(state: Seen, number: int) -> bool:
    """Whether every element of an array has ended."""
    array = state.arrays[number]
    if array.count(PENDING) or array.count(HELD):
        return False
    return ENDED_JOB.issuperset(state.index.elements.states.get(number, {}))


def is_done(state: Seen, number: int) -> bool:
    """Whether every element of an array ended well."""
    return set(tally_of(state, number)) <= {"DONE"}


def exit_code_of(state: Seen, number: int) -> int:
    """The code of an array: that of the first element that has one that is not 0, else 0."""
    jobs = jobs_of_array(state, number)
    return state.arrays[number].exit_code or next(
        (code for job in jobs if (code := exit_code(job.exit))), 0
    )

"""Asking of arrays, whole or of some of their elements: one record, whatever their number.

Elements that only wait are moved as runs of their array; those that are jobs of their own are
asked one by one, within the same record. An element that a command is about alone (`12[3]`) is
named by the record; whole arrays and runs are named by the array.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from xce.controller.core import commands as c
from xce.controller.core.arrays.elements import found_job, jobs_of_array
from xce.controller.core.deciders.asked.authority import kept_by_others, not_yours, stands_for
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.starts import fail_start
from xce.controller.core.life.suspending import resume_each, suspend_each
from xce.model.actor import Actor
from xce.model.config import Config
from xce.model.ids import INDEX_MAX, job_index, job_number, job_text
from xce.model.job import Exit, Job
from xce.model.records import JobChanged, KillAsked, ResumeAsked, SuspendAsked
from xce.model.tables import ENDED_JOB
from xce.model.waiting.array import (
    HELD,
    KILLED,
    LETTERS,
    NONE,
    PENDING,
    Array,
    Runs,
    among,
    runs_text,
)

Answer = tuple[dict[str, Any], dict[str, bytes]]
LIMIT_MAX = 2**31 - 1


class _Asked(Struct, frozen=True):
    """What a command is about: an array, some of its elements (none: all), and their name."""

    array: Array
    runs: Runs
    text: str


def wrong_array(config: Config, command: c.SubmitJob) -> c.Rejection | None:
    """What keeps an array from being accepted."""
    if not command.indices:
        return None
    most = min(config.array_size_max, INDEX_MAX)
    last = max(last for _, last, _ in command.indices)
    if last > most:
        return c.Rejection(
            code="invalid",
            message=f"Job array index too large: {last} is beyond {most}",
            field="name",
            hint=f"indices are from 1 to {most} here (array_size_max)",
        )
    if not 0 <= command.array_limit <= LIMIT_MAX:
        return c.Rejection(
            code="invalid", message=f"the limit is from 1 to {LIMIT_MAX}", field="name"
        )
    return None


def kill_elements(draft: Draft, command: c.Kill) -> c.Rejection | Answer:
    """End an array, or some of its elements."""
    asked = _asked(draft.state, command.actor, command.job, command.elements)
    if isinstance(asked, c.Rejection):
        return asked
    number = asked.array.number
    waiting = among(asked.array, asked.runs, PENDING + HELD)
    jobs = list(jobs_of_array(draft.state, number, asked.runs))
    live = [job.key for job in jobs if job.state not in ENDED_JOB]
    if not waiting and not live:
        said = f"Job <{asked.text}>: Job has already finished"
        return c.Rejection(code="conflict", message=said)
    ending = [key for key in live if draft.state.jobs[key].state != "ENDING"]
    if waiting or ending:
        facts = KillAsked(job=command.job, reason="user", elements=command.elements)
        draft.open(facts, [job_text(command.job)])
        if waiting:
            draft.patch("array", number, killed_by=command.actor.text())
            draft.elements(number, "kill", waiting, KILLED)
        kill_jobs(draft, ending, command.actor)
    return {"job": asked.text, "state": _state_of(draft.state, command.job)}, {}


def kill_jobs(draft: Draft, keys: Iterable[int], actor: Actor) -> None:
    """End plain jobs, within the record in the making; starts that are OPEN fail behind it."""
    starts = []
    ended = Exit(how="none", reason="killed", by=actor.text())
    for key in keys:
        job = draft.state.jobs[key]
        extra = {"exit": ended} if job.state in ("PENDING", "HELD") else {}
        draft.fire("job", key, "kill", kill_reason="killed", **extra)
        starts.append(job.start)
    for start in starts:
        fail_open(draft, start)


def fail_open(draft: Draft, start: int) -> None:
    """A start that has not passed fails because what it starts is to end."""
    if start and draft.state.starts[start].state == "OPEN":
        fail_start(draft, start, "killed", (), spend=False)


def suspend_elements(draft: Draft, command: c.Suspend | c.Resume) -> c.Rejection | Answer:
    """Keep an array's pending elements from being placed and stop what runs of it, or let all of
    them go on."""
    asked = _asked(draft.state, command.actor, command.job, command.elements)
    if isinstance(asked, c.Rejection):
        return asked
    hold = isinstance(command, c.Suspend)
    found, event = (PENDING, "hold") if hold else (HELD, "release")
    moving = among(asked.array, asked.runs, found)
    jobs = list(jobs_of_array(draft.state, asked.array.number, asked.runs))
    before = "PENDING" if hold else "HELD"
    keys = [job.key for job in jobs if job.state == before]
    running = [job for job in jobs if _is_to_change(job, hold=hold)]
    for job in running if not hold else ():
        refused = kept_by_others(command.actor, f"Job <{job_text(job.key)}>", job)
        if refused is not None:
            return refused
    if not moving and not keys and not running and not _is_so(asked, jobs, hold=hold):
        return _none_to_hold(over=all(job.state in ENDED_JOB for job in jobs), asked=asked)
    if moving or keys:
        facts = JobChanged(job=command.job, field="held", new=str(hold), elements=command.elements)
        draft.open(facts, [job_text(command.job)])
        draft.elements(asked.array.number, event, moving, HELD if hold else PENDING)
        for key in keys:
            draft.fire("job", key, event)
    if running:
        _stop_or_go_on(draft, command, asked.array.owner, [job.key for job in running])
    return {"job": asked.text, "state": _state_of(draft.state, command.job)}, {}


def _is_to_change(job: Job, *, hold: bool) -> bool:
    """Whether a running element is to be stopped, or to be asked to go on."""
    if job.state != "RUNNING":
        return False
    if hold:
        return job.suspension != "SUSPENDED"
    return job.suspension == "SUSPENDED" and not job.resume_us


def _is_so(asked: _Asked, jobs: list[Job], *, hold: bool) -> bool:
    """Whether what is asked is so already for some of them."""
    if among(asked.array, asked.runs, HELD if hold else PENDING):
        return True
    return any(
        job.state in ("PENDING", "HELD") or (job.state == "RUNNING" and job.suspension != "ACTIVE")
        for job in jobs
    )


def _stop_or_go_on(
    draft: Draft, command: c.Suspend | c.Resume, owner: int, running: list[int]
) -> None:
    by, named = stands_for(command.actor, owner), [job_text(command.job)]
    if isinstance(command, c.Suspend):
        facts = SuspendAsked(
            job=command.job, by=by, why=command.why, elements=command.elements
        )  # fmt: skip
        suspend_each(draft, facts, named, running)
    else:
        resumed = ResumeAsked(job=command.job, by=by, elements=command.elements)
        resume_each(draft, resumed, named, running)


def _none_to_hold(asked: _Asked, *, over: bool) -> c.Rejection:
    why = "Job has already finished" if over else "Job is not suspended"
    return c.Rejection(code="conflict", message=f"Job <{asked.text}>: {why}")


def limit_array(draft: Draft, command: c.LimitArray) -> c.Rejection | Answer:
    """Change how many elements of an array may run at once. Those that run, run on."""
    asked = _asked(draft.state, command.actor, command.job, ())
    if isinstance(asked, c.Rejection):
        return asked
    if job_index(command.job):
        said = f"Job <{asked.text}>: the limit is one of the whole array"
        return c.Rejection(code="conflict", message=said)
    if not 0 <= command.limit <= LIMIT_MAX:
        said = f"the limit is from 1 to {LIMIT_MAX}, or 0 for none"
        return c.Rejection(code="invalid", message=said, field="limit")
    if asked.array.ended_us:
        said = f"Job <{asked.text}>: Job has already finished"
        return c.Rejection(code="conflict", message=said)
    changed = asked.array.limit != command.limit
    if changed:
        facts = JobChanged(job=command.job, field="array_limit", new=str(command.limit))
        draft.open(facts, [asked.text])
        draft.patch("array", asked.array.number, limit=command.limit)
    return {"job": asked.text, "limit": command.limit, "changed": changed}, {}


def _asked(state: State, actor: Actor, key: int, elements: Runs) -> _Asked | c.Rejection:
    """The elements that a command is about; a Rejection where there are none, or not for it."""
    array = state.arrays.get(job_number(key))
    index = job_index(key)
    runs: Runs = ((index, index, 1),) if index else elements
    text = job_text(key) if index or not elements else f"{key}[{runs_text(elements)}]"
    if array is None or (runs and not among(array, runs, LETTERS.replace(NONE, ""))):
        return c.Rejection(code="not_found", message=f"Job <{text}>: No matching job found")
    if not actor.may_change(array.owner):
        return not_yours(actor, f"Job <{text}>")
    return _Asked(array, runs, text)


def _state_of(state: State, key: int) -> str:
    """The state of the one element that is asked about, "" of several."""
    job = found_job(state, key) if job_index(key) else None
    return job.state if job is not None else ""

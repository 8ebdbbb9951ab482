"""Requeueing: stop what runs and let it run again, or let run again what has ended."""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.arrays.elements import found_job, jobs_of_array
from xce.controller.core.deciders.asked.authority import not_yours
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.starts import fail_start
from xce.model.ids import job_index, job_number, job_text
from xce.model.job import Job
from xce.model.records import JobChanged
from xce.model.tables import ENDED_JOB, LIVE_LAUNCH
from xce.model.waiting.array import HELD, KILLED, NONE, PENDING, Array, Runs, among

Answer = tuple[dict[str, Any], dict[str, bytes]]
REQUEUED = "requeue"
_ASKED_AS = {"DONE": "done", "EXITED": "exited"}


def requeue_job(draft: Draft, command: c.RequeueJob) -> c.Rejection | Answer:
    """Let a plain job run again: under its number, with its submission time, as a new attempt."""
    state, text = draft.state, job_text(command.job)
    whole = command.job in state.arrays
    job = None if whole else state.jobs.get(command.job)
    jobs = list(jobs_of_array(state, command.job, ())) if whole else [job] if job else []
    # Elements that never were jobs: all of them, or the one that is meant.
    array = state.arrays.get(job_number(command.job)) if job is None else None
    index = job_index(command.job)
    if not jobs and (array is None or (index and array.letter(index) == NONE)):
        return c.Rejection(code="not_found", message=f"Job <{text}>: No matching job found")
    if not command.actor.may_change(jobs[0].owner if jobs else array.owner if array else -1):
        return not_yours(command.actor, f"Job <{text}>")
    killed = _killed(array, index) if array is not None and "exited" in command.which else ()
    able = [one for one in jobs if not _cannot(one, command.which)]
    if not able and not killed:
        why = _cannot(jobs[0], command.which) if jobs else _why_not(array, index)
        return c.Rejection(code="conflict", message=f"Job <{text}>: {why}")
    target = "HELD" if command.held else "PENDING"
    if killed and array is not None:
        facts = JobChanged(job=command.job, field="requeue", new=target, elements=killed)
        draft.open(facts, [text])
        draft.elements(array.number, "requeue", killed, HELD if command.held else PENDING)
    able = [one for one in able if one.requeue != target or one.state in ENDED_JOB]
    for one in able:
        draft.open(JobChanged(job=one.key, field="requeue", new=target), [job_text(one.key)])
        _requeue(draft, one, target)
    told = None if whole else found_job(state, command.job)
    return {"job": text, "state": told.state if told is not None else ""}, {}


def _killed(array: Array, index: int) -> Runs:
    """Elements that were killed before they ever ran."""
    return among(array, ((index, index, 1),) if index else (), KILLED)


def _why_not(array: Array | None, index: int) -> str:
    """Why elements that are no jobs cannot be requeued."""
    waits = array is not None and (
        array.letter(index) in PENDING + HELD if index else not array.ended_us
    )
    return "Job has not started yet" if waits else "Job has already finished"


def _requeue(draft: Draft, job: Job, target: str) -> None:
    if job.state not in ENDED_JOB:
        _stop(draft, job, target)
        return
    draft.fire("job", job.key, "requeue", kill_reason="", requeue="", requeues=0)
    if target == "HELD":
        draft.fire("job", job.key, "hold")


def _cannot(job: Job, which: tuple[str, ...]) -> str:
    """Why a job cannot be requeued; "" when it can."""
    if job.group:
        return "a member of a gang cannot be requeued; its failure rules say what runs again"
    if job.state in ("PENDING", "HELD"):
        return "Job has not started yet"
    if job.state == "ENDING":
        return "Job is being terminated"
    kind = _ASKED_AS.get(job.state, "running")
    if kind in which:
        return ""
    return "Job has already finished" if job.state in ENDED_JOB else "Job has not finished"


def _stop(draft: Draft, job: Job, target: str) -> None:
    """End the attempt; when nothing of it is left the job waits again."""
    state = draft.state
    draft.patch("job", job.key, requeue=target)
    if state.starts[job.start].state == "OPEN":
        fail_start(draft, job.start, REQUEUED, (), spend=False)
        draft.patch("job", job.key, requeue="", last_failure="requeued by request")
        if target == "HELD":
            draft.fire("job", job.key, "hold")
        return
    for number in job.launches:
        if state.launches[number].state in LIVE_LAUNCH:
            draft.fire("launch", number, "stop", stop_reason=REQUEUED)

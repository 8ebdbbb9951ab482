"""Requeueing: stop what runs and let it run again, or let run again what has ended."""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.arrays.elements import jobs_of_array
from xce.controller.core.deciders.asked.authority import not_yours
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.starts import fail_start
from xce.model.ids import job_text
from xce.model.job import Job
from xce.model.records import JobChanged
from xce.model.tables import ENDED_JOB, LIVE_LAUNCH

Answer = tuple[dict[str, Any], dict[str, bytes]]
REQUEUED = "requeue"
_ASKED_AS = {"DONE": "done", "EXITED": "exited"}


def requeue_job(draft: Draft, command: c.RequeueJob) -> c.Rejection | Answer:
    """Let a plain job run again: under its number, with its submission time, as a new attempt."""
    state, text = draft.state, job_text(command.job)
    whole = command.job in state.arrays
    job = None if whole else state.jobs.get(command.job)
    jobs = list(jobs_of_array(state, command.job, ())) if whole else [job] if job else []
    if not jobs:
        return c.Rejection(code="not_found", message=f"Job <{text}>: No matching job found")
    if not command.actor.may_change(jobs[0].owner):
        return not_yours(command.actor, f"Job <{text}>")
    able = [one for one in jobs if not _cannot(one, command.which)]
    if not able:
        why = _cannot(jobs[0], command.which)
        return c.Rejection(code="conflict", message=f"Job <{text}>: {why}")
    target = "HELD" if command.held else "PENDING"
    able = [one for one in able if one.requeue != target or one.state in ENDED_JOB]
    for one in able:
        draft.open(JobChanged(job=one.key, field="requeue", new=target), [job_text(one.key)])
        _requeue(draft, one, target)
    return {"job": text, "state": "" if whole else state.jobs[command.job].state}, {}


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

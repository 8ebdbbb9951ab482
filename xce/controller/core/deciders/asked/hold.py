"""Holding: keep pending work from being placed, and let it go again."""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.deciders.asked.arrays import hold_elements
from xce.controller.core.deciders.asked.authority import not_yours
from xce.controller.core.life.draft import Draft
from xce.model.ids import job_number, job_text
from xce.model.job import Job
from xce.model.records import (
    JobChanged,
)
from xce.model.tables import ENDED_JOB

Answer = tuple[dict[str, Any], dict[str, bytes]]


def _cannot_hold(job: Job, *, hold: bool) -> str:
    """Why a job cannot be held or let go; "" when it can."""
    if job.state in ENDED_JOB:
        return "Job has already finished"
    if job.group:
        return "a member of a gang cannot be suspended by this version"
    if job.state in ("PENDING", "HELD"):
        return ""
    if not hold:
        return "Job is not suspended"
    return "Job has started; only a pending one can be suspended by this version"


def hold_job(draft: Draft, command: c.HoldJob) -> c.Rejection | Answer:
    """Keep a pending plain job from being placed, or let it go again."""
    job = draft.state.jobs.get(command.job)
    if job is None and job_number(command.job) in draft.state.arrays:
        return hold_elements(draft, command)
    text = job_text(command.job)
    if job is None:
        return c.Rejection(code="not_found", message=f"Job <{text}>: No matching job found")
    if not command.actor.may_change(job.owner):
        return not_yours(command.actor, f"Job <{text}>")
    if why := _cannot_hold(job, hold=command.hold):
        return c.Rejection(code="conflict", message=f"Job <{text}>: {why}")
    event = "hold" if command.hold else "release"
    if (job.state == "HELD") != command.hold:
        draft.open(JobChanged(job=job.key, field="held", new=str(command.hold)), [text])
        draft.fire("job", job.key, event)
    return {"job": text, "state": draft.state.jobs[job.key].state}, {}

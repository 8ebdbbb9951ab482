"""Killing: a job, or a gang with all its members."""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.deciders.asked.arrays import fail_open, kill_elements, kill_jobs
from xce.controller.core.deciders.asked.authority import not_yours
from xce.controller.core.gangs.settling import settle_group
from xce.controller.core.life.draft import Draft
from xce.model.ids import group_text, job_number, job_text
from xce.model.job import Exit
from xce.model.records import (
    GroupEnded,
    KillAsked,
)
from xce.model.tables import ENDED_GROUP, ENDED_JOB

Answer = tuple[dict[str, Any], dict[str, bytes]]


def kill(draft: Draft, command: c.Kill) -> c.Rejection | Answer:
    """End a job or a gang. A member's kill ends its gang."""
    state = draft.state
    group = state.groups.get(command.group)
    job = state.jobs.get(command.job)
    if job is None and job_number(command.job) in state.arrays:
        return kill_elements(draft, command)
    if command.job and job is not None and job.group:
        group = state.groups[job.group]
    if group is not None:
        return _kill_group(draft, command, group.number)
    if job is None:
        what = f"Job <{job_text(command.job)}>: No matching job found"
        if command.group:
            what = f"Group <{group_text(command.group)}>: No matching group found"
        return c.Rejection(code="not_found", message=what)
    if not command.actor.may_change(job.owner):
        return not_yours(command.actor, f"Job <{job_text(job.key)}>")
    if job.state in ENDED_JOB:
        return c.Rejection(
            code="conflict", message=f"Job <{job_text(job.key)}>: Job has already finished"
        )
    if job.state == "ENDING":
        return {"job": job_text(job.key), "state": "ENDING"}, {}
    draft.open(KillAsked(job=job.key, reason="user"), [job_text(job.key)])
    kill_jobs(draft, [job.key], command.actor)
    return {"job": job_text(job.key), "state": state.jobs[job.key].state}, {}


def _kill_group(draft: Draft, command: c.Kill, number: int) -> c.Rejection | Answer:
    state = draft.state
    group = state.groups[number]
    if not command.actor.may_change(group.owner):
        return not_yours(command.actor, f"Group <{group_text(number)}>")
    if group.state in ENDED_GROUP:
        return c.Rejection(
            code="conflict", message=f"Group <{group_text(number)}>: Group has already finished"
        )
    if group.state == "ENDING":
        return {"group": group_text(number), "state": "ENDING"}, {}
    why = f"member {job_text(command.job)} was killed" if command.job else "killed"
    names = [group_text(number), *([job_text(command.job)] if command.job else [])]
    draft.open(KillAsked(job=command.job, group=number, reason="user"), names)
    ended = Exit(how="none", reason="killed", by=command.actor.text())
    for key in group.members():
        if state.jobs[key].state in ("PENDING", "HELD"):
            draft.patch("job", key, exit=ended)
    waiting = group.state in ("FORMING", "PENDING")
    draft.fire("group", number, "kill", verdict="EXITED", reason=why, kill_reason="killed")
    if waiting:
        facts = GroupEnded(group=number, verdict="EXITED", reason=why)
        draft.open(facts, [group_text(number)])
    else:
        fail_open(draft, group.start)
        settle_group(draft, number)
    return {"group": group_text(number), "state": state.groups[number].state}, {}

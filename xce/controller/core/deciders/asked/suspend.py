"""Suspending and resuming: what is pending is held, what runs is stopped.

A gang is suspended whole; a member alone is refused. What an operator suspended its owner cannot
resume; what the system suspended goes on by itself, unless its owner suspends it, too.
"""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.deciders.asked.arrays import suspend_elements
from xce.controller.core.deciders.asked.authority import kept_by_others, not_yours, stands_for
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.suspending import cannot_freeze, suspended, together
from xce.controller.core.life.suspending import resume as go_on
from xce.controller.core.life.suspending import suspend as stop
from xce.model.actor import OPERATOR, SYSTEM, USER
from xce.model.group import Group
from xce.model.ids import group_text, job_number, job_text
from xce.model.job import Job
from xce.model.records import JobChanged, ResumeAsked, SuspendAsked
from xce.model.tables import ENDED_GROUP, ENDED_JOB

Answer = tuple[dict[str, Any], dict[str, bytes]]
Asked = c.Suspend | c.Resume
WAITING_GROUP = ("FORMING", "PENDING")


def suspend_work(draft: Draft, command: c.Suspend) -> c.Rejection | Answer:
    """Stop a job or a gang, or keep it from being placed."""
    if _is_of_array(draft, command):
        return suspend_elements(draft, command)
    found = _found(draft, command)
    if isinstance(found, Job):
        return _suspend_job(draft, command, found)
    return _suspend_group(draft, command, found) if isinstance(found, Group) else found


def resume_work(draft: Draft, command: c.Resume) -> c.Rejection | Answer:
    """Let a job or a gang go on, or be placed."""
    if _is_of_array(draft, command):
        return suspend_elements(draft, command)
    found = _found(draft, command)
    if isinstance(found, Job):
        return _resume_job(draft, command, found)
    return _resume_group(draft, command, found) if isinstance(found, Group) else found


# -- who and what ---------------------------------------------------------------------------------


def _is_of_array(draft: Draft, command: Asked) -> bool:
    """An element that runs is a job of its own."""
    return command.job not in draft.state.jobs and job_number(command.job) in draft.state.arrays


def _found(draft: Draft, command: Asked) -> Job | Group | c.Rejection:
    """The plain job or the gang that is meant, if it lives and the asker may change it."""
    state = draft.state
    if command.group:
        found: Job | Group | None = state.groups.get(command.group)
        text, what, over = f"Group <{group_text(command.group)}>", "group", ENDED_GROUP
    else:
        found = state.jobs.get(command.job)
        text, what, over = f"Job <{job_text(command.job)}>", "job", ENDED_JOB
    if found is None:
        return c.Rejection(code="not_found", message=f"{text}: No matching {what} found")
    if not command.actor.may_change(found.owner):
        return not_yours(command.actor, text)
    if found.state in over:
        return _conflict(text, f"{what.title()} has already finished")
    if isinstance(found, Job) and found.group:
        gang = group_text(found.group)
        verb = "suspend" if isinstance(command, c.Suspend) else "resume"
        why = f"it is a member of group <{gang}>, which is suspended and resumed whole"
        return _conflict(text, why, f"`xcecli group {verb} {gang}`")
    return found


def _conflict(text: str, why: str, hint: str = "") -> c.Rejection:
    return c.Rejection(code="conflict", message=f"{text}: {why}", hint=hint)


_NOT_NOW = {
    "STARTING": "is being started; it can be suspended once it runs",
    "RETRACTING": "is being restarted",
    "ENDING": "is being ended",
}


# -- jobs -----------------------------------------------------------------------------------------


def _told(draft: Draft, key: int) -> Answer:
    job = draft.state.jobs[key]
    return {"job": job_text(key), "state": job.state, "suspension": job.suspension}, {}


def _suspend_job(draft: Draft, command: c.Suspend, job: Job) -> c.Rejection | Answer:
    text, by = job_text(job.key), stands_for(command.actor, job.owner)
    if job.state in _NOT_NOW:
        return _conflict(f"Job <{text}>", f"Job {_NOT_NOW[job.state]}")
    if job.state in ("PENDING", "HELD"):
        if job.state == "PENDING" or _takes_over(job, by):
            draft.open(JobChanged(job=job.key, field="held", new="True"), [text])
            _hold(draft, job, by)
    elif job.suspension != "SUSPENDED" or job.resume_us or _takes_over(job, by):
        if host := cannot_freeze(draft.state, job.key):
            return _conflict(f"Job <{text}>", *_too_old(host))
        stop(draft, job.key, by, command.why)
    return _told(draft, job.key)


def _too_old(host: str) -> tuple[str, str]:
    return f"the agent of its host {host} cannot suspend", "start the agent anew, of this version"


def _takes_over(job: Job, by: str) -> bool:
    """Whether somebody else has more to say about when it goes on: an operator most."""
    rank = {SYSTEM: 0, "": 1, USER: 1, OPERATOR: 2}
    return rank[by] > rank[job.suspended_by]


def _hold(draft: Draft, job: Job, by: str) -> None:
    if job.state == "HELD":
        draft.patch("job", job.key, suspended_by=by)
    else:
        draft.fire("job", job.key, "hold", **({"suspended_by": by} if by != USER else {}))


def _resume_job(draft: Draft, command: c.Resume, job: Job) -> c.Rejection | Answer:
    text = job_text(job.key)
    refused = kept_by_others(command.actor, f"Job <{text}>", job)
    if refused is not None:
        return refused
    if job.state == "HELD":
        draft.open(JobChanged(job=job.key, field="held", new="False"), [text])
        _release(draft, job)
    elif job.state != "PENDING":
        if job.suspension == "ACTIVE" or job.state == "ENDING":
            return _conflict(f"Job <{text}>", "Job is not suspended")
        if job.suspension == "SUSPENDED" and not job.resume_us:
            go_on(draft, job.key, stands_for(command.actor, job.owner))
    return _told(draft, job.key)


def _release(draft: Draft, job: Job) -> None:
    draft.fire("job", job.key, "release", **({"suspended_by": ""} if job.suspended_by else {}))


# -- gangs ----------------------------------------------------------------------------------------


def _told_group(draft: Draft, number: int) -> Answer:
    return {"group": group_text(number), "state": draft.state.groups[number].state}, {}


def _suspend_group(draft: Draft, command: c.Suspend, group: Group) -> c.Rejection | Answer:
    text, by = group_text(group.number), stands_for(command.actor, group.owner)
    if group.state in _NOT_NOW:
        return _conflict(f"Group <{text}>", f"Group {_NOT_NOW[group.state]}")
    members = [draft.state.jobs[key] for key in group.members()]
    if group.state in WAITING_GROUP:
        held = [job for job in members if job.state == "PENDING" or _takes_over(job, by)]
        if held:
            draft.open(SuspendAsked(group=group.number, by=by, why=command.why), [text])
        for job in held:
            _hold(draft, job, by)
        return _told_group(draft, group.number)
    running = [draft.state.jobs[key] for key in together(draft.state, members[0].key)]
    if not running:
        return _conflict(f"Group <{text}>", "nothing of it runs")
    if any(
        job.suspension != "SUSPENDED" or job.resume_us or _takes_over(job, by) for job in running
    ):
        if host := cannot_freeze(draft.state, running[0].key):
            return _conflict(f"Group <{text}>", *_too_old(host))
        stop(draft, running[0].key, by, command.why)
    return _told_group(draft, group.number)


def _resume_group(draft: Draft, command: c.Resume, group: Group) -> c.Rejection | Answer:
    state, text = draft.state, group_text(group.number)
    members = [state.jobs[key] for key in group.members()]
    held = [job for job in members if job.state == "HELD"]
    stopped = [state.jobs[key] for key in suspended(state, members[0].key)]
    for job in (*held, *stopped):
        refused = kept_by_others(command.actor, f"Group <{text}>", job)
        if refused is not None:
            return refused
    by = stands_for(command.actor, group.owner)
    if held and group.state in WAITING_GROUP:
        draft.open(ResumeAsked(group=group.number, by=by), [text])
        for job in held:
            _release(draft, job)
    elif stopped:
        if not all(job.resume_us for job in stopped):
            go_on(draft, stopped[0].key, by)
    elif group.state not in WAITING_GROUP and all(job.suspension == "ACTIVE" for job in members):
        return _conflict(f"Group <{text}>", "Group is not suspended")
    return _told_group(draft, group.number)

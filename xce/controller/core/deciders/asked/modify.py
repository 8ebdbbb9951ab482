"""Modifying: what a job asked for is changed and judged anew, as if it were submitted so.

Of a job that waits everything may change; of one that runs only what can still act, and its hosts
are told. A whole array changes with its elements that wait. Nothing is written when nothing
changes.
"""

from typing import Any

from msgspec import structs

from xce.controller.core import commands as c
from xce.controller.core.arrays.elements import jobs_of_array
from xce.controller.core.deciders.asked.authority import not_yours, queue_of
from xce.controller.core.deciders.asked.queues import unfit_for
from xce.controller.core.deciders.asked.submit import blob_name
from xce.controller.core.deciders.job_limits import asked_of
from xce.controller.core.deciders.limits import check_spec, wrong_times
from xce.controller.core.deciders.requirements import resolve_spec
from xce.controller.core.depending.latch import first_fields
from xce.controller.core.depending.names import resolve
from xce.controller.core.fold.state import State, spec_blob
from xce.controller.core.life.draft import Draft
from xce.model.actor import USER
from xce.model.config import QueueConfig
from xce.model.ids import job_text
from xce.model.job import Job, Spec
from xce.model.records import JobChanged
from xce.model.tables import ENDED_JOB, LIVE_LAUNCH
from xce.model.waiting.array import HELD, PENDING, Array

Answer = tuple[dict[str, Any], dict[str, bytes]]
Work = Job | Array
WAITING = ("PENDING", "HELD")
ON_RUNNING = {
    "run_limit_us": "-W", "run_estimate_us": "-We", "terminate_us": "-t", "rerunnable": "-r",
    "requeue_exits": "-Q", "description": "-Jd",
}  # fmt: skip
"""What can still act on a job that runs, and the option of each."""
NO_DEPENDENCY: dict[str, Any] = {
    "after": "", "after_ids": "", "after_latched": (), "after_met_us": 0,
}  # fmt: skip


def modify_job(draft: Draft, command: c.ModifyJob) -> c.Rejection | Answer:
    """Change what a job asked for; what it comes to is refused as at its submission."""
    state = draft.state
    work = state.arrays.get(command.job) or state.jobs.get(command.job)
    refused = _refused(state, command, work)
    if refused is not None or work is None:
        return refused or _unknown(command.job)
    made = _made(draft, command, work)
    if isinstance(made, c.Rejection):
        return made
    spec, fields = made
    return _write(draft, command, work, (spec, fields))


def _unknown(key: int) -> c.Rejection:
    return c.Rejection(code="not_found", message=f"Job <{job_text(key)}>: No matching job found")


def _refused(state: State, command: c.ModifyJob, work: Work | None) -> c.Rejection | None:
    """Why it cannot be changed at all, or not in this way."""
    if work is None:
        return _unknown(command.job)
    text = job_text(command.job)
    if not command.actor.may_change(work.owner):
        return not_yours(command.actor, f"Job <{text}>")
    why = _why_not(work)
    if not why and not _is_waiting(work):
        names = [*command.spec, *(n for n in ("queue", "after") if getattr(command, n) is not None)]
        names += ["priority"] if command.priority is not None else []
        if [name for name in names if name not in ON_RUNNING]:
            allowed = ", ".join(ON_RUNNING.values())
            why = f"Only these can be changed of a job that has started: {allowed}"
    return c.Rejection(code="conflict", message=f"Job <{text}>: {why}") if why else None


def _why_not(work: Work) -> str:
    if isinstance(work, Array):
        over = not (work.count(PENDING) or work.count(HELD))
        return "no element of it waits any more" if over else ""
    if work.group:
        return "a member of a gang cannot be changed alone"
    if work.state in ENDED_JOB:
        return "Job has already finished"
    return "Job is being terminated" if work.state == "ENDING" else ""


def _is_waiting(work: Work) -> bool:
    return isinstance(work, Array) or work.state in WAITING


def _made(
    draft: Draft, command: c.ModifyJob, work: Work
) -> c.Rejection | tuple[Spec, dict[str, Any]]:
    """The new spec, and the fields of the job itself that change with it."""
    state, before = draft.state, draft.state.specs[work.spec]
    queue = _queue(state, command, work)
    if isinstance(queue, c.Rejection):
        return queue
    asked = structs.replace(asked_of(before), **command.spec)
    if not asked.name and "name" in command.spec:
        asked = structs.replace(asked, name=" ".join(asked.command) or "script")
    wrong = _unfit(state, command, work, queue)
    if {"begin_us", "terminate_us"} & set(command.spec):
        wrong = wrong or wrong_times(asked, draft.now_us)
    spec = wrong or check_spec(state.config, asked) or resolve_spec(state.config, asked, queue)
    if isinstance(spec, c.Rejection):
        return spec
    fields: dict[str, Any] = {"queue": queue.name, "name": spec.name}
    if command.priority is not None:
        asked_for = command.priority
        fields["priority"] = asked_for if asked_for >= 0 else state.config.priority_default
    if spec.begin_us != before.begin_us and _is_waiting(work):
        fields["not_before_us"] = spec.begin_us if spec.begin_us > draft.now_us else 0
    dependency = _dependency(draft, command, work)
    if isinstance(dependency, c.Rejection):
        return dependency
    return spec, {**fields, **dependency}


def _unfit(
    state: State, command: c.ModifyJob, work: Work, queue: QueueConfig
) -> c.Rejection | None:
    """Why the queue does not take it so: as at a submission, but what is not changed is not judged
    again, and operators may give any priority."""
    asked = command.priority if command.priority is not None else -1
    group = str(command.spec.get("user_group", ""))
    if command.queue is None and asked < 0 and not group:
        return None
    own = command.actor.kind == USER
    return unfit_for(state, queue, work.owner, asked if own else -1, group, 0)


def _queue(state: State, command: c.ModifyJob, work: Work) -> QueueConfig | c.Rejection:
    """The queue it is to be in; its own one may be closed or gone meanwhile."""
    if command.queue is not None:
        return queue_of(state, command.queue)
    return state.config.queue(work.queue) or QueueConfig(name=work.queue)


def _dependency(draft: Draft, command: c.ModifyJob, work: Work) -> dict[str, Any] | c.Rejection:
    if command.after is None:
        return {}
    if not command.after:
        return NO_DEPENDENCY
    own = work.number if isinstance(work, Array) else work.key
    found = resolve(draft.state, work.owner, command.after, command.past, own)
    return found if isinstance(found, c.Rejection) else first_fields(found, draft.now_us)


# -- writing --------------------------------------------------------------------------------------


def _write(
    draft: Draft, command: c.ModifyJob, work: Work, made: tuple[Spec, dict[str, Any]]
) -> Answer:
    """One record, if anything changes."""
    state, (spec, fields) = draft.state, made
    text, before = job_text(command.job), state.specs[work.spec]
    blob = spec_blob(spec)
    name = blob_name(blob)
    changed = sorted(
        {key for key, value in fields.items() if getattr(work, key) != value}
        | {key for key in command.spec if getattr(before, key) != getattr(spec, key)}
    )
    differs = spec != before and (changed or asked_of(spec) != asked_of(before))
    if not changed and not differs:
        return {"job": text, "changed": []}, {}
    state.intern(name, blob)
    facts = JobChanged(
        job=command.job, field=",".join(changed) or "spec", new="", spec=name,
        launches=_told(state, work),
    )  # fmt: skip
    draft.open(facts, [text])
    for what, key in _targets(state, work):
        draft.patch(what, key, spec=name, **fields)
    if command.after:
        draft.moved["job", command.job] = None
    return {"job": text, "changed": changed}, {name: blob, **command.blobs}


def _told(state: State, work: Work) -> tuple[int, ...]:
    """Launches whose hosts hear of new limits."""
    if isinstance(work, Array):
        return ()
    return tuple(one for one in work.launches if state.launches[one].state in LIVE_LAUNCH)


def _targets(state: State, work: Work) -> list[tuple[str, int]]:
    """What is changed: a job; an array with those of its elements that wait as jobs."""
    if isinstance(work, Job):
        return [("job", work.key)]
    waiting = [one.key for one in jobs_of_array(state, work.number) if one.state in WAITING]
    return [("array", work.number), *(("job", key) for key in waiting)]

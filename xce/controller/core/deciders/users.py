"""What users ask: submit, kill, hold. Their mistakes are Rejections, in one plain sentence."""

from hashlib import blake2b
from typing import Any

from msgspec import structs

from xce.controller.core import commands as c
from xce.controller.core.deciders.limits import check_gang, check_spec
from xce.controller.core.deciders.requirements import resolve_spec
from xce.controller.core.fold.state import State, group_blob, spec_blob
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.ends import settle_group
from xce.controller.core.life.starts import fail_start
from xce.model.actor import ADMIN, Actor
from xce.model.config import QueueConfig
from xce.model.group import RoleSpec
from xce.model.ids import group_text, job_text
from xce.model.job import Exit, Job, Spec
from xce.model.records import (
    GroupEnded,
    GroupSubmitted,
    JobChanged,
    JobSubmitted,
    KillAsked,
    RoleSpan,
)
from xce.model.tables import ENDED_GROUP, ENDED_JOB

Answer = tuple[dict[str, Any], dict[str, bytes]]


def blob_name(blob: bytes) -> str:
    """The hash under which a blob is interned."""
    return blake2b(blob, digest_size=16).hexdigest()


def submit_job(draft: Draft, command: c.SubmitJob) -> c.Rejection | Answer:
    """Accept a job, or say what is wrong with it."""
    state = draft.state
    queue = _queue(state, command.queue)
    owner = _owner(state, command.actor, command.owner)
    if isinstance(queue, c.Rejection):
        return queue
    if isinstance(owner, c.Rejection):
        return owner
    spec = check_spec(state.config, command.spec) or resolve_spec(state.config, command.spec, queue)
    if isinstance(spec, c.Rejection):
        return spec
    blob = spec_blob(spec)
    name = blob_name(blob)
    key = state.last("job") + 1
    priority = command.priority if command.priority >= 0 else state.config.priority_default
    facts = JobSubmitted(
        job=key,
        spec=name,
        owner=owner,
        queue=queue.name,
        priority=priority,
        name=spec.name,
        asked=_written(command.spec, spec),
        held=command.held,
    )
    state.intern(name, blob)
    draft.open(facts, [job_text(key)])
    if command.held:
        draft.fire("job", key, "hold")
    answer = {
        "job": job_text(key),
        "queue": queue.name,
        "default_queue": not command.queue,
        "state": "HELD" if command.held else "PENDING",
    }
    return answer, {name: blob, **command.blobs}


def submit_group(draft: Draft, command: c.SubmitGroup) -> c.Rejection | Answer:
    """Accept a gang whole, or say what is wrong with it."""
    state = draft.state
    queue = _queue(state, command.spec.queue)
    owner = _owner(state, command.actor, command.owner)
    if isinstance(queue, c.Rejection):
        return queue
    if isinstance(owner, c.Rejection):
        return owner
    wrong = check_gang(state.config, command.spec)
    if wrong is not None:
        return wrong
    specs: list[Spec] = []
    for role, member in zip(command.spec.roles, command.member_specs, strict=True):
        spec = check_spec(state.config, member) or resolve_spec(state.config, member, queue)
        if isinstance(spec, c.Rejection):
            return structs.replace(spec, field=f"roles[{role.name}].{spec.field}")
        specs.append(spec)
    return _write_group(draft, command, (queue, owner), specs)


def _write_group(
    draft: Draft, command: c.SubmitGroup, place: tuple[QueueConfig, int], specs: list[Spec]
) -> Answer:
    state, (queue, owner) = draft.state, place
    members = {blob_name(blob): blob for blob in map(spec_blob, specs)}
    names = [blob_name(spec_blob(spec)) for spec in specs]
    roles = tuple(
        structs.replace(role, member_spec=name)
        for role, name in zip(command.spec.roles, names, strict=True)
    )
    manifest = group_blob(structs.replace(command.spec, queue=queue.name, roles=roles))
    blobs = {**members, blob_name(manifest): manifest}
    for name, blob in blobs.items():
        state.intern(name, blob)
    number = state.last("group") + 1
    given = command.spec.priority
    facts = GroupSubmitted(
        group=number,
        name=command.spec.name,
        spec=blob_name(manifest),
        owner=owner,
        queue=queue.name,
        priority=given if given >= 0 else state.config.priority_default,
        roles=_spans(roles, state.last("job") + 1),
        member_specs=tuple(names),
        asked=tuple(
            _written(written, spec)
            for written, spec in zip(command.member_specs, specs, strict=True)
        ),
    )
    jobs = [
        job_text(key)
        for span in facts.roles
        for key in range(span.first_job, span.first_job + span.count)
    ]
    draft.open(facts, [group_text(number), *jobs])
    draft.fire("group", number, "seal")
    answer = {"group": group_text(number), "queue": queue.name, "jobs": jobs}
    return answer, {**blobs, **command.blobs}


def _written(asked: Spec, resolved: Spec) -> str:
    """The requirement as its user wrote it, where the spec's canonical text is another."""
    return asked.resreq if asked.resreq != resolved.resreq else ""


def _spans(roles: tuple[RoleSpec, ...], first: int) -> tuple[RoleSpan, ...]:
    spans = []
    for role in roles:
        spans.append(RoleSpan(role.name, first, role.count))
        first += role.count
    return tuple(spans)


def _queue(state: State, name: str) -> QueueConfig | c.Rejection:
    wanted = name or state.config.default_queue
    queue = state.config.queue(wanted)
    if queue is None:
        known = ", ".join(queue.name for queue in state.config.queues)
        return c.Rejection(
            code="unknown_queue",
            message=f"{wanted}: No such queue.",
            field="queue",
            hint=f"queues here: {known}",
        )
    if not queue.open:
        return c.Rejection(
            code="queue_closed", message=f"{wanted}: Queue has been closed.", field="queue"
        )
    return queue


def _owner(state: State, actor: Actor, asked: int) -> int | c.Rejection:
    owner = actor.uid if asked < 0 else asked
    if owner != actor.uid and actor.kind != ADMIN:
        return c.Rejection(
            code="not_allowed", message=f"uid {actor.uid} may not submit for uid {owner}"
        )
    if owner < 0:
        return c.Rejection(
            code="not_allowed", message=f"{actor.text()} is no user and submits no work"
        )
    if owner == 0 and not state.config.allow_root:
        return c.Rejection(
            code="root_refused",
            message="jobs of root are refused here",
            hint="submit as another user, or start the controller with --allow-root",
        )
    return owner


# -- kill and hold --------------------------------------------------------------------------------


def kill(draft: Draft, command: c.Kill) -> c.Rejection | Answer:
    """End a job or a gang. A member's kill ends its gang."""
    state = draft.state
    group = state.groups.get(command.group)
    job = state.jobs.get(command.job)
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
        return _not_yours(command.actor, f"Job <{job_text(job.key)}>")
    if job.state in ENDED_JOB:
        return c.Rejection(
            code="conflict", message=f"Job <{job_text(job.key)}>: Job has already finished"
        )
    if job.state == "ENDING":
        return {"job": job_text(job.key), "state": "ENDING"}, {}
    draft.open(KillAsked(job=job.key, reason="user"), [job_text(job.key)])
    ended = Exit(how="none", reason="killed", by=command.actor.text())
    waiting = job.state in ("PENDING", "HELD")
    draft.fire("job", job.key, "kill", kill_reason="killed", **({"exit": ended} if waiting else {}))
    _fail_open(draft, job.start)
    return {"job": job_text(job.key), "state": state.jobs[job.key].state}, {}


def _kill_group(draft: Draft, command: c.Kill, number: int) -> c.Rejection | Answer:
    state = draft.state
    group = state.groups[number]
    if not command.actor.may_change(group.owner):
        return _not_yours(command.actor, f"Group <{group_text(number)}>")
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
        _fail_open(draft, group.start)
        settle_group(draft, number)
    return {"group": group_text(number), "state": state.groups[number].state}, {}


def _fail_open(draft: Draft, start: int) -> None:
    if start and draft.state.starts[start].state == "OPEN":
        fail_start(draft, start, "killed", (), spend=False)


def _not_yours(actor: Actor, what: str) -> c.Rejection:
    return c.Rejection(
        code="not_allowed",
        message=f"{what}: User permission denied",
        hint=f"it belongs to another user than uid {actor.uid}",
    )


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
    text = job_text(command.job)
    if job is None:
        return c.Rejection(code="not_found", message=f"Job <{text}>: No matching job found")
    if not command.actor.may_change(job.owner):
        return _not_yours(command.actor, f"Job <{text}>")
    if why := _cannot_hold(job, hold=command.hold):
        return c.Rejection(code="conflict", message=f"Job <{text}>: {why}")
    event = "hold" if command.hold else "release"
    if (job.state == "HELD") != command.hold:
        draft.open(JobChanged(job=job.key, field="held", new=str(command.hold)), [text])
        draft.fire("job", job.key, event)
    return {"job": text, "state": draft.state.jobs[job.key].state}, {}

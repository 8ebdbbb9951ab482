"""Submitting: a job or a gang is accepted whole, or told what is wrong with it."""

from hashlib import blake2b
from typing import Any

from msgspec import structs

from xce.controller.core import commands as c
from xce.controller.core.claims.using import resolved
from xce.controller.core.deciders.asked.arrays import wrong_array
from xce.controller.core.deciders.asked.authority import owner_of, queue_of
from xce.controller.core.deciders.asked.queues import unfit_for
from xce.controller.core.deciders.limits import check_gang, check_spec, wrong_times
from xce.controller.core.deciders.requirements import resolve_spec
from xce.controller.core.depending.latch import first_fields
from xce.controller.core.depending.names import Resolved, resolve
from xce.controller.core.depending.past import is_past
from xce.controller.core.fold.state import State, group_blob, spec_blob
from xce.controller.core.life.draft import Draft
from xce.controller.core.time.joining import may_join
from xce.model.config import QueueConfig
from xce.model.group import RoleSpec
from xce.model.ids import group_text, job_text
from xce.model.job import Spec
from xce.model.records import GroupSubmitted, JobSubmitted, RoleSpan
from xce.model.waiting.array import HELD

Answer = tuple[dict[str, Any], dict[str, bytes]]


def blob_name(blob: bytes) -> str:
    """The hash under which a blob is interned."""
    return blake2b(blob, digest_size=16).hexdigest()


def submit_job(draft: Draft, command: c.SubmitJob) -> c.Rejection | Answer:
    """Accept a job, or say what is wrong with it."""
    state = draft.state
    taken = _taken(state, command)
    if isinstance(taken, c.Rejection):
        return taken
    queue, owner = taken
    wrong = wrong_times(command.spec, draft.now_us) or wrong_array(state.config, command)
    if wrong is not None:
        return wrong
    spec = _resolved(state, command, queue, owner)
    if isinstance(spec, c.Rejection):
        return spec
    after = resolve(state, owner, command.after, command.past) if command.after else None
    if isinstance(after, c.Rejection):
        return after
    out = may_join(state, spec.reservation, owner)
    if out is not None:
        return out
    blob = spec_blob(spec)
    name = blob_name(blob)
    key = state.last("job") + 1
    facts = structs.replace(
        _facts(state, command, spec, after),
        job=key,
        spec=name,
        owner=owner,
        queue=queue.name,
    )
    state.intern(name, blob)
    draft.open(facts, [job_text(key)])
    if spec.begin_us > draft.now_us:
        what = "array" if command.indices else "job"
        draft.patch(what, key, not_before_us=spec.begin_us)
    if command.held and command.indices:
        draft.elements(key, "hold", command.indices, HELD)
    elif command.held:
        draft.fire("job", key, "hold")
    if after is not None:
        what = "array" if command.indices else "job"
        draft.patch(what, key, **first_fields(after, draft.now_us))
        draft.moved[what, key] = None
    answer = {
        "job": job_text(key),
        "queue": queue.name,
        "default_queue": not command.queue,
        "state": "HELD" if command.held else "PENDING",
    }
    if command.indices:
        answer["elements"] = state.arrays[key].size
    return answer, {name: blob, **command.blobs}


def _resolved(
    state: State, command: c.SubmitJob, queue: QueueConfig, owner: int
) -> Spec | c.Rejection:
    """The spec with its requirement resolved, and the claims that it uses by their numbers."""
    spec = check_spec(state.config, command.spec) or resolve_spec(state.config, command.spec, queue)
    if isinstance(spec, c.Rejection):
        return spec
    claims = resolved(state, command.actor, owner, spec.claims)
    if isinstance(claims, c.Rejection):
        return claims
    return structs.replace(spec, claims=claims) if claims != spec.claims else spec


def _taken(state: State, command: c.SubmitJob) -> tuple[QueueConfig, int] | c.Rejection:
    """The queue that takes the job, and whose it is; or why no queue does."""
    if command.never:
        return _never(command.never)
    queue = queue_of(state, command.queue)
    owner = owner_of(state, command.actor, command.owner)
    if isinstance(queue, c.Rejection):
        return queue
    if isinstance(owner, c.Rejection):
        return owner
    count = sum((last - first) // step + 1 for first, last, step in command.indices) or 1
    asked = (command.priority, command.spec.user_group, count)
    return unfit_for(state, queue, owner, *asked) or (queue, owner)


def _facts(state: State, command: c.SubmitJob, spec: Spec, after: Resolved | None) -> JobSubmitted:
    """What the record says of the submission itself; whose it is and where the caller adds."""
    return JobSubmitted(
        job=0,
        spec="",
        owner=0,
        queue="",
        priority=command.priority if command.priority >= 0 else state.config.priority_default,
        name=spec.name,
        asked=_written(command.spec, spec),
        held=command.held,
        after=after.text if after is not None else "",
        after_ids=after.ids if after is not None else "",
        array=command.array,
        indices=command.indices,
        array_limit=command.array_limit,
        past=tuple(one for one in command.past if is_past(state, one.of)),
    )


def submit_group(draft: Draft, command: c.SubmitGroup) -> c.Rejection | Answer:
    """Accept a gang whole, or say what is wrong with it."""
    state = draft.state
    queue = queue_of(state, command.spec.queue)
    owner = owner_of(state, command.actor, command.owner)
    if isinstance(queue, c.Rejection):
        return queue
    if isinstance(owner, c.Rejection):
        return owner
    if command.never:
        return _never(command.never)
    members = sum(role.count for role in command.spec.roles)
    wrong = unfit_for(state, queue, owner, command.spec.priority, "", members)
    wrong = wrong or check_gang(state.config, command.spec)
    if wrong is not None:
        return wrong
    specs: list[Spec] = []
    for role, member in zip(command.spec.roles, command.member_specs, strict=True):
        spec = check_spec(state.config, member) or resolve_spec(state.config, member, queue)
        if isinstance(spec, c.Rejection):
            return structs.replace(spec, field=f"roles[{role.name}].{spec.field}")
        specs.append(spec)
    asked = _with_claims(state, command, owner)
    if isinstance(asked, c.Rejection):
        return asked
    return _write_group(draft, asked, (queue, owner), specs)


def _with_claims(state: State, command: c.SubmitGroup, owner: int) -> c.SubmitGroup | c.Rejection:
    """The command with the numbers of the standalone claims that its manifest names."""
    spec, roles = command.spec, []
    claims = resolved(state, command.actor, owner, spec.claims)
    if isinstance(claims, c.Rejection):
        return claims
    for role in spec.roles:
        own = resolved(state, command.actor, owner, role.claims)
        if isinstance(own, c.Rejection):
            return structs.replace(own, field=f"roles[{role.name}].{own.field}")
        roles.append(structs.replace(role, claims=own))
    return structs.replace(command, spec=structs.replace(spec, claims=claims, roles=tuple(roles)))


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


def _never(why: str) -> c.Rejection:
    """The site refuses what can never run, instead of keeping it with its reason."""
    return c.Rejection(
        code="never_fits",
        message=f"this {why}",
        hint="ask for less, or for other hosts; this site refuses what it could never start",
    )

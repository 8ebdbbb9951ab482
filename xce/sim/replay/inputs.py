"""What was asked, read back from what was written down: one command per group of records.

The first record of a command has the facts that it was decided from; what else decide needs is in
the state. A function gives None where something that it needs was never written down, or where
another command, or the clock, may have brought the record about: `again.py` knows what to do then.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any

from msgspec import structs

from xce.controller.core import commands as c
from xce.controller.core.deciders.job_limits import asked_of
from xce.controller.core.fold.state import State
from xce.dispatch import protocol as p
from xce.model import records as r
from xce.model.actor import CONTROLLER, HOST, PROVIDER, SYSTEM, Actor
from xce.model.ids import job_index, job_number
from xce.model.job import Spec
from xce.model.records import Record

Group = Sequence[Record]
Made = c.Command | None
ADMIN_EVENTS = ("drain", "close", "open", "remove", "lost")
CLOCK_EVENTS = ("miss", "hear", "grace_end")


def commands_of(state: State, group: Group) -> tuple[c.Command, ...]:
    """The commands that a group of records may have come of, the likeliest last."""
    body = group[0].body
    if isinstance(body, r.JobChanged) and body.field == "requeue":
        return _requeues(state, group, body)
    make = _MAKERS.get(group[0].kind)
    made = make(state, group, body) if make is not None else None
    return () if made is None else (made,)


def _requeues(state: State, group: Group, body: r.JobChanged) -> tuple[c.Command, ...]:
    """Which of its ways a requeue named is not written down: those that change the same are equal.
    One of an array may name all of it."""
    if body.new not in ("PENDING", "HELD") or group[0].actor == SYSTEM:
        return ()
    keys = (job_number(body.job), body.job) if job_index(body.job) else (body.job,)
    ways = [way for size in (1, 2, 3) for way in combinations(("running", "done", "exited"), size)]
    actor, request = actor_of(group[0]), _request(group[0])
    return tuple(
        c.RequeueJob(actor=actor, job=key, which=way, held=body.new == "HELD", request=request)
        for key in keys
        for way in ways
    )


def actor_of(record: Record) -> Actor:
    """Who asked, from how records name it."""
    kind, _, rest = record.actor.partition(":")
    if kind == SYSTEM:
        return CONTROLLER
    if kind in (HOST, PROVIDER):
        return Actor(kind=kind, name=rest)
    return Actor(kind=kind, uid=int(rest))


def _request(record: Record) -> c.Request:
    """The key that the asker named, if there was one."""
    uid, colon, key = record.cause.partition(":")
    return c.Request(key=key) if colon and not uid.startswith("@") else c.Request()


def _own_spec(state: State, name: str, asked: str) -> Spec:
    """A spec as its user asked."""
    spec = state.specs[name]
    if spec.asked is not None:
        return asked_of(spec)
    return structs.replace(spec, resreq=asked) if asked else spec


# -- users ----------------------------------------------------------------------------------------


def _submit(state: State, group: Group, body: r.JobSubmitted) -> Made:
    return c.SubmitJob(
        actor=actor_of(group[0]), spec=_own_spec(state, body.spec, body.asked), queue=body.queue,
        priority=body.priority, held=body.held, array=body.array, indices=body.indices,
        array_limit=body.array_limit, owner=body.owner, after=body.after, past=body.past,
        request=_request(group[0]),
    )  # fmt: skip


def _submit_group(state: State, group: Group, body: r.GroupSubmitted) -> Made:
    asked = body.asked or ("",) * len(body.member_specs)
    specs = tuple(
        _own_spec(state, name, text) for name, text in zip(body.member_specs, asked, strict=True)
    )
    return c.SubmitGroup(
        actor=actor_of(group[0]), spec=state.group_specs[body.spec], member_specs=specs,
        owner=body.owner, request=_request(group[0]),
    )  # fmt: skip


def _kill(state: State, group: Group, body: r.KillAsked) -> Made:
    if body.reason != "user":
        return None
    return c.Kill(
        actor=actor_of(group[0]), job=body.job, group=0 if body.job else body.group,
        elements=body.elements, request=_request(group[0]),
    )  # fmt: skip


def _suspend(state: State, group: Group, body: r.SuspendAsked) -> Made:
    return c.Suspend(
        actor=actor_of(group[0]), job=body.job, group=body.group, why=body.why,
        elements=body.elements, request=_request(group[0]),
    )  # fmt: skip


def _resume(state: State, group: Group, body: r.ResumeAsked) -> Made:
    return c.Resume(
        actor=actor_of(group[0]), job=body.job, group=body.group, elements=body.elements,
        request=_request(group[0]),
    )  # fmt: skip


def _job_changed(state: State, group: Group, body: r.JobChanged) -> Made:
    actor, request = actor_of(group[0]), _request(group[0])
    known: dict[str, Any] = {"actor": actor, "job": body.job, "request": request}
    match body.field:
        case "ready":
            return _probed(state, group, body)
        case "held" if body.new == "True":
            return c.Suspend(**known, elements=body.elements)
        case "held":
            return c.Resume(**known, elements=body.elements)
        case "top" | "bottom":
            return c.MoveJob(**known, to=body.field, position=int(body.new))
        case "queue" if body.new:
            return c.SwitchJob(**known, queue=body.new)
    return None


def _probed(state: State, group: Group, body: r.JobChanged) -> Made:
    for change in group[0].body.then:
        if change.what == "launch" and change.set and change.set.get("probed"):
            number = int(change.key)
            generation = state.launches[number].generation
            return _told(
                state, group, number, p.Probed(seq=0, launch=number, generation=generation)
            )
    return None


def _job_group(state: State, group: Group, body: r.JobGroupChanged) -> Made:
    return c.ChangeJobGroup(
        actor=actor_of(group[0]), path=body.path, event=body.event, limit=body.limit,
        request=_request(group[0]),
    )  # fmt: skip


# -- hosts ----------------------------------------------------------------------------------------


def _register(state: State, group: Group, body: r.HostRegistered) -> Made:
    return c.RegisterHost(
        actor=actor_of(group[0]), host=body.host, boot_id=body.boot_id, facts=body.facts,
        agent=body.agent, can=body.can,
    )  # fmt: skip


def _host_changed(state: State, group: Group, body: r.HostChanged) -> Made:
    if body.event in (*ADMIN_EVENTS, *CLOCK_EVENTS):
        actor = actor_of(group[0])
        return c.HostEvent(actor=actor, host=body.host, event=body.event, why=body.why)
    if body.event == "leases_over" and body.quiet_us:
        return c.LeasesOver(actor=CONTROLLER, host=body.host, quiet_us=body.quiet_us)
    host = state.hosts[body.host]
    if body.event == "fenced":
        return c.HostFenced(
            actor=CONTROLLER, host=body.host, incarnation=host.incarnation,
            down_us=host.changed_us, why=body.why,
        )  # fmt: skip
    return None


def _told(state: State, group: Group, launch: int, report: p.Report) -> Made:
    return _report(state, group, state.launches[launch].host, report)


def _report(state: State, group: Group, host: str, report: p.Report) -> Made:
    incarnation = state.hosts[host].incarnation
    actor = actor_of(group[0])
    return c.TakeReport(actor=actor, host=host, incarnation=incarnation, report=report)


def _launch(kind: Any) -> Callable[[State, Group, Any], Made]:
    """The report whose fields are those of the record."""
    names = {field.name for field in structs.fields(kind)} - {"seq", "launch", "generation"}

    def make(state: State, group: Group, body: Any) -> Made:
        values = {name: getattr(body, name) for name in names if hasattr(body, name)}
        if kind is p.Started:
            values["at_us"] = body.started_us
        generation = state.launches[body.launch].generation
        report = kind(seq=0, launch=body.launch, generation=generation, **values)
        return _told(state, group, body.launch, report)

    return make


def _attachment(state: State, group: Group, body: r.AttachmentReported) -> Made:
    found = state.attachments[body.attachment]
    report = p.AttachmentResult(
        seq=0, attachment=body.attachment, generation=state.claims[found.claim].generation,
        outcome=body.outcome, value=body.value, message=body.message,
    )  # fmt: skip
    return _report(state, group, found.host, report)


def _reconciled(state: State, group: Group, body: r.HostReconciled) -> Made:
    """What was listed, with the states that explain what followed."""
    armed = {one.body.launch for one in group if isinstance(one.body, r.LaunchArmed)}
    over = {one.body.launch for one in group if isinstance(one.body, r.LaunchEnded)}
    told = {
        one.body.attachment: one.body for one in group if isinstance(one.body, r.AttachmentReported)
    }
    launches = tuple(
        p.LaunchFound(
            launch=number, state="armed" if number in armed else "running",
            generation=-1 if number in over else _generation(state, number),
        )
        for number in body.launches
    )  # fmt: skip
    attachments = []
    for number in body.attachments:
        found, said = state.attachments.get(number), told.get(number)
        generation = state.claims[found.claim].generation if found is not None else 0
        phase = said.outcome if said is not None else "other"
        value = said.value if said is not None else ""
        attachments.append(
            p.AttachmentFound(attachment=number, generation=generation, state=phase, value=value)
        )
    report = p.Reconciled(
        seq=0, question=state.hosts[body.host].question, launches=launches,
        attachments=tuple(attachments),
    )  # fmt: skip
    return _report(state, group, body.host, report)


def _generation(state: State, number: int) -> int:
    found = state.launches.get(number)
    return found.generation if found is not None else 0


# -- the controller itself ------------------------------------------------------------------------


def _lead(state: State, group: Group, body: r.LeaderStarted) -> Made:
    values = {field.name: getattr(body, field.name) for field in structs.fields(c.StartLeading)
              if field.name != "actor"}  # fmt: skip
    return c.StartLeading(actor=CONTROLLER, **values)


def _config(state: State, group: Group, body: r.ConfigLoaded) -> Made:
    return c.LoadConfig(actor=actor_of(group[0]), config=body.config, digest=body.digest)


def _config_changed(state: State, group: Group, body: r.ConfigChanged) -> Made:
    actor, request = actor_of(group[0]), _request(group[0])
    if body.type is not None:
        return c.AddType(actor=actor, type=body.type, request=request)
    if body.pool is not None:
        return c.AddPool(actor=actor, pool=body.pool, request=request)
    fields = next((dict(one.set or {}) for one in body.then if one.what == "queue"), {})
    if body.what == "window":
        queue, _, window = body.name.rpartition(".")
        open_ = bool(fields.get(window))
        return c.TurnWindow(actor=CONTROLLER, queue=queue, window=window, open=open_)
    if body.what == "queue":
        on = {"open": ("close", "open"), "active": ("inactive", "active")}
        field = next((name for name in on if name in fields), "")
        event = on[field][int(fields[field])] if field else ""
        why = str(fields.get("why", ""))
        return c.ChangeQueue(actor=actor, queue=body.name, event=event, why=why, request=request)
    return c.RemoveResource(actor=actor, name=body.name, request=request)


def _tick(state: State, group: Group, body: r.Tick) -> Made:
    """Everything as it was known, with what moved."""
    values = {of: dict(one.values) for of, one in state.observed.items()}
    for change in body.changes:
        own: dict[str, Any] = values.setdefault(change.of, {})
        own.update((body.columns[place], value) for place, value in change.moves)
    samples = tuple(c.Sample(of=of, values=tuple(own.items())) for of, own in values.items())
    return c.TakeTick(actor=CONTROLLER, samples=samples)


def _cut(state: State, group: Group, body: r.CutClosed) -> Made:
    return c.NoteCut(actor=CONTROLLER, cut_lsn=body.cut_lsn, count=body.count, digest=body.digest)


def _session_ended(state: State, group: Group, body: r.SessionEnded) -> Made:
    return c.EndSession(
        actor=CONTROLLER, session=body.session, planned=body.planned, stale=body.stale,
        blocked=body.blocked,
    )  # fmt: skip


_MAKERS: Mapping[str, Callable[[State, Group, Any], Made]] = MappingProxyType(
    {
        "JobSubmitted": _submit,
        "GroupSubmitted": _submit_group,
        "KillAsked": _kill,
        "SuspendAsked": _suspend,
        "ResumeAsked": _resume,
        "JobChanged": _job_changed,
        "JobGroupChanged": _job_group,
        "HostRegistered": _register,
        "HostChanged": _host_changed,
        "HostReconciled": _reconciled,
        "LaunchArmed": _launch(p.Armed),
        "LaunchStarted": _launch(p.Started),
        "LaunchEnded": _launch(p.Ended),
        "LaunchFrozen": _launch(p.Frozen),
        "AttachmentReported": _attachment,
        "LeaderStarted": _lead,
        "ConfigLoaded": _config,
        "ConfigChanged": _config_changed,
        "Tick": _tick,
        "CutClosed": _cut,
        "SessionEnded": _session_ended,
    }
)

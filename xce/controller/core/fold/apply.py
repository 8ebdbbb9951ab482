"""Fold one record into the state: total, never refuses, derives nothing.

A record's facts create the entities that its kind is about; its `then` lists every change. Values
of changes come as decide made them or as the log holds them: both are converted to the field's
type, so that a live state and a reloaded one are the same to the last field.
"""

from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from msgspec import Struct, convert, structs

from xce.controller.core.arrays.elements import waiting_element
from xce.controller.core.fold.plans.claims import fold_claim, fold_island
from xce.controller.core.fold.plans.counters import count_up
from xce.controller.core.fold.plans.short import fold_short
from xce.controller.core.fold.plans.whole import fold_planned
from xce.controller.core.fold.state import TABLES, Key, Setting, State
from xce.model import records as r
from xce.model.group import Group
from xce.model.host import Host, Instance, Observed
from xce.model.ids import instance_key
from xce.model.job import Job
from xce.model.waiting.array import Array, Runs, filled, moved
from xce.model.waiting.job_group import JobGroup
from xce.model.waiting.queue import Queue
from xce.model.waiting.reservation import Reservation
from xce.model.waiting.share import Share

ELEMENT = "element"
"""What a change is of that moves elements of an array; its key is the array's number."""

_FIELD_TYPES = {what: get_type_hints(entity) for what, entity in TABLES.items()}


def apply(state: State, record: r.Record) -> None:
    """Make `record` part of `state`."""
    folded = fold_short(state, record) if record.kind == "Planned" else 0
    if not folded:
        open_record(state, record)
    for change in record.body.then[folded:]:
        apply_change(state, change)
    state.index.settle()


def open_record(state: State, record: r.Record) -> None:
    """The part of apply that the record's facts ask for, without its `then`."""
    state.lsn, state.epoch, state.at_us = record.lsn, record.epoch, record.at_us
    create = _CREATE.get(record.kind)
    if create is not None:
        create(state, record, record.body)


def apply_change(state: State, change: r.Change) -> None:
    """One change of one entity; a change of what is not there any more is nothing, but for the
    kinds that are born by their first change."""
    if change.set is None:
        state.put(change.what, change.key, None)
        return
    if change.what == ELEMENT:
        _elements(state, int(change.key), change.set)
        return
    entity = state.tables[change.what].get(change.key)
    if entity is None and change.what in _BORN:
        entity = _BORN[change.what](state, change.key)
    if entity is not None:
        fields = typed_fields(change.what, change.set)
        state.put(change.what, change.key, structs.replace(entity, **fields))


_BORN: dict[str, Callable[[State, Any], Struct | None]] = {
    "share": lambda state, key: Share(path=key),
    "job": waiting_element,
    "queue": lambda state, key: Queue(name=key),
}


def typed_fields(what: str, values: dict[str, Any]) -> dict[str, Any]:
    """Values as the entity's fields are declared."""
    types = _FIELD_TYPES[what]
    return {
        name: value if type(value) is types[name] else convert(value, types[name])
        for name, value in values.items()
    }


def _elements(state: State, number: int, told: dict[str, Any]) -> None:
    """The elements of these runs are from here on what is told."""
    array = state.arrays.get(number)
    if array is not None:
        runs = convert(told["indices"], Runs)
        state.put("array", number, moved(array, runs, told["to"]))


def _put(state: State, what: str, key: Key, entity: Struct) -> None:
    state.put(what, key, entity)


def _config(state: State, record: r.Record, body: r.ConfigLoaded) -> None:
    setting = Setting(name="config", lsn=record.lsn, digest=body.digest, config=body.config)
    _put(state, "setting", "config", setting)


def _job(state: State, record: r.Record, body: r.JobSubmitted) -> None:
    if body.indices:
        _array(state, record, body)
        return
    job = Job(
        key=body.job,
        spec=body.spec,
        owner=body.owner,
        queue=body.queue,
        priority=body.priority,
        state="PENDING",
        submit_us=record.at_us,
        name=body.name,
        pending_us=record.at_us,
        after=body.after,
        after_ids=body.after_ids,
    )
    count_up(state, "job", body.job)
    _put(state, "job", body.job, job)


def _array(state: State, record: r.Record, body: r.JobSubmitted) -> None:
    array = Array(
        number=body.job,
        spec=body.spec,
        owner=body.owner,
        queue=body.queue,
        priority=body.priority,
        submit_us=record.at_us,
        name=body.name,
        text=body.array,
        last=max(last for _, last, _ in body.indices),
        step=body.indices[0][2],
        limit=body.array_limit,
        after=body.after,
        after_ids=body.after_ids,
        pending_us=record.at_us,
    )
    count_up(state, "job", body.job)
    _put(state, "array", body.job, filled(array, body.indices))


def _group(state: State, record: r.Record, body: r.GroupSubmitted) -> None:
    group = Group(
        number=body.group,
        name=body.name,
        spec=body.spec,
        owner=body.owner,
        queue=body.queue,
        priority=body.priority,
        state="FORMING",
        submit_us=record.at_us,
        roles=body.roles,
        pending_us=record.at_us,
    )
    count_up(state, "group", body.group)
    _put(state, "group", body.group, group)
    for role, spec in zip(body.roles, body.member_specs, strict=True):
        for rank in range(role.count):
            key = role.first_job + rank
            _put(state, "job", key, _member(record, body, key, (role.name, rank, spec)))
        count_up(state, "job", role.first_job + role.count - 1)


def _member(record: r.Record, body: r.GroupSubmitted, key: int, place: tuple[str, int, str]) -> Job:
    role, rank, spec = place
    return Job(
        key=key,
        spec=spec,
        owner=body.owner,
        queue=body.queue,
        priority=body.priority,
        state="PENDING",
        submit_us=record.at_us,
        name=f"{body.name}/{role}[{rank}]",
        group=body.group,
        role=role,
        rank=rank,
        pending_us=record.at_us,
    )


def _host(state: State, record: r.Record, body: r.HostRegistered) -> None:
    """The host and its new instances; what becomes of the old ones is in `then`."""
    known = state.hosts.get(body.host)
    host = Host(
        name=body.host,
        liveness=known.liveness if known else "JOINING",
        admin=known.admin if known else "OPEN",
        incarnation=body.incarnation,
        boot_id=body.boot_id,
        facts=body.facts,
        agent=body.agent,
        reconciled_boot=(known.reconciled_boot or known.boot_id) if known else "",
        registered_us=record.at_us,
        changed_us=record.at_us,
        can=body.can,
        admin_why=known.admin_why if known else "",
    )
    count_up(state, "incarnation", body.incarnation)
    _put(state, "host", body.host, host)
    for fact in body.facts.instances:
        key = instance_key(body.host, fact.type, fact.name)
        old = state.instances.get(key)
        number = old.number if old else _next_bit(state, body.host, fact.type)
        made = Instance(
            key=key,
            host=body.host,
            type=fact.type,
            name=fact.name,
            number=number,
            state=old.state if old else "PRESENT",
            attributes=fact.attributes,
            domains=fact.domains,
            sharing=fact.sharing,
        )
        _put(state, "instance", key, made)


def _next_bit(state: State, host: str, type_name: str) -> int:
    """The lowest bit of the host's mask that no instance of the type has."""
    mine = state.index.host_instances.get(host, {})
    taken = {state.instances[key].number for key in mine if state.instances[key].type == type_name}
    return next(bit for bit in range(len(taken) + 1) if bit not in taken)


def _leader(state: State, record: r.Record, body: r.LeaderStarted) -> None:
    count_up(state, "leader_us", record.at_us)


def _tick(state: State, record: r.Record, body: r.Tick) -> None:
    """Values replace those of the same name; what has none left is not there."""
    count_up(state, "tick_lsn", record.lsn)
    for change in body.changes:
        moves = {body.columns[place]: value for place, value in change.moves}
        _observe(state, change.of, moves)
    gone = dict.fromkeys(body.dropped, None)
    for of in list(state.observed) if gone else ():
        _observe(state, of, gone)


def _observe(state: State, of: str, moves: Mapping[str, int | str | None]) -> None:
    old = state.observed.get(of)
    values = {**dict(old.values if old else ()), **moves}
    kept = tuple(sorted((name, one) for name, one in values.items() if one is not None))
    if kept != (old.values if old else ()):
        state.put("observed", of, Observed(of=of, values=kept) if kept else None)


def _reservation(state: State, record: r.Record, body: r.ReservationSet) -> None:
    made = Reservation(
        number=body.reservation,
        kind=body.kind,
        group=body.group,
        job=body.job,
        name=body.name,
        owner=body.owner,
        from_us=body.from_us,
        until_us=body.until_us,
        end_us=body.end_us,
        shares=body.shares,
        cause=body.cause,
        slips=body.slips,
        users=body.users,
        set_us=record.at_us,
        lsn=record.lsn,
    )
    count_up(state, "reservation", body.reservation)
    if body.session:
        count_up(state, "session", body.session)
    _put(state, "reservation", body.reservation, made)


def _job_group(state: State, record: r.Record, body: r.JobGroupChanged) -> None:
    if body.event == "add":
        made = JobGroup(path=body.path, owner=body.owner, limit=body.limit, created_us=record.at_us)
        _put(state, "job_group", body.path, made)


def _preempted(state: State, record: r.Record, body: r.Preempted) -> None:
    made = Reservation(
        number=body.reservation,
        kind="preempt",
        group=body.group,
        job=body.job,
        from_us=body.from_us,
        until_us=body.until_us,
        end_us=body.end_us,
        shares=body.shares,
        set_us=record.at_us,
        lsn=record.lsn,
        victims=tuple(key for one in body.victims for key in one.jobs),
        stop_us=body.stop_us,
    )
    count_up(state, "reservation", body.reservation)
    count_up(state, "session", body.session)
    _put(state, "reservation", body.reservation, made)


_CREATE: dict[str, Callable[[State, r.Record, Any], None]] = {
    "LeaderStarted": _leader,
    "ConfigLoaded": _config,
    "JobSubmitted": _job,
    "JobGroupChanged": _job_group,
    "GroupSubmitted": _group,
    "ClaimCreated": fold_claim,
    "IslandPublished": fold_island,
    "Planned": fold_planned,
    "HostRegistered": _host,
    "Tick": _tick,
    "ReservationSet": _reservation,
    "Preempted": _preempted,
}

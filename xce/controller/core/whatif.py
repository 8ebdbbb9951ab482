"""What would happen if: a submission, a change, or other hosts, by the code that decides.

The command is decided and folded on a trial of the state, a session runs on a snapshot of that,
and all of it is taken back. A job is looked at with up to AHEAD_MAX of what waits before it; other
hosts are judged by what of the first LOOKED asks would start with them and without.
"""

from typing import Any

from msgspec import Struct, structs

from xce.controller.core.arrays.elements import found_job
from xce.controller.core.commands import (
    Command,
    HostEvent,
    ModifyJob,
    Rejection,
    SubmitJob,
)
from xce.controller.core.decide import decide
from xce.controller.core.depending.judge import pend_reason
from xce.controller.core.fold.apply import apply
from xce.controller.core.fold.state import State
from xce.controller.core.time.estimate import AHEAD_MAX, PROBED_HOSTS, bounded_as, estimate
from xce.controller.core.view import Viewer
from xce.model.ids import group_text, job_key, job_text, parse_job
from xce.model.waiting.array import HELD, PENDING, indices_of
from xce.scheduler.plan import Plan
from xce.scheduler.reasons import Cure
from xce.scheduler.session import run_session

LOOKED = 1_000
NAMED_MAX = 20
MORE_HOSTS_MAX = 1_000


class MoreHosts(Struct, frozen=True, gc=False, kw_only=True):
    """So many hosts more, each like one that is there."""

    like: str
    count: int = 1


Change = SubmitJob | ModifyJob | HostEvent | MoreHosts


def what_if(state: State, change: Change, now_us: int) -> Rejection | dict[str, Any]:
    """What would happen; nothing is kept."""
    if isinstance(change, MoreHosts):
        if change.like not in state.hosts or not 1 <= change.count <= MORE_HOSTS_MAX:
            said = (
                f"{change.count}x{change.like}: 1 to {MORE_HOSTS_MAX} hosts like one that is there"
            )
            return Rejection(
                code="invalid", message=said, hint="as 4xn1; `xcecli hosts` lists them"
            )
        before = _plan(state, now_us)
        with state.trial():
            _add(state, change)
            return _compared(before, _plan(state, now_us))
    return _decided(state, change, now_us)


def _decided(state: State, command: Command, now_us: int) -> Rejection | dict[str, Any]:
    outcome = decide(state, command, now_us)
    if isinstance(outcome, Rejection):
        return outcome
    before = _plan(state, now_us) if isinstance(command, HostEvent) else None
    for name, blob in outcome.blobs.items():
        state.intern(name, blob)
    with state.trial():
        for record in outcome.records:
            apply(state, record)
        if before is not None:
            told = _compared(before, _plan(state, now_us))
        else:
            told = _job(state, parse_job(str(outcome.body["job"])) or 0, now_us)
    for name in outcome.blobs:
        if name not in state.index.users:
            state.forget(name)
    return told


# -- one job --------------------------------------------------------------------------------------


def _job(state: State, key: int, now_us: int) -> dict[str, Any]:
    """Whether it would start now, where and at whose cost; else why not, and when."""
    array = state.arrays.get(key)
    if array is not None:
        key = job_key(key, next(indices_of(array, PENDING + HELD)))
    job, viewer = found_job(state, key), Viewer(state)
    assert job is not None, "what was submitted or changed is there"
    told: dict[str, Any] = {
        "job": job_text(key), "starts_now": False, "hosts": [], "evicts": [], "reason": None,
        "expected": None, "ahead": 0,
    }  # fmt: skip
    if why := pend_reason(state, job):
        return {**told, "reason": why}
    ask = viewer.ask(0, key, state.index.class_of(job), now_us)
    if job.state != "PENDING" or ask is None:
        return {**told, "not_before_us": job.not_before_us or None}
    limit = max(1, min(AHEAD_MAX, PROBED_HOSTS // max(1, len(viewer.table().names))))
    snapshot, ahead = viewer.snapshot(now_us, {}, limit, (ask,)), []
    ask = bounded_as(snapshot, ask)
    for other in snapshot.pending:
        if other.label == ask.label:
            break
        ahead.append(other)
    plan = run_session(structs.replace(snapshot, pending=(*ahead, ask)))
    told["ahead"] = len(ahead)
    evictions = [one for one in plan.evictions if (one.group, one.job) == (0, key)]
    told["evicts"] = [_text(g, j) for one in evictions for g, j, _ in one.victims]
    placed = next((one for one in plan.placements if one.job == key), None)
    if placed is not None:
        shares = placed.members[0].shares
        hosts = [{"host": share.host, "tasks": share.tasks} for share in shares]
        return {**told, "starts_now": True, "hosts": hosts}
    told["reason"] = plan.reason_of(ask.class_key)
    return {**told, "expected": estimate(state, viewer, job_text(key), now_us)}


def _text(group: int, job: int) -> str:
    return group_text(group) if group else job_text(job)


# -- other hosts ----------------------------------------------------------------------------------


def _add(state: State, more: MoreHosts) -> None:
    """Hosts as they would register: like the one that is named, with nothing on them."""
    like = state.hosts[more.like]
    own = [one for one in state.instances.values() if one.host == like.name]
    for number in range(1, more.count + 1):
        name = f"{like.name}+{number}"
        fields = {"name": name, "liveness": "UP", "admin": "OPEN", "reconciled_epoch": state.epoch}
        state.put("host", name, structs.replace(like, **fields))
        for one in own:
            key = f"{name}/{one.key.split('/', 1)[1]}"
            made = structs.replace(one, key=key, host=name, state="PRESENT")
            state.put("instance", key, made)


def _plan(state: State, now_us: int) -> Plan:
    return run_session(Viewer(state).snapshot(now_us, {}, LOOKED))


def _compared(before: Plan, after: Plan) -> dict[str, Any]:
    """What of the pending work would start now, with the change and without."""
    was, now = ([_text(one.group, one.job) for one in plan.placements] for plan in (before, after))
    known, still = set(was), set(now)
    begins = [one for one in now if one not in known]
    waits = [one for one in was if one not in still]
    return {
        "start_before": len(was),
        "start_after": len(now),
        "begin": begins[:NAMED_MAX],
        "wait": waits[:NAMED_MAX],
        "waiting_before": sum(one.waiting for one in before.reasons),
        "waiting_after": sum(one.waiting for one in after.reasons),
        "never_before": _never(before),
        "never_after": _never(after),
    }


def _never(plan: Plan) -> int:
    """How many of the asks that were looked at can never be placed."""
    return sum(one.waiting for one in plan.reasons if one.reason.cure is Cure.NEVER)

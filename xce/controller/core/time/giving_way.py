"""Preemption in the core: who may have to give way, and how that is written down and done.

A queue names whose work gives way to its own, or to whose work its own does; only to a queue of
larger priority, so that two never preempt each other. The plan proves that the work fits on what
its victims leave; the commit looks again whether they run as the plan saw them, and writes what
is kept for whom they gave way to in the same record. What gives way is stopped by the system: no
rule judges it and no budget is spent.
"""

from collections.abc import Iterator, Mapping, Sequence

from xce.controller.core.commands import CommitPlan
from xce.controller.core.fold.state import State
from xce.controller.core.gangs.settling import settle_group
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.suspending import suspend
from xce.controller.core.resources.lending import held, released
from xce.controller.core.resources.pools import pooled_share
from xce.controller.core.time.reservations import (
    MOVED,
    end_reservation,
    holder_text,
    reservations,
    waits,
)
from xce.model.actor import SYSTEM
from xce.model.config import SECOND_US, Config, QueueConfig
from xce.model.config.backfill import CHECKPOINT, SUSPEND
from xce.model.group import Group
from xce.model.ids import group_text, job_text
from xce.model.job import Job
from xce.model.placing import Share
from xce.model.records import JobChanged, Preempted, PreemptedWork
from xce.model.tables import LIVE_LAUNCH
from xce.scheduler.time.terms import Eviction, Preempting, Victim, share_of

PREEMPTED = "preempted"


def over(config: Config) -> Mapping[str, tuple[str, ...]]:
    """By queue, those whose work gives way to its own: less important ones only."""
    found: dict[str, tuple[str, ...]] = {}
    for queue in config.queues:
        names = tuple(other.name for other in config.queues if _gives_way(other, queue))
        if names:
            found[queue.name] = names
    return found


def _gives_way(low: QueueConfig, high: QueueConfig) -> bool:
    named = low.name in high.preemptive or high.name in low.preemptable
    return named and low.priority < high.priority


def preempting(state: State, now_us: int) -> Preempting:
    """Who may preempt whom now; nobody is looked at where no queue may."""
    pairs = over(state.config)
    if not pairs:
        return Preempting()
    low = {name for names in pairs.values() for name in names}
    return Preempting(
        over=pairs,
        victims=tuple(_victims(state, low, now_us)),
        takes_us=_takes_us(state.config),
        again_us=min(_unripe(state, low, now_us), default=0),
    )


def _unripe(state: State, queues: set[str], now_us: int) -> Iterator[int]:
    """When those that ran too short may give way."""
    jobs = (state.jobs.get(one.job) for one in state.allocations.values())
    found: list[Job | Group] = [job for job in jobs if job is not None and not job.group]
    found += [one for one in state.groups.values() if one.start]
    for one in (one for one in found if one.queue in queues):
        at_us = _ripe_us(state, one)
        if at_us > now_us:
            yield at_us


def _takes_us(config: Config) -> int:
    """How long it takes until what gives way has given everything up."""
    settings = config.preemption
    grace_us = settings.grace_us if settings.action == CHECKPOINT else 0
    return grace_us + config.kill_grace_us + SECOND_US


def _victims(state: State, queues: set[str], now_us: int) -> Iterator[Victim]:
    for number in sorted(state.groups):
        group = state.groups[number]
        if group.queue in queues and group.state == "RUNNING" and _ripe(state, group, now_us):
            members = [state.jobs[key] for key in group.members()]
            yield _victim(state, group, members, (number, 0))
    for number in sorted(state.allocations):
        job = state.jobs.get(state.allocations[number].job)
        if job is None or job.group or job.queue not in queues:
            continue
        if job.state == "RUNNING" and not job.requeue and _ripe(state, job, now_us):
            yield _victim(state, job, [job], (0, job.key))


def _ripe(state: State, one: Job | Group, now_us: int) -> bool:
    """Whether it ran long enough, and gave way seldom enough, to give way."""
    return 0 < _ripe_us(state, one) <= now_us


def _ripe_us(state: State, one: Job | Group) -> int:
    """When it may give way; 0 is never again (or it did not begin yet)."""
    settings = state.config.preemption
    began_us = _began_us(state, one)
    if one.preempted >= settings.times_max or not began_us:
        return 0
    return began_us + settings.min_run_us


def _began_us(state: State, one: Job | Group) -> int:
    start = state.starts.get(one.start)
    return start.passed_us if start is not None else 0


def _victim(
    state: State, one: Job | Group, members: Sequence[Job], holder: tuple[int, int]
) -> Victim:
    queue = state.config.queue(one.queue)
    group, job = holder
    return Victim(
        group=group,
        job=job,
        who=group_text(group) if group else job_text(job),
        queue=one.queue,
        priority=queue.priority if queue is not None else 0,
        since_us=_began_us(state, one),
        attempt=one.start if isinstance(one, Group) else one.attempt,
        shares=tuple(_freed(state, members, one.start)),
    )


def _freed(state: State, members: Sequence[Job], start: int) -> Iterator[Share]:
    """What is free once they have given way."""
    suspends = state.config.preemption.action == SUSPEND
    for job in members:
        allocation = state.allocations.get(job.allocation)
        if allocation is not None:
            lent = allocation.lent or job.suspension != "ACTIVE"
            if not (suspends and lent):
                yield from released(state, allocation) if suspends else held(allocation)
    found = state.starts.get(start)
    for number in found.claims if found is not None and not suspends else ():
        yield from (share_of(holding) for holding in state.claims[number].holdings)


# -- at the commit --------------------------------------------------------------------------------


def write_evictions(draft: Draft, command: CommitPlan) -> int:
    """A record for each preemption that still stands; gives their number."""
    if command.config_lsn != draft.state.config_lsn:
        return 0
    return sum(_evict(draft, command, one) for one in command.evictions)


def _evict(draft: Draft, command: CommitPlan, eviction: Eviction) -> bool:
    state = draft.state
    if not waits(state, eviction.group, eviction.job):
        return False
    if not all(_stands(state, *victim) for victim in eviction.victims):
        return False
    for host in dict.fromkeys(share.host for share in eviction.shares):
        found = state.hosts.get(host)
        if found is None or found.liveness != "UP" or found.admin != "OPEN":
            return False
    for number, one in list(reservations(state).items()):
        if one.holder == (eviction.group, eviction.job):
            end_reservation(draft, number, MOVED)
    settings = state.config.preemption
    facts = Preempted(
        reservation=state.last("reservation") + 1,
        group=eviction.group,
        job=eviction.job,
        victims=tuple(_work(state, group, job) for group, job, _ in eviction.victims),
        action=settings.action,
        from_us=eviction.from_us,
        until_us=eviction.from_us + settings.patience_us,
        end_us=eviction.end_us,
        shares=tuple(pooled_share(state.config.pools, share) for share in eviction.shares),
        stop_us=draft.now_us + settings.grace_us if settings.action == CHECKPOINT else 0,
        session=command.session,
        snapshot_lsn=command.snapshot_lsn,
        snapshot_us=command.snapshot_us,
    )
    who = group_text(eviction.group) if eviction.group else job_text(eviction.job)
    named = [_text(group, job) for group, job, _ in eviction.victims]
    draft.open(facts, [who, *named])
    for group, job, _ in eviction.victims:
        _count(draft, group, job)
        if settings.action == CHECKPOINT:
            _signal(draft, facts, settings.signal)
    for group, job, _ in eviction.victims if settings.action != CHECKPOINT else ():
        _give_way(draft, group, job, f"preempted for {who}")
    return True


def _stands(state: State, group: int, job: int, attempt: int) -> bool:
    """Whether a victim runs as the plan saw it."""
    if group:
        gang = state.groups.get(group)
        return gang is not None and gang.state == "RUNNING" and gang.start == attempt
    found = state.jobs.get(job)
    return found is not None and found.state == "RUNNING" and found.attempt == attempt


def _work(state: State, group: int, job: int) -> PreemptedWork:
    jobs = tuple(state.groups[group].members()) if group else (job,)
    return PreemptedWork(group=group, jobs=jobs)


def _text(group: int, job: int) -> str:
    return group_text(group) if group else job_text(job)


def _count(draft: Draft, group: int, job: int) -> None:
    what, key = ("group", group) if group else ("job", job)
    found = draft.state.tables[what][key]
    draft.patch(what, key, preempted=found.preempted + 1)


def _signal(draft: Draft, facts: Preempted, signal: str) -> None:
    """Every running launch of the victims gets the signal that tells it to save itself."""
    state = draft.state
    for key in (key for one in facts.victims for key in one.jobs):
        for number in state.jobs[key].launches:
            launch = state.launches[number]
            if launch.state == "RUNNING" and (facts.reservation, signal) not in launch.signals:
                signals = (*launch.signals, (facts.reservation, signal))
                draft.patch("launch", number, signals=signals)


def _give_way(draft: Draft, group: int, job: int, why: str) -> None:
    state = draft.state
    if state.config.preemption.action == SUSPEND:
        suspend(draft, job or next(_running(state, group)), SYSTEM, why)
    else:
        _stop(draft, group, job, why)


def _stop(draft: Draft, group: int, job: int, why: str) -> None:
    """Within the record in the making: what runs is stopped, and waits again when it is gone."""
    if group:
        draft.fire("group", group, "retract", not_before_us=0, window_until_us=0, last_failure=why)
        settle_group(draft, group)
        return
    draft.patch("job", job, requeue="PENDING", last_failure=why)
    for number in draft.state.jobs[job].launches:
        if draft.state.launches[number].state in LIVE_LAUNCH:
            draft.fire("launch", number, "stop", stop_reason=PREEMPTED)


def _running(state: State, group: int) -> Iterator[int]:
    yield from (key for key in state.groups[group].members() if state.jobs[key].state == "RUNNING")


def _again(draft: Draft, group: int, job: int, why: str) -> None:
    """Its grace is over: a record of its own stops it."""
    text = _text(group, job)
    draft.open(JobChanged(job=job, field="requeue", new=why), [text])
    _stop(draft, group, job, why)


def stop_due(draft: Draft, number: int) -> None:
    """The grace of a checkpoint is over: what still runs is stopped and waits again."""
    state = draft.state
    found = reservations(state).get(number)
    if found is None or not 0 < found.stop_us <= draft.now_us:
        return
    why = f"preempted for {holder_text(found)}"
    groups: dict[int, None] = {}
    for key in found.victims:
        job = state.jobs.get(key)
        if job is None or job.state != "RUNNING":
            continue
        if job.group:
            groups[job.group] = None
        elif not job.requeue:
            _again(draft, 0, key, why)
    for group in groups:
        if state.groups[group].state == "RUNNING":
            _again(draft, group, 0, why)

"""What is granted and not held: lent while its holder is suspended, or fallen with time.

A suspended member lends what its types release on suspend, from the moment at which nothing of it
runs any more: its allocation says what, the indexes do not count it, and a plan gives it back.
What a claim holds is never lent: a claim is a durable right, and what it stands on stays attached.

A reservation with duration or decay counts from the start of its job; what has fallen is free
again although the share still names it. A unit of cu[excl] is closed to all others while its job
has its allocation. An alternative with a delay is tried once its job has waited so long. Which
jobs are concerned is kept by the indexes; the figures come from pure functions of the scheduler.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import structs

from xce.model.job import Job, Topology
from xce.model.need import Need, Part
from xce.model.placing import Share
from xce.model.resources import ResourceType, site_types
from xce.model.start import Allocation
from xce.scheduler.fit.demand import SLOTS
from xce.scheduler.fit.processors import CPU
from xce.scheduler.over_time import fallen, falls_us
from xce.scheduler.snapshot import HOST_LEVEL

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State

Lent = dict[tuple[str, str], int]
Amounts = tuple[tuple[str, int], ...]
Kept = tuple[str, Amounts, tuple[str, ...]]


# -- suspended members ----------------------------------------------------------------------------


def released(state: "State", allocation: Allocation) -> tuple[Share, ...]:
    """What a member lends when nothing of it runs: slots and whatever else its type releases."""
    types = site_types(state.config.types)
    lent = (_released(types, share) for share in allocation.shares)
    return tuple(share for share in lent if share.counters or share.instances)


def _released(types: Mapping[str, ResourceType], share: Share) -> Share:
    counters = ((name, n) for name, n in share.counters if _lends(types, name.partition("@")[0]))
    instances = (key for key in share.instances if _lends(types, key.split("/", 2)[1]))
    return Share(
        host=share.host, tasks=share.tasks, counters=tuple(counters), instances=tuple(instances)
    )


def _lends(types: Mapping[str, ResourceType], name: str) -> bool:
    """Whether the type gives back on suspend; processors go with the slots of their tasks."""
    found = types.get(SLOTS if name == CPU else name)
    return found is not None and found.release_on_suspend


def kept(allocation: Allocation) -> Iterator[Kept]:
    """What an allocation holds: by host, its counters and instances less what it lent."""
    lent = {share.host: share for share in allocation.lent}
    for share in allocation.shares:
        away = lent.get(share.host)
        if away is None:
            yield share.host, share.counters, share.instances
        else:
            # A type is lent whole or not at all.
            names = dict(away.counters)
            counters = tuple(pair for pair in share.counters if pair[0] not in names)
            gone = frozenset(away.instances)
            yield share.host, counters, tuple(one for one in share.instances if one not in gone)


def held(allocation: Allocation) -> Iterator[Share]:
    """The shares of an allocation, less what it lent."""
    tasks = {share.host: share.tasks for share in allocation.shares}
    if not allocation.lent:
        yield from allocation.shares
        return
    for host, counters, instances in kept(allocation):
        yield Share(host=host, tasks=tasks[host], counters=counters, instances=instances)


def owed(state: "State", job: Job, now_us: int) -> tuple[Share, ...]:
    """What a suspended member must get back to go on: what it lent, less what has fallen with
    time meanwhile."""
    allocation = state.allocations.get(job.allocation)
    if allocation is None or not allocation.lent:
        return ()
    less = _fallen(state, job, structs.replace(allocation, lent=()), now_us)
    return tuple(_less(share, less) for share in allocation.lent)


def _less(share: Share, less: Lent) -> Share:
    counters = ((name, n - less.get((share.host, name), 0)) for name, n in share.counters)
    return structs.replace(share, counters=tuple(counters))


# -- time -----------------------------------------------------------------------------------------


def is_watched(need: Need) -> bool:
    """Whether holders of the need are to be looked at by each session."""
    if not (need.timed or need.units or need.terms or need.others):
        return False
    return any(part.timed or part.units is not None for _, part in _all_parts(need))


def _all_parts(need: Need) -> Iterator[tuple[int, Part]]:
    for index in range(len(need.others) + 1):
        chosen = need.alternative(index)
        yield index, chosen.part
        yield from ((index, term.part) for term in chosen.terms)


def delays_us(need: Need) -> tuple[int, ...]:
    """How long a job must have waited for each further alternative."""
    return tuple(sorted({other.delay_us for other in need.others if other.delay_us}))


def fall_times_us(need: Need) -> tuple[int, ...]:
    """When, after its start, a holder of the need reserves less than before."""
    return tuple(sorted({at for _, part in _all_parts(need) for at in falls_us(part.timed)}))


def _held(state: "State") -> Iterator[tuple[Job, int, Need]]:
    """Each watched job with its allocation and need."""
    for key in sorted(state.index.watched):
        job = state.jobs[key]
        if job.allocation in state.allocations:
            yield job, job.allocation, state.specs[job.spec].need


def lent(state: "State", now_us: int) -> Lent:
    """By host and counter, what running jobs no longer reserve. A compound requirement keeps
    what it has: its terms share the hosts' amounts."""
    found: Lent = {}
    for job, number, _ in _held(state):
        for key, amount in _fallen(state, job, state.allocations[number], now_us).items():
            found[key] = found.get(key, 0) + amount
    return found


def _fallen(state: "State", job: Job, allocation: Allocation, now_us: int) -> Lent:
    """What a job holds and no longer reserves. What it lent it does not hold."""
    chosen = state.specs[job.spec].need.alternative(allocation.alternative)
    if not job.started_us or chosen.terms or not chosen.part.timed:
        return {}
    lent = {(share.host, name) for share in allocation.lent for name, _ in share.counters}
    found: Lent = {}
    for index, share in enumerate(allocation.shares):
        amounts = fallen(share, chosen.part, now_us - job.started_us, first=index == 0)
        found |= {(share.host, n): a for n, a in amounts if (share.host, n) not in lent}
    return found


def alone_at(state: "State", job: Job) -> str:
    """The level whose domains the job, or its gang, has for itself by its topology; "" for none."""
    group = state.groups.get(job.group)
    if group is None:
        if state.specs[job.spec].exclusive:
            return HOST_LEVEL
        own, shared = state.specs[job.spec].topology, Topology()
    else:
        spec = state.group_spec(group)
        own, shared = spec.role(job.role).topology, spec.topology
    if not (own.exclusive or shared.exclusive):
        return ""
    return own.required or shared.required or own.preferred or shared.preferred


def exclusive_use(state: "State") -> Iterator[tuple[str, str]]:
    """(level, host) for each host whose unit of that level nobody else may use; "" is the level
    that cu[ ] has where none is named."""
    for job, number, need in _held(state):
        alone = alone_at(state, job)
        if alone:
            yield from ((alone, share.host) for share in state.allocations[number].shares)
        allocation = state.allocations[number]
        units = need.alternative(allocation.alternative).part.units
        if units is not None and units.exclusive:
            level = units.level if units.exclusive == "!" else units.exclusive
            yield from ((level, share.host) for share in allocation.shares)

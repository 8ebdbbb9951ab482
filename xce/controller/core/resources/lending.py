"""What requirements do with time and with company: falling reservations, exclusive units, delays.

A reservation with duration or decay counts from the start of its job; what has fallen is free
again although the share still names it. A unit of cu[excl] is closed to all others while its job
has its allocation. An alternative with a delay is tried once its job has waited so long. Which
jobs are concerned is kept by the indexes; the figures come from pure functions of the scheduler.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xce.model.job import Job
from xce.model.need import Need, Part
from xce.scheduler.over_time import fallen, falls_us

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State

Lent = dict[tuple[str, str], int]


def is_watched(need: Need) -> bool:
    """Whether holders of the need are to be looked at by each session."""
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
    for job, number, need in _held(state):
        allocation = state.allocations[number]
        chosen = need.alternative(allocation.alternative)
        if not job.started_us or chosen.terms or not chosen.part.timed:
            continue
        for index, share in enumerate(allocation.shares):
            amounts = fallen(share, chosen.part, now_us - job.started_us, first=index == 0)
            for name, amount in amounts:
                key = (share.host, name)
                found[key] = found.get(key, 0) + amount
    return found


def exclusive_use(state: "State") -> Iterator[tuple[str, str]]:
    """(level, host) for each host whose unit of that level nobody else may use; "" is the level
    that cu[ ] has where none is named."""
    for _, number, need in _held(state):
        allocation = state.allocations[number]
        units = need.alternative(allocation.alternative).part.units
        if units is not None and units.exclusive:
            level = units.level if units.exclusive == "!" else units.exclusive
            yield from ((level, share.host) for share in allocation.shares)

"""Who is expected to end when: what the session's view says of running work.

A job with a run limit (or an estimate of its user) is expected to be over when that has passed
since it was let go; one that prepares yet, when it has passed from now on. What was to be over
and is not is expected soon, ever later the longer it is overdue, so that an obstinate process
moves reservations a few times and not with every session. What a gang's claims hold ends with the
last of its members. Work without a limit is not among the endings at all. What is suspended ends
nobody knows when; what it lent is not its own to end.
"""

from collections.abc import Iterator, Sequence

from xce.controller.core.claims.using import consumers_of
from xce.controller.core.fold.state import State
from xce.controller.core.resources.lending import held, released
from xce.controller.core.time.watch import length_us
from xce.model.config import SECOND_US
from xce.model.config.backfill import SUSPEND
from xce.model.ids import claim_text, group_text, job_text
from xce.model.job import Job
from xce.scheduler.time.terms import FOREVER_US, Ending, share_of


def end_us(state: State, job: Job, now_us: int) -> int:
    """When a job with an allocation is expected to be over; FOREVER_US where nobody knows."""
    spec = state.specs[job.spec]
    length = length_us(spec)
    over_us = FOREVER_US
    if length and not job.suspend_since_us:
        over_us = (job.started_us or now_us) + length + job.suspended_us
    over_us = min(over_us, spec.terminate_us or FOREVER_US)
    if over_us == FOREVER_US:
        return FOREVER_US
    return over_us if over_us > now_us else now_us + max(SECOND_US, now_us - over_us)


def left_us(state: State, members: Sequence[int]) -> int:
    """How long suspended work may still run by its limits; 0 where one of it has none."""
    found = []
    for job in (state.jobs[key] for key in members):
        limit_us = state.specs[job.spec].run_limit_us
        if not limit_us or not job.started_us:
            return 0
        ran_us = job.suspend_since_us - job.started_us - job.suspended_us
        found.append(max(SECOND_US, limit_us - ran_us))
    return max(found, default=0)


def endings(state: State, now_us: int) -> tuple[Ending, ...]:
    """All endings that can be expected, by job; behind them those of claims of several jobs."""
    found: list[Ending] = []
    shared: dict[int, int] = {}
    gone = _giving_way(state)
    for key in sorted({*state.index.limited, *gone}):
        job = state.jobs[key]
        at_us = end_us(state, job, now_us)
        allocation = state.allocations.get(job.allocation)
        shares = list(held(allocation)) if allocation is not None else []
        if key in gone:
            at_us = min(at_us, max(gone[key], now_us + SECOND_US))
            if state.config.preemption.action == SUSPEND and allocation is not None:
                shares = [] if allocation.lent else list(released(state, allocation))
        start = state.starts.get(job.start)
        for number in start.claims if start is not None else ():
            claim = state.claims[number]
            if claim.job == key:
                shares.extend(share_of(holding) for holding in claim.holdings)
            elif not claim.job:
                shared[number] = job.start
        if shares:
            found.append(Ending(end_us=at_us, who=_who(job), shares=tuple(shares)))
    found.extend(_of_claims(state, shared, now_us))
    found.extend(_of_leases(state, now_us))
    return tuple(found)


def _giving_way(state: State) -> dict[int, int]:
    """Jobs that were told to give way and have not yet, and when they are expected to have."""
    found: dict[int, int] = {}
    for one in state.tables["reservation"].values():
        found |= {key: one.from_us for key in one.victims if _gives_way(state, key, one.set_us)}
    return found


def _gives_way(state: State, key: int, since_us: int) -> bool:
    job = state.jobs.get(key)
    return job is not None and 0 < job.started_us <= since_us and bool(job.allocation)


def _of_claims(state: State, shared: dict[int, int], now_us: int) -> Iterator[Ending]:
    for number, start in sorted(shared.items()):
        claim = state.claims[number]
        members = [state.jobs[key] for key in state.starts[start].members]
        last_us = latest_us(state, members, now_us)
        if last_us < FOREVER_US and claim.holdings:
            shares = tuple(share_of(holding) for holding in claim.holdings)
            yield Ending(end_us=last_us, who=_who(members[0]), shares=shares)


def _of_leases(state: State, now_us: int) -> Iterator[Ending]:
    """Standalone claims whose lease ends, unless somebody who uses it goes on for longer."""
    for number, claim in sorted(state.claims.items()):
        if claim.stands_alone and claim.until_us and claim.holdings:
            members = [state.jobs[key] for key in consumers_of(state, number)]
            own_us = max(claim.until_us, now_us + SECOND_US)
            last_us = max(own_us, latest_us(state, members, now_us)) if members else own_us
            if last_us < FOREVER_US:
                shares = tuple(share_of(holding) for holding in claim.holdings)
                yield Ending(end_us=last_us, who=claim_text(number), shares=shares)


def latest_us(state: State, jobs: Sequence[Job], now_us: int) -> int:
    """When the last of some jobs is expected to be over."""
    live = (job for job in jobs if job.allocation in state.allocations)
    return max((end_us(state, job, now_us) for job in live), default=now_us + SECOND_US)


def _who(job: Job) -> str:
    return group_text(job.group) if job.group else job_text(job.key)

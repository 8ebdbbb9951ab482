"""Suspending what runs and letting it go on: a plain job, or a gang as one.

Suspended is what was asked; frozen is what its hosts have done. Each launch counts its orders
(`freeze`: odd is frozen), so that lost, repeated and crossed ones do no harm. Only when the hosts
have said of every live launch of a member that nothing of it runs is anything of it lent, and from
then on it goes on only by a plan that gives all of that back: to the whole gang, or to nobody.
"""

from collections.abc import Iterable

from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.starts import go_on_with_waves, names_of
from xce.controller.core.resources.lending import released
from xce.dispatch.protocol import FREEZING
from xce.model.actor import SYSTEM
from xce.model.job import Job
from xce.model.records import ResumeAsked, SuspendAsked
from xce.model.start import Launch
from xce.model.tables import LIVE_LAUNCH


def runs(job: Job) -> bool:
    """Whether an attempt of it is under way, and nothing has asked that it end."""
    return job.state in ("STARTING", "RUNNING")


def together(state: State, key: int) -> tuple[int, ...]:
    """What is suspended and resumed with a job: itself, or what runs of its gang."""
    job = state.jobs[key]
    if not job.group:
        return (key,)
    return tuple(one for one in state.groups[job.group].members() if runs(state.jobs[one]))


def suspend(draft: Draft, key: int, by: str, why: str = "") -> None:
    """Stop a running job, or the gang it is of, in one record. `by` the system, it goes on by
    itself as soon as a plan finds room; by its owner or an operator, when somebody asks."""
    state = draft.state
    job = state.jobs[key]
    facts = SuspendAsked(job=0 if job.group else key, group=job.group, by=by, why=why)
    draft.open(facts, names_of(state, state.starts[job.start]))
    for member in together(state, key):
        _stop(draft, state.jobs[member], by, why)
        # A member of which nothing was let go yet is parked: it runs nothing.
        settle_suspension(draft, member)


def suspend_each(draft: Draft, facts: SuspendAsked, named: list[str], keys: Iterable[int]) -> None:
    """Stop plain jobs, each for itself, in one record."""
    draft.open(facts, named)
    for key in keys:
        _stop(draft, draft.state.jobs[key], facts.by, facts.why)


def _stop(draft: Draft, job: Job, by: str, why: str) -> None:
    """It may be suspended already: then it is another's now, and who asked it to go on is over."""
    if job.suspension == "SUSPENDED":
        draft.patch("job", job.key, suspended_by=by, suspend_why=why, resume_us=0)
        return
    draft.fire(
        "suspension", job.key, "suspend", suspended_by=by, suspend_why=why, resume_us=0,
        suspend_since_us=job.suspend_since_us or draft.now_us,
    )  # fmt: skip
    for launch in _let_go(draft.state, job):
        draft.patch("launch", launch.number, freeze=launch.freeze + 1)


def resume(draft: Draft, key: int, by: str) -> None:
    """A suspended job, or the gang it is of, is to go on: at once where nothing was lent."""
    state = draft.state
    job = state.jobs[key]
    facts = ResumeAsked(job=0 if job.group else key, group=job.group, by=by)
    draft.open(facts, names_of(state, state.starts[job.start]))
    _go_on(draft, suspended(state, key))


def resume_each(draft: Draft, facts: ResumeAsked, named: list[str], keys: Iterable[int]) -> None:
    """Let plain jobs go on, each for itself, in one record."""
    draft.open(facts, named)
    for key in keys:
        _go_on(draft, [key])


def _go_on(draft: Draft, members: list[int]) -> None:
    """All of them wait for a plan, or go on at once."""
    if any(_lends(draft.state, draft.state.jobs[one]) for one in members):
        for member in members:
            draft.patch("job", member, resume_us=draft.now_us)
    else:
        give_back(draft, members)


def suspended(state: State, key: int) -> list[int]:
    """Of a job or its gang, what is suspended."""
    return [one for one in together(state, key) if state.jobs[one].suspension == "SUSPENDED"]


def cannot_freeze(state: State, key: int) -> str:
    """A host of a job, or of its gang, whose agent is of before and cannot freeze; "" is none."""
    hosts = (state.hosts[name] for name in hosts_of(state, together(state, key)))
    return next((host.name for host in hosts if FREEZING not in host.can), "")


def hosts_of(state: State, members: Iterable[int]) -> list[str]:
    """Hosts on which something of the members is live, each once, sorted."""
    launches = (state.launches[one] for key in members for one in state.jobs[key].launches)
    return sorted({one.host for one in launches if _is_live(one)})


def _lends(state: State, job: Job) -> bool:
    allocation = state.allocations.get(job.allocation)
    return allocation is not None and bool(allocation.lent)


def give_back(draft: Draft, members: Iterable[int]) -> None:
    """Within the record in the making: they hold again what they had, and are to go on."""
    for member in members:
        job = draft.state.jobs[member]
        if _lends(draft.state, job):
            draft.patch("allocation", job.allocation, lent=())
        draft.fire("suspension", member, "resume", resume_us=0)
        for launch in _let_go(draft.state, job):
            draft.patch("launch", launch.number, freeze=launch.freeze + 1)
        settle_suspension(draft, member)


def _let_go(state: State, job: Job) -> list[Launch]:
    """Live launches that were let go and are not being stopped; what is parked runs nothing, and
    no wave is opened while its gang is suspended."""
    launches = (state.launches[number] for number in job.launches)
    return [
        one for one in launches if one.go and one.state in LIVE_LAUNCH and one.state != "STOPPING"
    ]


def settle_suspension(draft: Draft, key: int) -> None:
    """A launch of a member was frozen, goes on or is gone: when that was the last that was waited
    for, the member lends, or is ACTIVE again."""
    job = draft.state.jobs[key]
    if job.suspension == "ACTIVE" or not runs(job):
        return
    live = (draft.state.launches[number] for number in job.launches)
    if any(one.state == "STOPPING" or one.frozen != one.freeze for one in live if _is_live(one)):
        return
    if job.suspension == "RESUMING":
        since_us = job.suspend_since_us
        draft.fire("suspension", key, "resumed")
        if job.group:
            go_on_with_waves(draft, job.start, since_us)
    else:
        # Also where its gang is to go on already: others of it lend, so that it waits for a plan,
        # and who is before it in that may need what it has.
        _lend(draft, job)


def _is_live(launch: Launch) -> bool:
    return launch.state in LIVE_LAUNCH


def _lend(draft: Draft, job: Job) -> None:
    allocation = draft.state.allocations.get(job.allocation)
    if allocation is None or allocation.lent:
        return
    lent = released(draft.state, allocation)
    if lent:
        draft.patch("allocation", allocation.number, lent=lent)
    if job.suspended_by == SYSTEM:
        draft.patch("job", job.key, resume_us=draft.now_us)


def waiting_members(state: State, waiter: tuple[int, int]) -> list[int]:
    """Who of it waits to go on; nobody once it was asked for no more."""
    if waiter not in state.index.resuming:
        return []
    group, job = waiter
    first = state.groups[group].members()[0] if group else job
    return suspended(state, first)

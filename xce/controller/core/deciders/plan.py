"""A slice of a plan becomes a record: re-checked group by group, all or nothing for each.

What no longer fits is left out as stale and waits for the next session.
"""

from collections.abc import Sequence
from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.arrays.elements import job_of
from xce.controller.core.arrays.planning import strike_out
from xce.controller.core.claims import binding
from xce.controller.core.claims.using import uses_of
from xce.controller.core.deciders.placing.attaching import parameters_of, provider_of
from xce.controller.core.deciders.placing.numbers import Numbers
from xce.controller.core.deciders.placing.recheck import Recheck
from xce.controller.core.deciders.placing.short_way import Accepted, followed, is_short, numbered
from xce.controller.core.fold.state import State
from xce.controller.core.gangs.asking import kind_of
from xce.controller.core.gangs.joining import World, in_world, join, joins
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.leases import keeps_lease, take_lease
from xce.controller.core.life.starts import let_pass, wave_of_roles
from xce.controller.core.resources.pools import Pools, pooled_holding, pooled_share
from xce.controller.core.time.giving_way import write_evictions
from xce.controller.core.time.reservations import write_reserves
from xce.model.group import GroupSpec
from xce.model.ids import asker_text, claim_text, group_text
from xce.model.job import ONCE, PER_HOST, Spec
from xce.model.placing import AttachmentPlan, BoundClaim, ClaimPlan, Holding, LaunchPlan, MemberPlan
from xce.model.records import Planned, PlannedGroup
from xce.scheduler.plan import PlacedClaim, PlacedMember, Placement

Answer = tuple[dict[str, Any], dict[str, bytes]]
DECISION_VERSION = 2


def commit_plan(draft: Draft, command: c.CommitPlan) -> c.Rejection | Answer:
    """Write down what of the slice still holds; the answer names what was stale."""
    state = draft.state
    recheck = Recheck(state, command, draft.now_us)
    stale = [_label(one) for one in command.placements if not recheck.accepts(one)]
    planned = len(recheck.accepted)
    if planned:
        _write(draft, command, recheck.accepted)
    reserved = _write_time(draft, command)
    return {"planned": planned, "stale": stale, "reserved": reserved}, {}


def _write(draft: Draft, command: c.CommitPlan, accepted: Accepted) -> None:
    """The record of what holds: the short way where all of it may go that, else the general one."""
    state, numbers = draft.state, Numbers(draft.state)
    if is_short(state, accepted):
        planned = numbered(state, numbers, accepted, draft.now_us)
        draft.write(facts_of(command, planned), *followed(state, planned, draft.now_us))
        return
    work = [one for one, _ in accepted if not one.claim]
    planned = [_number(draft, numbers, placement) for placement in work]
    bound = [binding.bound(state, numbers, one) for one, _ in accepted if one.claim]
    facts = facts_of(command, planned, bound)
    draft.open(facts, [_label(placement) for placement, _ in accepted])
    for group in planned:
        _begin(draft, group)
    for claim in bound:
        binding.bind(draft, claim)
    strike_out(draft, (placement.job for placement in work))


def _write_time(draft: Draft, command: c.CommitPlan) -> int:
    """What the plan reserves, and who gives way; gives the number of records."""
    written = write_reserves(draft, command)
    return written + write_evictions(draft, command)


def facts_of(
    command: c.CommitPlan | c.CommitResumes,
    groups: Sequence[PlannedGroup] = (),
    bound: Sequence[BoundClaim] = (),
    resumed: Sequence[int] = (),
) -> Planned:
    """The record of a part of a plan: what was decided, and from which snapshot."""
    return Planned(
        session=command.session,
        slice=command.slice if isinstance(command, c.CommitPlan) else 0,
        snapshot_lsn=command.snapshot_lsn,
        now_us=command.snapshot_us,
        config_lsn=command.config_lsn,
        tick_lsn=command.tick_lsn,
        decision=DECISION_VERSION,
        digest=command.digest,
        groups=tuple(groups),
        bound=tuple(bound),
        resumed=tuple(resumed),
    )


def _label(placement: Placement) -> str:
    return group_text(placement.group) if placement.group else asker_text(placement.job)


# -- numbers --------------------------------------------------------------------------------------


def _number(draft: Draft, numbers: Numbers, placement: Placement) -> PlannedGroup:
    """Give a placement the numbers of what it brings into being."""
    state = draft.state
    spec = state.group_spec(state.groups[placement.group]) if placement.group else None
    world: World = ()
    members = tuple(_member(state, numbers, member) for member in placement.members)
    lsn = state.lsn + 1
    claims, attachments = [], []
    for placed in placement.claims:
        claim = _claim(state.config.pools, numbers, placed, lsn)
        claims.append(claim)
        made = _attachment(state, numbers, placed, claim)
        if made is not None:
            attachments.append(made)
    launches = _launches(state, numbers, members, spec)
    if joins(state, placement.group):
        launches, world = in_world(state, state.groups[placement.group], launches)
    return PlannedGroup(
        start=numbers.next("start"),
        group=placement.group,
        kind=_kind(state, placement),
        deadline_us=draft.now_us + _barrier_timeout_us(state, placement, spec),
        members=members,
        claims=tuple(claims),
        attachments=tuple(attachments),
        launches=launches,
        must_end_us=placement.must_end_us,
        world=world,
    )


def _kind(state: State, placement: Placement) -> str:
    first = job_of(state, placement.members[0].job)
    if joins(state, placement.group):
        return kind_of(first)
    return "restart" if first.attempt else "birth"


def _barrier_timeout_us(state: State, placement: Placement, spec: GroupSpec | None) -> int:
    if spec is not None:
        return spec.barrier_timeout_us
    own = state.specs[job_of(state, placement.job).spec].barrier_timeout_us
    return own or state.config.barrier_timeout_us


def _member(state: State, numbers: Numbers, member: PlacedMember) -> MemberPlan:
    return MemberPlan(
        job=member.job,
        attempt=job_of(state, member.job).attempt + 1,
        role=member.role,
        rank=job_of(state, member.job).rank if member.role else member.rank,
        allocation=numbers.next("allocation"),
        shares=tuple(pooled_share(state.config.pools, share) for share in member.shares),
        alternative=member.alternative,
        uses=tuple(number for _, number in uses_of(state, job_of(state, member.job))),
    )


def _claim(pools: Pools, numbers: Numbers, placed: PlacedClaim, lsn: int) -> ClaimPlan:
    return ClaimPlan(
        claim=numbers.next("claim"),
        name=placed.template.name,
        type=placed.template.type,
        scope=placed.scope,
        role=placed.role,
        job=placed.job,
        count=placed.template.count,
        generation=lsn,
        holdings=tuple(pooled_holding(pools, one) for one in placed.holdings),
    )


def _attachment(
    state: State, numbers: Numbers, placed: PlacedClaim, claim: ClaimPlan
) -> AttachmentPlan | None:
    provider = provider_of(state.config, claim.type)
    if not provider:
        return None
    told = parameters_of(state, claim.name, claim.type, placed.host, claim.holdings)
    if placed.template.size_bytes:
        told["size_bytes"] = str(placed.template.size_bytes)
    own = dict(placed.template.parameters)
    return AttachmentPlan(
        attachment=numbers.next("attachment"),
        claim=claim.claim,
        host=placed.host,
        provider=provider,
        parameters=tuple(sorted({**own, **told}.items())),
    )


def _launches(
    state: State, numbers: Numbers, members: tuple[MemberPlan, ...], spec: GroupSpec | None
) -> tuple[LaunchPlan, ...]:
    """One launch per host of each member; ranks count processes in the order of the members."""
    among = {member.role for member in members}
    waves = wave_of_roles(spec, among) if spec is not None else {}
    launches, rank = [], 0
    for member in members:
        own = state.specs[job_of(state, member.job).spec]
        for index, share in enumerate(member.shares):
            processes = _processes(own, index, share.tasks)
            launches.append(
                LaunchPlan(
                    launch=numbers.next("launch"),
                    job=member.job,
                    host=share.host,
                    wave=waves.get(member.role, 0),
                    processes=processes,
                    first_rank=rank,
                )
            )
            rank += processes
    return tuple(launches)


def _processes(spec: Spec, index: int, tasks: int) -> int:
    if spec.run == ONCE:
        return 1 if index == 0 else 0
    return 1 if spec.run == PER_HOST else tasks


# -- beginning ------------------------------------------------------------------------------------


def _begin(draft: Draft, planned: PlannedGroup) -> None:
    """Members, gang and, on the short way, the pass: all within the record."""
    draft.name(*(claim_text(claim.claim) for claim in planned.claims))
    launches: dict[int, list[int]] = {}
    for launch in planned.launches:
        launches.setdefault(launch.job, []).append(launch.launch)
    if planned.group and not joins(draft.state, planned.group):
        draft.fire("group", planned.group, "plan", start=planned.start, not_before_us=0)
    elif planned.group:
        join(draft, planned)
    for member in planned.members:
        draft.fire(
            "job",
            member.job,
            "plan",
            attempt=member.attempt,
            start=planned.start,
            allocation=member.allocation,
            launches=tuple(launches[member.job]),
            not_before_us=0,
            **_no_more(draft.state, member.job),
        )
    take_lease(draft, planned.start)
    if _is_short(draft.state, planned):
        let_pass(draft, planned.start, [planned.launches[0].launch])


def _no_more(state: State, key: int) -> dict[str, str]:
    """A member that waited for a start of its own does so no more."""
    job = state.jobs.get(key)
    return {"awaits": ""} if job is not None and job.awaits else {}


def _is_short(state: State, planned: PlannedGroup) -> bool:
    """Whether planning and passing are one: one launch, nothing to provision, and a host, UP and
    reconciled by the check of the plan, that keeps the lease."""
    if len(planned.launches) != 1 or planned.attachments:
        return False
    return keeps_lease(state, state.starts[planned.start], state.hosts[planned.launches[0].host])


__all__ = ["Holding", "commit_plan", "provider_of"]

"""What a plan's facts bring into being: starts, allocations, launches, claims, attachments."""

from xce.controller.core.arrays.elements import job_of
from xce.controller.core.fold.plans.claims import attach
from xce.controller.core.fold.plans.counters import count_up
from xce.controller.core.fold.state import State
from xce.model import records as r
from xce.model.placing import ClaimPlan, LaunchPlan, MemberPlan
from xce.model.start import Allocation, Claim, Launch, Start


def fold_planned(state: State, record: r.Record, body: r.Planned) -> None:
    """What the facts of a plan bring into being; what follows from them is in `then`."""
    count_up(state, "session", body.session)
    for planned in body.groups:
        _start(state, record, planned)
        state.index.settle()
    for bound in body.bound:
        for attachment in bound.attachments:
            attach(state, attachment, 0)


def _start(state: State, record: r.Record, planned: r.PlannedGroup) -> None:
    start = Start(
        number=planned.start,
        group=planned.group,
        kind=planned.kind,
        state="OPEN",
        members=tuple(member.job for member in planned.members),
        launches=tuple(launch.launch for launch in planned.launches),
        attachments=tuple(attachment.attachment for attachment in planned.attachments),
        claims=tuple(claim.claim for claim in planned.claims),
        opened_us=record.at_us,
        deadline_us=planned.deadline_us,
        waves=1 + max((launch.wave for launch in planned.launches), default=0),
        must_end_us=planned.must_end_us,
        world=planned.world,
    )
    count_up(state, "start", planned.start)
    state.put("start", planned.start, start)
    launches: dict[int, list[LaunchPlan]] = {}
    for launch in planned.launches:
        launches.setdefault(launch.job, []).append(launch)
    for member in planned.members:
        _allocate(state, record, planned, (member, launches.get(member.job, [])))
    attached: dict[int, list[int]] = {}
    for attachment in planned.attachments:
        attached.setdefault(attachment.claim, []).append(attachment.attachment)
    for claim in planned.claims:
        _bind(state, record, planned, (claim, attached.get(claim.claim, [])))
    for attachment in planned.attachments:
        attach(state, attachment, planned.start)


def _allocate(
    state: State,
    record: r.Record,
    planned: r.PlannedGroup,
    granted: tuple[MemberPlan, list[LaunchPlan]],
) -> None:
    member, launches = granted
    tasks = {share.host: share.tasks for share in member.shares}
    allocation = Allocation(
        number=member.allocation,
        job=member.job,
        attempt=member.attempt,
        shares=member.shares,
        launches=tuple(launch.launch for launch in launches),
        generation=record.lsn,
        alternative=member.alternative,
        uses=member.uses,
    )
    count_up(state, "allocation", member.allocation)
    state.put("allocation", member.allocation, allocation)
    for launch in launches:
        count_up(state, "launch", launch.launch)
        made = Launch(
            number=launch.launch,
            job=member.job,
            attempt=member.attempt,
            host=launch.host,
            start=planned.start,
            allocation=member.allocation,
            state="PREPARING",
            wave=launch.wave,
            processes=launch.processes,
            first_rank=launch.first_rank,
            tasks=tasks[launch.host],
            generation=record.lsn,
        )
        state.put("launch", launch.launch, made)


def _bind(
    state: State,
    record: r.Record,
    planned: r.PlannedGroup,
    bound: tuple[ClaimPlan, list[int]],
) -> None:
    plan, attachments = bound
    owner = job_of(state, planned.members[0].job).owner
    claim = Claim(
        number=plan.claim,
        name=plan.name,
        type=plan.type,
        scope=plan.scope,
        owner=owner,
        state="BOUND",
        generation=plan.generation,
        group=planned.group,
        role=plan.role,
        job=plan.job,
        start=planned.start,
        count=plan.count,
        holdings=plan.holdings,
        attachments=tuple(attachments),
        created_us=record.at_us,
    )
    count_up(state, "claim", plan.claim)
    state.put("claim", plan.claim, claim)

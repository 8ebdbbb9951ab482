"""The short way in bulk: a slice of plain jobs on one host each, with nothing to provision.

Such a job is planned and passed in the record itself, and nothing else moves: what follows is the
same three changes for every job, and one for every array that elements are of. They are written
down here without trying them on the state first. A test compares these records, byte for byte,
with what the general way writes.
"""

from collections.abc import Sequence
from typing import Any

from xce.controller.core.arrays.planning import placed_of
from xce.controller.core.deciders.placing.numbers import Numbers
from xce.controller.core.fold.apply import ELEMENT
from xce.controller.core.fold.plans.short import PASSED, PLANNED
from xce.controller.core.fold.state import State
from xce.model.ids import job_text
from xce.model.job import ONCE, PER_HOST, Job
from xce.model.placing import LaunchPlan, MemberPlan
from xce.model.records import Change, PlannedGroup
from xce.model.waiting.array import JOB
from xce.scheduler.plan import Placement

Accepted = Sequence[tuple[Placement, Job | None]]
"""Placements that still hold, each with its plain job as it is now; None for a gang."""


def is_short(state: State, accepted: Accepted) -> bool:
    """Whether all of a slice may go the short way."""
    if state.config.pools:
        return False
    specs = state.specs
    for one, job in accepted:
        if job is None or one.claims or one.must_end_us or len(one.members[0].shares) != 1:
            return False
        if specs[job.spec].stop_after_us or specs[job.spec].claims:
            return False
    return True


def numbered(state: State, numbers: Numbers, accepted: Accepted, now_us: int) -> list[PlannedGroup]:
    """The placements with the numbers of what they bring into being."""
    specs, default_us, count = state.specs, state.config.barrier_timeout_us, len(accepted)
    starts, launches = numbers.many("start", count), numbers.many("launch", count)
    allocations = numbers.many("allocation", count)
    found = []
    rows = zip(accepted, starts, allocations, launches, strict=True)
    for (placement, job), start, allocation, launch in rows:
        assert job is not None, "gangs go the general way"
        member, spec = placement.members[0], specs[job.spec]
        share, attempt = member.shares[0], job.attempt
        processes = 1 if spec.run in (ONCE, PER_HOST) else share.tasks
        plan = MemberPlan(
            job=member.job, attempt=attempt + 1, role=member.role, rank=member.rank,
            allocation=allocation, shares=member.shares, alternative=member.alternative,
        )  # fmt: skip
        own = LaunchPlan(launch=launch, job=member.job, host=share.host, processes=processes)
        found.append(
            PlannedGroup(
                start=start,
                group=0,
                kind="restart" if attempt else "birth",
                deadline_us=now_us + (spec.barrier_timeout_us or default_us),
                members=(plan,),
                launches=(own,),
            )
        )
    return found


def followed(
    state: State, groups: Sequence[PlannedGroup], now_us: int
) -> tuple[list[Change], list[str]]:
    """What follows from the groups, and the jobs' names. Last of all the elements that became
    jobs are struck out of their arrays."""
    then: list[Change] = []
    names: list[str] = []
    passed: dict[str, Any] = {
        "state": PASSED, "passed_us": now_us, "wave": 0, "wave_opened_us": now_us,
    }  # fmt: skip
    gone = {"go": True}
    for planned in groups:
        member, launch = planned.members[0], planned.launches[0].launch
        job, start = member.job, planned.start
        planned_job = {
            "state": PLANNED, "attempt": member.attempt, "start": start,
            "allocation": member.allocation, "launches": (launch,), "not_before_us": 0,
        }  # fmt: skip
        then += (
            Change("job", job, "plan", planned_job),
            Change("start", start, "pass", passed),
            Change("launch", launch, "", gone),
        )
        names.append(job_text(job))
    elements = (planned.members[0].job for planned in groups) if state.arrays else ()
    for number, runs in placed_of(state, elements):
        then.append(Change(ELEMENT, number, "plan", {"indices": runs, "to": JOB}))
    return then, names

"""The short way in bulk: a slice of plain jobs on one host each, with nothing to provision.

Such a job is planned and passed in the record itself, and nothing else moves: what follows is the
same three changes for every job, and one for every array that elements are of. They are written
down here without trying them on the state first. A test compares these records, byte for byte,
with what the general way writes.
"""

from collections.abc import Sequence
from typing import Any

from xce.controller.core.arrays.elements import job_of
from xce.controller.core.arrays.planning import placed_of
from xce.controller.core.deciders.placing.numbers import Numbers
from xce.controller.core.fold.apply import ELEMENT
from xce.controller.core.fold.state import State
from xce.model.ids import job_text
from xce.model.job import ONCE, PER_HOST
from xce.model.placing import LaunchPlan, MemberPlan
from xce.model.records import Change, PlannedGroup
from xce.model.tables import MACHINES
from xce.model.waiting.array import JOB
from xce.scheduler.plan import Placement

PLANNED = MACHINES["job"].next("PENDING", "plan")
PASSED = MACHINES["start"].next("OPEN", "pass")


def is_short(state: State, placements: Sequence[Placement]) -> bool:
    """Whether all of a slice may go the short way."""
    if state.config.pools:
        return False
    return all(_goes_short(state, one) for one in placements)


def _goes_short(state: State, one: Placement) -> bool:
    if one.group or one.claims or len(one.members[0].shares) != 1 or one.must_end_us:
        return False
    spec = state.specs[job_of(state, one.members[0].job).spec]
    return not spec.stop_after_us and not spec.claims


def numbered(
    state: State, numbers: Numbers, placements: Sequence[Placement], now_us: int
) -> list[PlannedGroup]:
    """The placements with the numbers of what they bring into being."""
    jobs, specs, default_us = state.jobs, state.specs, state.config.barrier_timeout_us
    found = []
    for placement in placements:
        (member,) = placement.members
        job = jobs.get(member.job) or job_of(state, member.job)
        spec = specs[job.spec]
        (share,) = member.shares
        processes = 1 if spec.run in (ONCE, PER_HOST) else share.tasks
        found.append(
            PlannedGroup(
                start=numbers.next("start"),
                group=0,
                kind="restart" if job.attempt else "birth",
                deadline_us=now_us + (spec.barrier_timeout_us or default_us),
                members=(
                    MemberPlan(
                        job=member.job,
                        attempt=job.attempt + 1,
                        role=member.role,
                        rank=member.rank,
                        allocation=numbers.next("allocation"),
                        shares=member.shares,
                        alternative=member.alternative,
                    ),
                ),
                launches=(
                    LaunchPlan(
                        launch=numbers.next("launch"),
                        job=member.job,
                        host=share.host,
                        processes=processes,
                    ),
                ),
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
        (member,), (launch,) = planned.members, planned.launches
        planned_job = {
            "state": PLANNED,
            "attempt": member.attempt,
            "start": planned.start,
            "allocation": member.allocation,
            "launches": (launch.launch,),
            "not_before_us": 0,
        }
        then.append(Change("job", member.job, "plan", planned_job))
        then.append(Change("start", planned.start, "pass", passed))
        then.append(Change("launch", launch.launch, "", gone))
        names.append(job_text(member.job))
    for number, runs in placed_of(state, (planned.members[0].job for planned in groups)):
        then.append(Change(ELEMENT, number, "plan", {"indices": runs, "to": JOB}))
    return then, names

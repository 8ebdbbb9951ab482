"""The short way of plain jobs in bulk: facts and what follows are folded in one go.

Where a plan's record has nothing but plain jobs on one host each, and exactly the changes that
planning and passing them make, each entity is put once, as it is in the end, and the indexes are
told of all of them together (`noting.py`). Nothing is derived: all values are the record's. Any
other record goes the general way; a test compares both.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from xce.controller.core.arrays.elements import waiting_element
from xce.controller.core.fold.eligible import is_eligible
from xce.controller.core.fold.plans.counters import count_up
from xce.controller.core.fold.plans.noting import Made, note_placed
from xce.controller.core.fold.state import State
from xce.model import records as r
from xce.model.job import Job
from xce.model.start import Allocation, Launch, Start
from xce.model.tables import MACHINES

PLANNED = MACHINES["job"].next("PENDING", "plan")
PASSED = MACHINES["start"].next("OPEN", "pass") or "PASSED"
JOB_SET = {"state", "attempt", "start", "allocation", "launches", "not_before_us"}
START_SET = {"state", "passed_us", "wave", "wave_opened_us"}
LAUNCH_SET = {"go"}

Row = tuple[r.PlannedGroup, r.Change, r.Change, r.Change]
"""A group with what follows from it: of its job, of its start, of its launch."""


def fold_short(state: State, record: r.Record) -> int:
    """Folds the record's facts and its changes up to those of arrays, if it is of that kind; gives
    how many changes that were: 0, with nothing changed, if it is not."""
    body = record.body
    assert isinstance(body, r.Planned)
    then, groups = body.then, body.groups
    count = 3 * len(groups)
    if body.bound or not groups or len(then) < count:
        return 0
    if any(change.what != "element" for change in then[count:]):
        return 0
    rows = zip(groups, then[:count:3], then[1:count:3], then[2:count:3], strict=True)
    made = _made(state, record, rows)
    if made is None or len(made.jobs) < len(groups):
        return 0
    state.lsn, state.epoch, state.at_us = record.lsn, record.epoch, record.at_us
    last = groups[-1]
    count_up(state, "session", body.session)
    count_up(state, "start", last.start)
    count_up(state, "allocation", last.members[0].allocation)
    count_up(state, "launch", last.launches[0].launch)
    state.put_all("start", made.starts)
    state.put_all("allocation", made.allocations)
    state.put_all("launch", made.launches)
    before = state.put_all("job", made.jobs)
    note_placed(state, before, made)
    return count


def _made(state: State, record: r.Record, rows: Iterable[Row]) -> Made | None:
    """Everything as it is in the end; None where one of the groups is of another kind."""
    made = Made({}, {}, {}, {})
    jobs = state.jobs
    passed: dict[str, Any] | None = None
    for row in rows:
        planned, _, start, _ = row
        if start.set is not passed:  # whoever decided it gave all of them the same one
            passed = start.set
            if passed is None or passed.keys() != START_SET or passed["state"] != PASSED:
                return None
        if not _is_short(row):
            return None
        key = planned.members[0].job
        job = jobs.get(key) or waiting_element(state, key)
        if job is None or not is_eligible(job) or job.suspension != "ACTIVE":
            return None
        _make(made, record, row, job)
    return made


def _is_short(row: Row) -> bool:
    planned, job, start, launch = row
    if planned.group or planned.claims or planned.attachments:
        return False
    if len(planned.members) != 1 or len(planned.launches) != 1:
        return False
    member, mine = planned.members[0], planned.launches[0]
    if member.uses or len(member.shares) != 1 or member.shares[0].host != mine.host:
        return False
    if job.set is None or job.set.keys() != JOB_SET or job.set["state"] != PLANNED:
        return False
    if launch.set is None or launch.set.keys() != LAUNCH_SET:
        return False
    return (
        job.what == "job"
        and start.what == "start"
        and launch.what == "launch"
        and job.key == member.job == mine.job
        and start.key == planned.start
        and launch.key == mine.launch
    )


def _make(made: Made, record: r.Record, row: Row, job: Job) -> None:
    planned = row[0]
    of_job, passed, go = row[1].set or {}, row[2].set or {}, row[3].set or {}
    member, launch = planned.members[0], planned.launches[0]
    start, allocation, number = planned.start, member.allocation, launch.launch
    numbers = (number,)
    made.starts[start] = Start(
        number=start, group=0, kind=planned.kind, state=PASSED, members=(job.key,),
        launches=numbers, attachments=(), claims=(), opened_us=record.at_us,
        deadline_us=planned.deadline_us, waves=1 + launch.wave,
        must_end_us=planned.must_end_us, passed_us=passed["passed_us"], wave=passed["wave"],
        wave_opened_us=passed["wave_opened_us"],
    )  # fmt: skip
    made.allocations[allocation] = Allocation(
        number=allocation, job=job.key, attempt=member.attempt, shares=member.shares,
        launches=numbers, generation=record.lsn, alternative=member.alternative,
    )  # fmt: skip
    made.launches[number] = Launch(
        number=number, job=job.key, attempt=member.attempt, host=launch.host, start=start,
        allocation=allocation, state="PREPARING", wave=launch.wave,
        processes=launch.processes, first_rank=launch.first_rank,
        tasks=member.shares[0].tasks, generation=record.lsn, go=go["go"],
    )  # fmt: skip
    made.jobs[job.key] = structs.replace(
        job, state=PLANNED, attempt=of_job["attempt"], start=of_job["start"],
        allocation=of_job["allocation"], launches=tuple(of_job["launches"]),
        not_before_us=of_job["not_before_us"],
    )  # fmt: skip

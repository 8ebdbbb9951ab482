"""The short way of plain jobs in bulk: facts and what follows are folded in one go.

Where a plan's record has nothing but plain jobs on one host each, and exactly the changes that
planning and passing them make, each entity is put once, as it is in the end. Nothing is derived:
all values are the record's. Any other record goes the general way; a test compares both.
"""

from typing import Any

from msgspec import structs

from xce.controller.core.arrays.elements import waiting_element
from xce.controller.core.fold.plans.counters import count_up
from xce.controller.core.fold.state import State
from xce.model import records as r
from xce.model.job import Job
from xce.model.start import Allocation, Launch, Start

JOB_SET = {"state", "attempt", "start", "allocation", "launches", "not_before_us"}
START_SET = {"state", "passed_us", "wave", "wave_opened_us"}
LAUNCH_SET = {"go"}


def fold_short(state: State, record: r.Record) -> int:
    """Folds the record's facts and its changes up to those of arrays, if it is of that kind; gives
    how many changes that were: 0, with nothing changed, if it is not."""
    body = record.body
    assert isinstance(body, r.Planned)
    then, groups = body.then, body.groups
    count = 3 * len(groups)
    if body.bound or len(then) < count or any(change.what != "element" for change in then[count:]):
        return 0
    for at, planned in enumerate(groups):
        if not _is_short(planned, then[3 * at], then[3 * at + 1], then[3 * at + 2]):
            return 0
        if _placed(state, planned.members[0].job) is None:
            return 0
    state.lsn, state.epoch, state.at_us = record.lsn, record.epoch, record.at_us
    count_up(state, "session", body.session)
    for name, last in _last(groups[-1]) if groups else ():
        count_up(state, name, last)
    for at, planned in enumerate(groups):
        _fold(state, record, planned, then[3 * at : 3 * at + 3])
    return count


def _placed(state: State, key: int) -> Job | None:
    """The job, or the element that becomes one, that is placed."""
    return state.jobs.get(key) or waiting_element(state, key)


def _is_short(planned: r.PlannedGroup, job: r.Change, start: r.Change, launch: r.Change) -> bool:
    if planned.group or planned.claims or planned.attachments:
        return False
    if len(planned.members) != 1 or len(planned.launches) != 1:
        return False
    return (
        (job.what, start.what, launch.what) == ("job", "start", "launch")
        and job.key == planned.members[0].job == planned.launches[0].job
        and start.key == planned.start
        and launch.key == planned.launches[0].launch
        and job.set is not None
        and start.set is not None
        and launch.set is not None
        and job.set.keys() == JOB_SET
        and start.set.keys() == START_SET
        and launch.set.keys() == LAUNCH_SET
    )


def _last(planned: r.PlannedGroup) -> tuple[tuple[str, int], ...]:
    return (
        ("start", planned.start),
        ("allocation", planned.members[0].allocation),
        ("launch", planned.launches[0].launch),
    )


def _fold(
    state: State, record: r.Record, planned: r.PlannedGroup, then: tuple[r.Change, ...]
) -> None:
    (member,), (launch,) = planned.members, planned.launches
    of_job: dict[str, Any] = then[0].set or {}
    of_start: dict[str, Any] = then[1].set or {}
    of_launch: dict[str, Any] = then[2].set or {}
    numbers = (launch.launch,)
    start = Start(
        number=planned.start,
        group=0,
        kind=planned.kind,
        members=(member.job,),
        launches=numbers,
        attachments=(),
        claims=(),
        opened_us=record.at_us,
        deadline_us=planned.deadline_us,
        waves=1 + launch.wave,
        must_end_us=planned.must_end_us,
        **of_start,
    )
    state.put("start", planned.start, start)
    allocation = Allocation(
        number=member.allocation,
        job=member.job,
        attempt=member.attempt,
        shares=member.shares,
        launches=numbers,
        generation=record.lsn,
        alternative=member.alternative,
    )
    state.put("allocation", member.allocation, allocation)
    granted = Launch(
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
        tasks=next(share.tasks for share in member.shares if share.host == launch.host),
        generation=record.lsn,
        go=of_launch["go"],
    )
    state.put("launch", launch.launch, granted)
    state.index.settle()
    fields = {**of_job, "launches": tuple(of_job["launches"])}
    job = _placed(state, member.job)
    assert job is not None, "it was looked for"
    state.put("job", member.job, structs.replace(job, **fields))

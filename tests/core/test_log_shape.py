"""What every log looks like: order, causes, what is a record of its own and what only follows."""

from itertools import pairwise

import pytest

from tests.core.walk import play
from xce.model.records import Record

NEVER_FIRST = ("BarrierPassed", "WaveOpened", "RoleReady", "GroupEnded")
OF_THE_LOG = ("LeaderStarted", "ConfigLoaded", "SessionEnded", "CutClosed", "Tick")


@pytest.fixture(scope="module", params=[7, 77, 777])
def records(request: pytest.FixtureRequest) -> list[Record]:
    return play(request.param).world.records


def test_numbers_have_no_gap_and_time_and_epoch_never_go_back(records: list[Record]) -> None:
    assert [record.lsn for record in records] == list(range(1, len(records) + 1))
    for before, after in pairwise(records):
        assert before.at_us <= after.at_us
        assert before.epoch <= after.epoch


def test_records_of_one_cause_stand_side_by_side_in_one_moment(records: list[Record]) -> None:
    seen: dict[str, int] = {}
    for record in records:
        last = seen.get(record.cause)
        assert last is None or last == record.lsn - 1, f"cause {record.cause} comes twice"
        seen[record.cause] = record.lsn
    for before, after in pairwise(records):
        if before.cause == after.cause:
            assert (before.at_us, before.actor) == (after.at_us, after.actor)


def test_what_follows_from_something_stands_right_behind_it(records: list[Record]) -> None:
    for before, after in pairwise(records):
        if after.kind in NEVER_FIRST and after.actor != "system":
            assert before.cause == after.cause, f"{after.kind} {after.lsn} has no cause before it"


def test_every_record_of_work_names_what_it_is_about(records: list[Record]) -> None:
    nameless = [one.kind for one in records if not one.entities and one.kind not in OF_THE_LOG]
    assert nameless == []


_STATES = {"host": {"liveness", "admin"}, "element": {"to"}, "array": {"ended_us"}}


def test_every_transition_names_its_event_and_its_new_state(records: list[Record]) -> None:
    for record in records:
        for change in record.body.then:
            if change.event and change.set is not None:
                named = _STATES.get(change.what, {"state"})
                fields = named & set(change.set)
                assert fields, f"{record.kind} {record.lsn}: {change} moves nothing"


def test_a_barrier_is_passed_once_for_each_start_and_only_after_all_was_there(
    records: list[Record],
) -> None:
    passed: set[int] = set()
    for record in records:
        if record.kind != "BarrierPassed":
            continue
        body = record.body
        number = body.start  # type: ignore[attr-defined]
        assert number not in passed
        passed.add(number)
        planned = next(
            group
            for one in records
            if one.kind == "Planned"
            for group in one.body.groups  # type: ignore[attr-defined]
            if group.start == number
        )
        assert body.armed == len(planned.launches)  # type: ignore[attr-defined]
        assert body.ready == len(planned.attachments)  # type: ignore[attr-defined]

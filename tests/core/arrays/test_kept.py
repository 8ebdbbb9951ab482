"""Arrays in the log and in cuts: what is written folds to what is live."""

import msgspec
import pytest

from tests.core.arrays.worlds import world_of
from tests.core.lab import MINUTE_US, Life
from tests.kit.words import ANNA, array, job
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.arrays.elements import tally_of
from xce.controller.core.deciders import plan as decide_plan
from xce.controller.core.fold import apply as fold_apply
from xce.controller.core.fold.encode import digest
from xce.controller.recover import recover
from xce.model.config import SECOND_US
from xce.model.ids import job_key
from xce.wal.memory import MemoryLog


def test_cuts_and_recovery_keep_arrays_in_every_phase() -> None:
    world = world_of(slots=3)
    world.scripts.lives["1[3]"] = Life(run_us=SECOND_US, code=1)
    number = world.submit(array((1, 3_000, 1), limit=2))
    world.submit(array((7, 7_000, 7), held=True))
    world.run(10 * SECOND_US)
    world.ask_body(c.Kill(actor=ANNA, job=number, elements=((1_000, 2_000, 1),)))
    world.cut()
    world.run(10 * SECOND_US)
    world.change_leader()
    world.run(10 * SECOND_US)
    world.change_leader()
    again, _ = recover(MemoryLog(world.store))
    again.epoch = world.state.epoch
    assert digest(again) == digest(world.state)
    assert tally_of(world.state, number)["EXITED"] == 1_002


def test_the_short_way_of_a_plan_writes_and_folds_what_the_general_way_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def played() -> tuple[list[bytes], str]:
        world = world_of(slots=5, count=2)
        world.scripts.lives["2[3]", 1] = Life(prepare="fail")
        world.inbox += [(job(), None), (array((1, 40, 2), limit=7), None), (job(), None)]
        world.turn()
        world.submit(array((1, 6, 1), tasks=6))
        world.run(MINUTE_US)
        return [msgspec.json.encode(record) for record in world.records], digest(world.state)

    short = played()
    monkeypatch.setattr(decide_plan, "is_short", lambda *_: False)
    monkeypatch.setattr(fold_apply, "fold_short", lambda *_: 0)
    assert played() == short


def test_a_cut_of_a_big_array_is_one_row() -> None:
    world = World()
    world.submit(array((1, 1_000_000, 1)))
    world.cut()
    rows, close = world.cutter.next_slice()
    assert close is not None
    assert [row.kind for row in rows].count("job_array") == 1
    assert len(rows) < 10


def test_elements_that_were_killed_before_they_ran_are_requeued_whole_and_alone() -> None:
    world = world_of(slots=1)
    number = world.submit(array((1, 6, 1), held=True))
    early = world.ask(c.RequeueJob(actor=ANNA, job=number))
    assert isinstance(early, c.Rejection)
    assert early.message == "Job <1>: Job has not started yet"
    world.ask_body(c.Kill(actor=ANNA, job=number))
    assert world.state.arrays[number].ended_us
    refused = world.ask(c.RequeueJob(actor=ANNA, job=job_key(number, 2)))
    assert isinstance(refused, c.Rejection)
    assert refused.message == "Job <1[2]>: Job has already finished"
    alone = c.RequeueJob(actor=ANNA, job=job_key(number, 2), which=("exited",))
    assert world.ask_body(alone) == {"job": "1[2]", "state": "PENDING"}
    assert not world.state.arrays[number].ended_us
    world.rest()
    assert tally_of(world.state, number) == {"DONE": 1, "EXITED": 5}
    world.ask_body(c.RequeueJob(actor=ANNA, job=number, which=("exited",), held=True))
    assert tally_of(world.state, number) == {"DONE": 1, "HELD": 5}
    world.ask_body(c.Resume(actor=ANNA, job=number))
    world.rest()
    assert tally_of(world.state, number) == {"DONE": 6}
    missing = world.ask(c.RequeueJob(actor=ANNA, job=job_key(number, 7)))
    assert isinstance(missing, c.Rejection)
    assert missing.code == "not_found"

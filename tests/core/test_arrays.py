"""Job arrays: one record and a few letters until they are dispatched; counts are exact."""

import pytest

from tests.core.arrays.worlds import LONG, letters, running, world_of
from tests.core.lab import MINUTE_US, Life, kinds, lab, since
from tests.kit.words import ANNA, BERT, BOSS, array, job, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.arrays.elements import found_job, is_done, running_of, tally_of
from xce.controller.core.fold.encode import encode
from xce.model.config import SECOND_US
from xce.model.ids import job_key
from xce.model.job import Job


def test_a_million_elements_are_one_record_and_one_entity() -> None:
    world = World()
    lsn = world.state.lsn
    answer = world.ask_body(array((1, 1_000_000, 1)))
    assert answer["elements"] == 1_000_000
    assert [record.kind for record in since(world, lsn)] == ["JobSubmitted"]
    assert world.state.jobs == {}
    assert letters(world, 1) == {"P": 1_000_000}
    assert len(encode(world.state.arrays[1])) < 6_000
    assert sum(map(len, world.state.changed.values())) < 10


def test_elements_are_placed_in_the_order_of_their_indices() -> None:
    world = world_of(slots=3, life=LONG)
    number = world.submit(array((2, 10, 2), (21, 25, 1)))
    world.run(SECOND_US)
    assert running(world, number) == [2, 4, 6]
    assert letters(world, number) == {"J": 3, "P": 7}
    assert tally_of(world.state, number) == {"PENDING": 7, "RUNNING": 3}


def test_the_slot_limit_bounds_what_runs_at_once_and_all_of_it_runs_in_the_end() -> None:
    world = world_of(slots=8)
    number = world.submit(array((1, 10, 1), limit=3))
    most = 0
    while not world.state.arrays[number].ended_us:
        assert world.advance(world.now_us + MINUTE_US)
        most = max(most, running_of(world.state, number))
    assert most == 3
    assert tally_of(world.state, number) == {"DONE": 10}
    assert is_done(world.state, number)
    ran = [one.job for one in world.ledger.executed]
    assert [int(key) >> 32 for key in ran] == list(range(1, 11))


def test_what_waits_for_the_slot_limit_is_told_with_its_numbers() -> None:
    world = world_of(slots=8, life=LONG)
    world.submit(array((1, 10, 1), limit=3))
    world.run(SECOND_US)
    for name in ("1[4]", "1[10]", "1"):
        why = world.sessions.reason_for(name)
        assert why is not None
        assert why.text() == "array limit 3: 3 running"
    assert world.sessions.reason_for("1[11]") is None


def test_elements_without_a_slot_have_the_reason_of_their_class() -> None:
    world = world_of(slots=2, life=LONG)
    world.submit(array((1, 5, 1)))
    world.run(SECOND_US)
    why = world.sessions.reason_for("1[4]")
    assert why is not None
    assert why.text() == "needs 1 slots on one host; best host n1 has 0 free"


def test_arrays_at_their_limit_do_not_stand_in_the_way_of_their_class() -> None:
    """Found by random arrays: full ones used up the few waiters of a class that were looked at."""
    world = world_of(slots=5, life=LONG)
    for limit in (1, 1, 1, 0):
        world.submit(array((1, 9, 1), limit=limit))
    world.run(SECOND_US)
    assert [running(world, number) for number in (1, 2, 3, 4)] == [[1], [1], [1], [1, 2]]
    world.ask_body(c.Kill(actor=ANNA, job=job_key(4, 1)))
    world.run(MINUTE_US)
    assert running(world, 4) == [2, 3]


def test_one_record_changes_the_slot_limit_in_both_directions() -> None:
    world = world_of(slots=8, life=LONG)
    number = world.submit(array((1, 10, 1), limit=2))
    world.run(SECOND_US)
    assert running(world, number) == [1, 2]
    told = world.ask_body(c.LimitArray(actor=ANNA, job=number, limit=5))
    assert told == {"job": "1", "limit": 5, "changed": True}
    world.run(SECOND_US)
    assert running(world, number) == [1, 2, 3, 4, 5]
    world.ask_body(c.LimitArray(actor=ANNA, job=number, limit=1))
    world.run(SECOND_US)
    assert running(world, number) == [1, 2, 3, 4, 5]
    why = world.sessions.reason_for("1[6]")
    assert why is not None
    assert why.text() == "array limit 1: 5 running"
    world.ask_body(c.LimitArray(actor=ANNA, job=number, limit=0))
    world.run(SECOND_US)
    assert running(world, number) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_plan_made_before_the_limit_fell_is_cut_to_it() -> None:
    world = world_of(slots=8, life=LONG)
    world.inbox.append((array((1, 8, 1)), None))
    world.step([command for command, _ in world.inbox])
    world.inbox.clear()
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    world.step([c.LimitArray(actor=ANNA, job=1, limit=2)])
    for slice_ in world.sessions.slices(work):
        world.sessions.committed(work, world.step([slice_]))
    assert running(world, 1) == [1, 2]
    assert work.stale == 6


def test_a_kill_of_a_million_is_one_record_of_one_range() -> None:
    world = World()
    world.submit(array((1, 1_000_000, 1)))
    lsn = world.state.lsn
    world.ask_body(c.Kill(actor=ANNA, job=1))
    (record,) = since(world, lsn)
    assert record.kind == "KillAsked"
    assert record.entities == ("1",)
    assert [change.set for change in record.body.then if change.what == "element"] == [
        {"indices": [[1, 1_000_000, 1]], "to": "K"}
    ]
    assert tally_of(world.state, 1) == {"EXITED": 1_000_000}
    assert world.state.arrays[1].ended_us == world.now_us
    world.run(world.config.clean_period_us + MINUTE_US)
    assert world.state.arrays == {}
    assert kinds(world, "1") == ["JobSubmitted", "KillAsked", "Retired"]
    assert world.writer.finished("1") is not None


def test_a_kill_of_a_range_takes_what_waits_and_what_runs_of_it() -> None:
    world = world_of(slots=3, life=LONG)
    number = world.submit(array((1, 10, 1)))
    world.run(SECOND_US)
    world.ask_body(c.Kill(actor=ANNA, job=number, elements=((3, 9, 3),)))
    world.run(MINUTE_US)
    # 3 ran and was stopped, so 4 took its place; 6 and 9 waited.
    assert running(world, number) == [1, 2, 4]
    assert tally_of(world.state, number) == {"EXITED": 3, "RUNNING": 3, "PENDING": 4}
    assert letters(world, number) == {"J": 4, "K": 2, "P": 4}
    again = world.ask(c.Kill(actor=ANNA, job=number, elements=((3, 9, 3),)))
    assert isinstance(again, c.Rejection)
    assert again.message == "Job <1[3-9:3]>: Job has already finished"


def test_one_element_is_killed_by_its_own_name() -> None:
    world = world_of(slots=1, life=LONG)
    number = world.submit(array((1, 3, 1)))
    world.run(SECOND_US)
    told = world.ask_body(c.Kill(actor=ANNA, job=job_key(number, 2)))
    assert told == {"job": "1[2]", "state": "EXITED"}
    assert kinds(world, "1[2]") == ["KillAsked"]
    told = world.ask_body(c.Kill(actor=ANNA, job=job_key(number, 1)))
    assert told == {"job": "1[1]", "state": "ENDING"}
    world.run(MINUTE_US)
    assert running(world, number) == [3]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (c.Kill(actor=ANNA, job=job_key(1, 11)), "not_found", "Job <1[11]>: No matching job found"),
        (
            c.Kill(actor=ANNA, job=1, elements=((11, 12, 1),)),
            "not_found",
            "Job <1[11-12]>: No matching job found",
        ),
        (c.Kill(actor=ANNA, job=2), "not_found", "Job <2>: No matching job found"),
        (c.Kill(actor=BERT, job=1), "not_allowed", "Job <1>: User permission denied"),
        (c.Suspend(actor=BERT, job=1), "not_allowed", "Job <1>: User permission denied"),
        (
            c.LimitArray(actor=BERT, job=1, limit=1),
            "not_allowed",
            "Job <1>: User permission denied",
        ),
        (
            c.LimitArray(actor=ANNA, job=job_key(1, 3), limit=1),
            "conflict",
            "Job <1[3]>: the limit is one of the whole array",
        ),
    ],
)
def test_what_cannot_be_asked_changes_nothing(command: c.Command, code: str, said: str) -> None:
    world = World()
    world.submit(array((1, 10, 1)))
    lsn = world.state.lsn
    answer = world.ask(command)
    assert isinstance(answer, c.Rejection)
    assert (answer.code, answer.message) == (code, said)
    assert world.state.lsn == lsn


def test_elements_are_held_and_let_go_whole_and_in_part() -> None:
    world = world_of(slots=2, life=LONG)
    number = world.submit(array((1, 9, 1), held=True))
    world.run(SECOND_US)
    assert tally_of(world.state, number) == {"HELD": 9}
    world.ask_body(c.Resume(actor=ANNA, job=number, elements=((4, 6, 1),)))
    world.run(SECOND_US)
    assert running(world, number) == [4, 5]
    assert tally_of(world.state, number) == {"HELD": 6, "RUNNING": 2, "PENDING": 1}
    world.ask_body(c.Suspend(actor=ANNA, job=job_key(number, 6)))
    assert tally_of(world.state, number) == {"HELD": 7, "RUNNING": 2}
    world.ask_body(c.Resume(actor=ANNA, job=number))
    assert tally_of(world.state, number) == {"PENDING": 7, "RUNNING": 2}


def test_elements_that_run_are_stopped_each_for_itself_and_let_others_run() -> None:
    world = world_of(slots=2, life=LONG)
    number = world.submit(array((1, 5, 1)))
    world.run(SECOND_US)
    assert running(world, number) == [1, 2]
    lsn = world.state.lsn
    world.ask_body(c.Suspend(actor=ANNA, job=number, elements=((1, 3, 1),)))
    world.run(SECOND_US)
    kinds = [record.kind for record in world.writer.log.read(lsn + 1)]
    assert kinds[:2] == ["JobChanged", "SuspendAsked"], "what waits is held, what runs is stopped"
    stopped = [one for one in (1, 2) if world.state.jobs[job_key(number, one)].resume_us == 0]
    assert [world.state.jobs[job_key(number, one)].suspension for one in stopped] == [
        "SUSPENDED", "SUSPENDED"
    ]  # fmt: skip
    assert running(world, number) == [1, 2, 4, 5]
    world.ask_body(c.Suspend(actor=ANNA, job=job_key(number, 1)))
    world.ask_body(c.Kill(actor=ANNA, job=job_key(number, 4)))
    world.ask_body(c.Resume(actor=ANNA, job=number))
    world.run(SECOND_US)
    states = [world.state.jobs[job_key(number, one)].suspension for one in (1, 2)]
    assert states == ["ACTIVE", "SUSPENDED"]


def test_elements_come_before_what_was_submitted_later_and_after_what_came_before() -> None:
    world = world_of(slots=1)
    world.inbox += [(job(), None), (array((1, 2, 1)), None), (job(), None)]
    world.turn()
    world.run(MINUTE_US)
    ran = [int(one.job) for one in world.ledger.executed]
    assert ran == [1, job_key(2, 1), job_key(2, 2), 3]


def test_an_element_whose_start_failed_is_tried_again_before_the_next_ones() -> None:
    world = world_of(slots=1)
    world.scripts.lives["1[2]", 1] = Life(prepare="fail")
    number = world.submit(array((1, 30, 1)))
    world.run(MINUTE_US * 5)
    ran = [int(one.job) >> 32 for one in world.ledger.executed]
    assert sorted(ran) == list(range(1, 31))
    at = ran.index(2)
    assert 2 < at < 29
    assert tally_of(world.state, number) == {"DONE": 30}


def test_ended_elements_become_letters_and_the_array_leaves_with_the_last() -> None:
    world = world_of(slots=8)
    world.scripts.lives["1[2]"] = Life(run_us=SECOND_US, code=3)
    world.scripts.lives["1[4]"] = Life(run_us=30 * MINUTE_US)
    number = world.submit(array((1, 4, 1)))
    world.run(world.config.clean_period_us + 5 * MINUTE_US)
    assert letters(world, number) == {"D": 2, "X": 1, "J": 1}
    assert world.state.arrays[number].exit_code == 3
    assert tally_of(world.state, number) == {"DONE": 3, "EXITED": 1}
    assert not is_done(world.state, number)
    assert kinds(world, "1[2]")[-1] == "Retired"
    assert world.writer.finished("1[2]") is not None
    world.run(world.config.clean_period_us)
    assert world.state.arrays == {}
    assert world.state.jobs == {}
    assert world.state.index.users == {}
    assert world.state.index.elements.keys == {}


def test_many_elements_leave_in_few_records() -> None:
    world = world_of(slots=50)
    world.submit(array((1, 200, 1)))
    world.run(MINUTE_US)
    lsn = world.state.lsn
    world.run(world.config.clean_period_us + MINUTE_US)
    assert world.state.jobs == {}
    retired = [record for record in since(world, lsn) if record.kind == "Retired"]
    assert len(retired) <= 5


def test_any_element_can_be_looked_at_as_the_job_that_it_is_or_will_be() -> None:
    world = world_of(slots=1, life=LONG)
    number = world.submit(array((1, 3, 1), name="sweep"))
    world.ask_body(c.Kill(actor=ANNA, job=job_key(number, 3)))
    world.run(SECOND_US)
    found = [found_job(world.state, job_key(number, index)) for index in (1, 2, 3)]
    assert all(isinstance(one, Job) for one in found)
    assert [(one.name, one.state) for one in found if one] == [
        ("sweep[1]", "RUNNING"),
        ("sweep[2]", "PENDING"),
        ("sweep[3]", "EXITED"),
    ]
    assert found_job(world.state, job_key(number, 4)) is None


def test_an_element_knows_its_index_step_and_end() -> None:
    world = world_of(slots=1, life=LONG)
    spec = array((4, 10, 3), (20, 20, 1), name="sweep", stdout="out.%J.%I", stdin="in.%I")
    world.submit(spec)
    world.run(SECOND_US)
    (here,) = world.agents["n1"].launches.values()
    assert here.task is not None
    assert (here.task.job, here.task.stdout, here.task.stdin) == ("1[4]", "out.1.4", "in.4")
    told = {name: value for name, value in here.task.env.items() if "JOB" in name}
    assert told == {
        "XCE_JOB": "1[4]",
        "LSB_JOBID": "1",
        "LSB_JOBINDEX": "4",
        "LSB_JOBINDEX_STEP": "3",
        "LSB_JOBINDEX_END": "20",
        "LSB_JOBNAME": "sweep[4]",
        "LSB_DJOB_NUMPROC": "1",
    }


def test_an_index_beyond_what_the_site_allows_is_refused() -> None:
    world = lab(1)
    world.config = settings(array_size_max=1000)
    world.ask(c.LoadConfig(actor=BOSS, config=world.config, digest="d"))
    assert isinstance(world.ask(array((1, 1001, 1))), c.Rejection)
    refused = world.ask(array((5, 5, 1), (1001, 1001, 1)))
    assert isinstance(refused, c.Rejection)
    assert refused.message == "Job array index too large: 1001 is beyond 1000"
    world.submit(array((1, 1000, 1)))

"""Kill, hold and release, in every state of a job and of a gang."""

import pytest

from tests.core.lab import (
    Life,
    Provision,
    armed,
    kinds,
    lab,
    nothing_held,
    pair,
    states,
    until_state,
)
from tests.kit.words import ANNA, BERT, BOSS, OPS, job
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.actor import Actor
from xce.model.config import SECOND_US
from xce.model.group import FailureRule


def kill_job(world: World, key: int, actor: Actor = ANNA) -> dict[str, object]:
    return world.ask_body(c.Kill(actor=actor, job=key))


def test_a_waiting_job_is_killed_at_once() -> None:
    world = lab(1, slots=1)
    world.submit(job(2))
    assert kill_job(world, 1) == {"job": "1", "state": "EXITED"}
    assert world.exit_of(1).reason == "killed"
    assert world.exit_of(1).by == "user:1000"
    assert kinds(world, "1") == ["JobSubmitted", "KillAsked"]
    world.ledger.assert_whole()


def test_a_held_job_is_killed_at_once() -> None:
    world = lab()
    world.submit(job(held=True))
    assert kill_job(world, 1)["state"] == "EXITED"
    world.ledger.assert_whole()


def test_a_starting_job_ends_when_its_host_says_that_nothing_is_left() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(prepare="hang")
    world.submit(job())
    assert world.state.jobs[1].state == "STARTING"
    assert kill_job(world, 1)["state"] == "ENDING"
    assert not nothing_held(world)
    world.rest()
    assert world.state.jobs[1].state == "EXITED"
    assert world.exit_of(1).reason == "killed"
    assert world.ledger.executed == []
    world.ledger.assert_whole()


def test_a_job_killed_before_its_barrier_never_runs_and_is_not_started_again() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(prepare="hang")
    world.submit(job(2, "span[ptile=1]"))
    assert world.state.starts[1].state == "OPEN"
    kill_job(world, 1)
    assert kinds(world, "1") == ["JobSubmitted", "Planned", "KillAsked", "StartFailed"]
    world.rest()
    ended = world.state.jobs[1]
    assert (ended.state, ended.attempt, ended.start_failures) == ("EXITED", 1, 0)
    assert world.ledger.executed == []
    world.ledger.assert_whole()


def test_a_running_job_is_stopped_and_then_ended() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job(2, "span[ptile=1]"))
    until_state(world, "job", 1, "RUNNING")
    assert kill_job(world, 1)["state"] == "ENDING"
    assert kill_job(world, 1)["state"] == "ENDING"
    world.rest(10 * SECOND_US)
    assert world.state.jobs[1].state == "EXITED"
    assert (world.exit_of(1).how, world.exit_of(1).code) == ("signalled", 15)
    assert world.exit_of(1).reason == "killed"
    assert kinds(world, "1").count("KillAsked") == 1
    world.ledger.assert_whole()


def test_an_ended_job_is_not_killed_again() -> None:
    world = lab()
    world.submit(job())
    world.rest()
    answer = world.ask(c.Kill(actor=ANNA, job=1))
    assert isinstance(answer, c.Rejection)
    assert (answer.code, answer.message) == ("conflict", "Job <1>: Job has already finished")


@pytest.mark.parametrize(("job_", "group"), [(7, 0), (0, 7)])
def test_what_is_not_there_is_not_found(job_: int, group: int) -> None:
    answer = lab().ask(c.Kill(actor=ANNA, job=job_, group=group))
    assert isinstance(answer, c.Rejection)
    assert answer.code == "not_found"


def test_only_the_owner_an_operator_and_an_admin_may_kill() -> None:
    world = lab(1, slots=1)
    for _ in range(3):
        world.submit(job(2))
    answer = world.ask(c.Kill(actor=BERT, job=1))
    assert isinstance(answer, c.Rejection)
    assert (answer.code, answer.message) == ("not_allowed", "Job <1>: User permission denied")
    assert world.state.jobs[1].state == "PENDING"
    for key, actor in ((1, ANNA), (2, OPS), (3, BOSS)):
        assert kill_job(world, key, actor)["state"] == "EXITED"


# -- gangs ----------------------------------------------------------------------------------------


def test_a_waiting_gang_is_killed_whole_and_at_once() -> None:
    world = lab(1)
    world.submit_gang(pair())
    assert world.state.groups[1].state == "PENDING"
    assert world.ask_body(c.Kill(actor=ANNA, group=1))["state"] == "EXITED"
    assert states(world, "job") == {1: "EXITED", 2: "EXITED"}
    assert kinds(world, "g1") == ["GroupSubmitted", "KillAsked", "GroupEnded"]
    assert world.exit_of(2).reason == "killed"
    world.ledger.assert_whole()


def test_a_starting_gang_never_runs_and_ends_once_nothing_of_it_is_left() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(how="hang")
    world.submit_gang(pair())
    world.run_until(lambda: armed(world))
    assert world.ask_body(c.Kill(actor=ANNA, group=1))["state"] == "ENDING"
    assert kinds(world, "g1")[-2:] == ["KillAsked", "StartFailed"]
    assert world.state.starts[1].state == "FAILED"
    world.rest()
    group = world.state.groups[1]
    assert (group.state, group.reason, group.start_failures) == ("EXITED", "killed", 0)
    assert states(world, "job") == {1: "EXITED", 2: "EXITED"}
    assert world.ledger.executed == []
    assert nothing_held(world)
    world.ledger.assert_whole()


def test_a_running_gang_is_stopped_whole() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit_gang(pair())
    until_state(world, "group", 1, "RUNNING")
    world.run_until(lambda: set(states(world, "job").values()) == {"RUNNING"})
    assert world.ask_body(c.Kill(actor=ANNA, group=1))["state"] == "ENDING"
    world.rest()
    assert states(world, "job") == {1: "EXITED", 2: "EXITED"}
    assert [world.exit_of(key).reason for key in (1, 2)] == ["killed", "killed"]
    assert "GroupDecided" not in kinds(world, "g1")
    world.ledger.assert_whole()


def test_killing_one_member_ends_its_gang() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit_gang(pair())
    until_state(world, "group", 1, "RUNNING")
    answer = world.ask_body(c.Kill(actor=ANNA, job=2))
    assert answer == {"group": "g1", "state": "ENDING"}
    world.rest()
    assert world.state.groups[1].reason == "member 2 was killed"
    world.ledger.assert_whole()


def test_a_gang_that_retracts_ends_instead_of_running_again() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None, kill_us=20 * SECOND_US)
    world.scripts.lives["1", 1] = Life(run_us=SECOND_US, code=1)
    world.submit_gang(pair(rules=[FailureRule(action="restart_group")]))
    until_state(world, "group", 1, "RETRACTING")
    assert world.ask_body(c.Kill(actor=ANNA, group=1))["state"] == "ENDING"
    world.rest()
    assert world.state.groups[1].state == "EXITED"
    assert [one.attempt for one in world.ledger.executed] == [1, 1]
    world.ledger.assert_whole()


def test_an_ending_gang_is_not_killed_twice() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit_gang(pair())
    until_state(world, "group", 1, "RUNNING")
    for _ in range(2):
        assert world.ask_body(c.Kill(actor=ANNA, group=1))["state"] == "ENDING"
    assert kinds(world, "g1").count("KillAsked") == 1
    world.rest()
    answer = world.ask(c.Kill(actor=ANNA, group=1))
    assert isinstance(answer, c.Rejection)
    assert answer.message == "Group <g1>: Group has already finished"


def test_a_finished_member_keeps_its_end_when_its_gang_is_killed() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.scripts.lives["1"] = Life(run_us=SECOND_US)
    world.submit_gang(pair())
    until_state(world, "job", 1, "FINISHED")
    world.ask_body(c.Kill(actor=ANNA, group=1))
    world.rest()
    assert states(world, "job") == {1: "DONE", 2: "EXITED"}
    assert world.state.groups[1].state == "EXITED"
    world.ledger.assert_whole()


def test_a_silent_host_keeps_a_killed_job_ending_and_what_it_holds() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    world.mute("n1")
    kill_job(world, 1)
    world.run(600 * SECOND_US)
    assert world.state.hosts["n1"].liveness == "DOWN"
    assert world.state.jobs[1].state == "ENDING"
    assert world.state.index.used["n1"]["slots"] == 1
    world.unmute("n1")
    world.rest()
    assert world.state.jobs[1].state == "EXITED"
    world.ledger.assert_whole()


# -- hold and release -----------------------------------------------------------------------------


def test_a_held_job_waits_until_it_is_let_go() -> None:
    world = lab()
    world.submit(job())
    world.rest()
    world.submit(job(held=True))
    world.run(60 * SECOND_US)
    assert world.state.jobs[2].state == "HELD"
    body = world.ask_body(c.Resume(actor=ANNA, job=2))
    assert body == {"job": "2", "state": "PENDING", "suspension": "ACTIVE"}
    world.rest()
    assert world.state.jobs[2].state == "DONE"


def test_holding_twice_is_one_record() -> None:
    world = lab(1, slots=1)
    world.submit(job(2))
    for _ in range(2):
        assert world.ask_body(c.Suspend(actor=ANNA, job=1))["state"] == "HELD"
    assert kinds(world, "1") == ["JobSubmitted", "JobChanged"]


def test_a_job_held_between_the_snapshot_and_the_commit_is_stale() -> None:
    world = lab(1)
    world.submit(job())
    world.rest()
    world.step([job()])
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    world.step([c.Suspend(actor=ANNA, job=2)])
    (slice_,) = world.sessions.slices(work)
    world.sessions.committed(work, world.step([slice_]))
    assert (work.planned, work.stale) == (0, 1)
    assert world.state.jobs[2].state == "HELD"

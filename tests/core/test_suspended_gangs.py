"""Gangs are suspended and resumed whole; what fails meanwhile is judged as always."""

from typing import Any

from tests.core.lab import MINUTE_US, Life, kinds, lab, until_state
from tests.core.suspended import FOR_EVER, stop, used
from tests.kit.words import ANNA, gang, job, port, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import SECOND_US
from xce.model.group import FailureRule, Readiness


def gang_of(world: World, *roles: Any, **rest: Any) -> int:
    world.scripts.default = lambda name, attempt: FOR_EVER
    number = world.submit_gang(gang(*roles, **rest))
    until_state(world, "group", number, "RUNNING")
    world.run(SECOND_US)
    return number


def suspensions(world: World) -> list[str]:
    return [job.suspension for _, job in sorted(world.state.jobs.items())]


def test_a_gang_is_suspended_and_resumed_whole() -> None:
    world = lab(2, slots=4)
    number = gang_of(world, role("worker", 2, tasks=4))
    stop(world, group=number)
    assert suspensions(world) == ["SUSPENDED", "SUSPENDED"]
    assert kinds(world, "g1").count("SuspendAsked") == 1
    assert used(world, "n1") == used(world, "n2") == {}
    world.scripts.lives["3"] = Life(run_us=20 * SECOND_US)
    world.submit(job(1))
    world.run(SECOND_US)
    world.ask_body(c.Resume(actor=ANNA, group=number))
    world.run(SECOND_US)
    assert suspensions(world)[:2] == ["SUSPENDED", "SUSPENDED"], "all or nothing"
    why = world.sessions.reason_for("g1")
    assert why is not None
    assert "needs 4 slots back on n" in why.text()
    world.run(30 * SECOND_US)
    assert suspensions(world)[:2] == ["ACTIVE", "ACTIVE"]
    assert used(world, "n1") == used(world, "n2") == {"slots": 4}


def test_a_member_alone_is_refused() -> None:
    world = lab(2)
    gang_of(world, role("worker", 2))
    for command in (c.Suspend(actor=ANNA, job=1), c.Resume(actor=ANNA, job=1)):
        answer = world.ask(command)
        assert isinstance(answer, c.Rejection)
        assert answer.code == "conflict"
        assert answer.message == (
            "Job <1>: it is a member of group <g1>, which is suspended and resumed whole"
        )


def test_a_waiting_gang_is_held_whole_and_let_go() -> None:
    world = lab(1, slots=2)
    world.scripts.lives["1"] = Life(run_us=10 * SECOND_US)
    world.submit(job(2))
    world.run(SECOND_US)
    number = world.submit_gang(gang(role("worker", 2)))
    world.ask_body(c.Suspend(actor=ANNA, group=number))
    assert [world.state.jobs[key].state for key in (2, 3)] == ["HELD", "HELD"]
    world.run(MINUTE_US)
    assert world.state.groups[number].state == "PENDING"
    world.ask_body(c.Resume(actor=ANNA, group=number))
    until_state(world, "group", number, "DONE")


def test_a_failure_of_a_suspended_gang_is_judged_and_a_restart_ends_the_suspension() -> None:
    world = lab(3, slots=4)
    rule = FailureRule(reasons=("host_lost",), action="restart_group", max_times=1)
    number = gang_of(world, role("worker", 2, tasks=4), rules=(rule,))
    stop(world, group=number)
    host = world.state.launches[1].host
    world.mute(host)
    world.run(2 * MINUTE_US)
    world.lose(host)
    until_state(world, "group", number, "RUNNING")
    world.run(5 * SECOND_US)
    assert suspensions(world) == ["ACTIVE", "ACTIVE"]
    assert [world.state.jobs[key].attempt for key in (1, 2)] == [2, 2]
    assert [world.state.jobs[key].suspended_us for key in (1, 2)] == [0, 0]


def test_no_wave_opens_while_the_gang_is_suspended_and_its_time_stands_still() -> None:
    world = lab(2, slots=8)
    world.scripts.default = lambda name, attempt: Life(run_us=None, ready_us=4 * SECOND_US)
    launcher = role("launcher", 1, ready=Readiness(kind="port", port="rendezvous"))
    worker = role("worker", 2, depends_on=("launcher",))
    number = world.submit_gang(
        gang(launcher, worker, claims=(port(),), ready_timeout_us=10 * SECOND_US)
    )
    until_state(world, "job", 1, "RUNNING")
    world.ask_body(c.Suspend(actor=ANNA, group=number))
    world.run(5 * MINUTE_US)
    assert world.state.groups[number].state == "RUNNING"
    assert [one.go for _, one in sorted(world.state.launches.items())] == [True, False, False]
    world.ask_body(c.Resume(actor=ANNA, group=number))
    world.run(10 * SECOND_US)
    assert world.state.groups[number].state == "RUNNING"
    assert all(one.go for one in world.state.launches.values())
    assert suspensions(world) == ["ACTIVE"] * 3


def test_a_gang_that_is_ready_only_after_its_time_fails_though_it_was_suspended() -> None:
    world = lab(2, slots=8)
    world.scripts.default = lambda name, attempt: Life(run_us=None, ready_us=40 * SECOND_US)
    launcher = role("launcher", 1, ready=Readiness(kind="port", port="rendezvous"))
    number = world.submit_gang(
        gang(
            launcher, role("worker", 1, depends_on=("launcher",)), claims=(port(),),
            ready_timeout_us=20 * SECOND_US,
        )
    )  # fmt: skip
    until_state(world, "job", 1, "RUNNING")
    world.ask_body(c.Suspend(actor=ANNA, group=number))
    world.run(15 * SECOND_US)
    world.ask_body(c.Resume(actor=ANNA, group=number))
    world.run(15 * SECOND_US)
    assert world.state.groups[number].state == "RUNNING"
    world.run(10 * SECOND_US)
    assert world.state.groups[number].state in ("ENDING", "EXITED")


def test_a_member_that_ended_just_before_is_over_while_its_gang_is_suspended() -> None:
    world = lab(2, slots=4)
    world.scripts.default = lambda name, attempt: Life(run_us=20 * SECOND_US)
    world.scripts.lives["1"] = Life(run_us=2 * SECOND_US)
    number = world.submit_gang(gang(role("worker", 2, tasks=4)))
    until_state(world, "job", 1, "RUNNING")
    for name in ("n1", "n2"):
        world.mute(name)
    world.step([c.Suspend(actor=ANNA, group=number)])
    world.run(5 * SECOND_US)
    for name in ("n1", "n2"):
        world.unmute(name)
    until_state(world, "job", 1, "FINISHED")
    world.run(SECOND_US)
    assert suspensions(world) == ["ACTIVE", "SUSPENDED"]
    world.ask_body(c.Resume(actor=ANNA, group=number))
    until_state(world, "group", number, "DONE")


def waves(world: World) -> int:
    """A gang of a launcher of one task, which runs, and a worker of three, which is parked."""
    world.scripts.default = lambda name, attempt: Life(run_us=None, ready_us=MINUTE_US)
    launcher = role("launcher", 1, ready=Readiness(kind="port", port="rendezvous"))
    worker = role("worker", 1, tasks=3, depends_on=("launcher",))
    number = world.submit_gang(gang(launcher, worker, claims=(port(),)))
    until_state(world, "job", 1, "RUNNING")
    return number


def test_a_parked_member_lends_at_once_for_nothing_of_it_runs() -> None:
    world = lab(1, slots=4)
    number = waves(world)
    world.step([c.Suspend(actor=ANNA, group=number)])
    assert used(world)["slots"] == 1, "the launcher runs yet"
    world.run(SECOND_US)
    assert "slots" not in used(world)
    world.ask_body(c.Resume(actor=ANNA, group=number))
    world.run(SECOND_US)
    assert suspensions(world) == ["ACTIVE", "ACTIVE"]
    assert used(world)["slots"] == 4


def test_a_member_that_is_frozen_late_lends_though_its_gang_is_to_go_on() -> None:
    world = lab(2, slots=4)
    world.scripts.default = lambda name, attempt: FOR_EVER
    world.submit(job(8))
    world.run(SECOND_US)
    stop(world, job=1)
    number = world.submit_gang(gang(role("worker", 2, tasks=4)))
    until_state(world, "group", number, "RUNNING")
    world.run(SECOND_US)
    world.mute("n2")
    world.ask_body(c.Suspend(actor=ANNA, group=number))
    world.run(SECOND_US)
    for named in ({"job": 1}, {"group": number}):
        world.ask_body(c.Resume(actor=ANNA, **named))
    world.unmute("n2")
    world.run(10 * SECOND_US)
    assert suspensions(world) == ["ACTIVE", "SUSPENDED", "SUSPENDED"], "who came first is first"

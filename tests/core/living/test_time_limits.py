"""Begin time, run limit, termination time on the virtual clock: at their moment, never before."""

import pytest
from msgspec import structs

from tests.core.lab import MINUTE_US, SECOND_US, Life, kinds, lab, nothing_held, until_state
from tests.kit.words import gang, job, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.timers import NET_US
from xce.model.group import FailureRule
from xce.model.records import KillAsked, Planned
from xce.scheduler.reasons import Code

HALF_US = 30 * MINUTE_US


def endless(world: World) -> World:
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    return world


def planned_at(world: World) -> int:
    return next(record.at_us for record in world.records if isinstance(record.body, Planned))


def test_a_job_begins_at_its_begin_time_and_not_a_microsecond_before() -> None:
    world = lab()
    begin_us = world.now_us + HALF_US
    key = world.submit(job(begin_us=begin_us))
    world.run(begin_us - world.now_us - 1)
    assert world.now_us == begin_us - 1
    assert world.state.jobs[key].state == "PENDING"
    reason = world.sessions.reason_for(str(key))
    assert reason is not None
    assert reason.code == Code.BEGIN_TIME
    assert reason.text() == "the job has a specified start time: 1970-01-12 14:16:40 UTC"
    until_state(world, "job", key, "DONE")
    assert begin_us <= planned_at(world) <= begin_us + 2_000


def test_a_begin_time_that_is_past_is_met() -> None:
    world = lab()
    key = world.submit(job(begin_us=world.now_us - 1))
    assert world.state.jobs[key].not_before_us == 0
    until_state(world, "job", key, "DONE")


def test_a_held_job_whose_begin_time_passed_begins_when_it_is_let_go() -> None:
    world = lab()
    key = world.submit(job(begin_us=world.now_us + HALF_US, held=True))
    world.run(2 * HALF_US)
    assert world.state.jobs[key].state == "HELD"
    world.ask_body(c.Resume(actor=job().actor, job=key))
    until_state(world, "job", key, "DONE")


def test_a_begin_time_outlives_a_change_of_leader() -> None:
    world = lab()
    begin_us = world.now_us + HALF_US
    key = world.submit(job(begin_us=begin_us))
    world.run(MINUTE_US)
    world.change_leader()
    until_state(world, "job", key, "DONE")
    assert planned_at(world) >= begin_us


def test_a_run_limit_is_enforced_by_the_host_and_named_as_the_reason() -> None:
    world = endless(lab())
    key = world.submit(job(run_limit_us=10 * MINUTE_US))
    until_state(world, "job", key, "RUNNING")
    started_us = world.state.jobs[key].started_us
    until_state(world, "job", key, "EXITED")
    ended = world.exit_of(key)
    assert (ended.how, ended.code, ended.reason) == ("signalled", 15, "run_limit")
    assert 0 <= world.state.jobs[key].ended_us - started_us - 10 * MINUTE_US < SECOND_US
    assert "KillAsked" not in kinds(world, str(key))
    assert nothing_held(world)


def test_the_controller_is_the_second_net_of_a_run_limit() -> None:
    world = endless(lab())
    for agent in world.agents.values():
        agent.enforces = False
    key = world.submit(job(run_limit_us=10 * MINUTE_US))
    until_state(world, "job", key, "RUNNING")
    started_us = world.state.jobs[key].started_us
    world.run(started_us + 10 * MINUTE_US + NET_US - 1 - world.now_us)
    assert world.state.jobs[key].state == "RUNNING"
    assert "KillAsked" not in kinds(world, str(key))
    until_state(world, "job", key, "EXITED")
    asked = [record for record in world.records if isinstance(record.body, KillAsked)]
    assert [one.body.reason for one in asked] == ["run_limit"]
    assert asked[0].at_us == started_us + 10 * MINUTE_US + NET_US
    assert world.exit_of(key).reason == "run_limit"


def test_a_job_within_its_run_limit_is_left_alone() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=9 * MINUTE_US)
    key = world.submit(job(run_limit_us=10 * MINUTE_US))
    until_state(world, "job", key, "DONE")
    world.run(HALF_US)
    assert "KillAsked" not in kinds(world, str(key))


def test_a_pending_job_ends_at_its_termination_time_and_not_before() -> None:
    world = endless(lab(1, slots=1))
    world.submit(job())
    end_us = world.now_us + HALF_US
    key = world.submit(job(terminate_us=end_us))
    world.run(end_us - 1 - world.now_us)
    assert world.state.jobs[key].state == "PENDING"
    until_state(world, "job", key, "EXITED")
    assert world.state.jobs[key].ended_us == end_us
    ended = world.exit_of(key)
    assert (ended.how, ended.reason) == ("none", "deadline")


def test_a_held_job_ends_at_its_termination_time_too() -> None:
    world = lab()
    key = world.submit(job(terminate_us=world.now_us + HALF_US, held=True))
    until_state(world, "job", key, "EXITED")
    assert world.exit_of(key).reason == "deadline"


@pytest.mark.parametrize("enforces", [True, False])
def test_a_running_job_ends_at_its_termination_time(enforces: bool) -> None:
    world = endless(lab())
    for agent in world.agents.values():
        agent.enforces = enforces
    end_us = world.now_us + HALF_US
    key = world.submit(job(terminate_us=end_us))
    until_state(world, "job", key, "EXITED")
    late_us = world.state.jobs[key].ended_us - end_us
    assert (0 if enforces else NET_US) <= late_us < SECOND_US + (0 if enforces else NET_US)
    assert world.exit_of(key).reason == "deadline"


def test_a_job_that_is_being_prepared_at_its_termination_time_never_runs() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(prepare="hang")
    key = world.submit(job(2, "span[ptile=1]", terminate_us=world.now_us + 20 * SECOND_US))
    until_state(world, "job", key, "STARTING")
    until_state(world, "job", key, "EXITED")
    ended = world.exit_of(key)
    assert (ended.reason, world.state.jobs[key].attempt) == ("deadline", 1)
    assert nothing_held(world)


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ({"terminate_us": -1}, "the termination time is past"),
        (
            {"begin_us": HALF_US, "terminate_us": HALF_US},
            "the termination time is not after the begin time",
        ),
    ],
)
def test_a_termination_time_that_cannot_be_is_refused(rest: dict[str, int], said: str) -> None:
    world = lab()
    moments = {name: world.now_us + value for name, value in rest.items()}
    refused = world.ask(job(**moments))
    assert isinstance(refused, c.Rejection)
    assert refused.message == f"Bad termination time: {said}"
    assert refused.field == "terminate_us"
    assert not world.state.jobs


def test_a_member_over_its_run_limit_is_judged_by_the_rules_of_its_gang() -> None:
    world = endless(lab())
    rules = (
        FailureRule(reasons=("run_limit",), action="restart_group", max_times=1),
        FailureRule(action="fail_group"),
    )
    asked = gang(role("worker", 2), rules=rules)
    specs = tuple(structs.replace(one, run_limit_us=MINUTE_US) for one in asked.member_specs)
    number = world.submit_gang(structs.replace(asked, member_specs=specs))
    until_state(world, "group", number, "EXITED")
    attempts = {job.attempt for job in world.state.jobs.values()}
    assert attempts == {2}, "the first run over the limit restarts the gang, the second fails it"
    assert {job.exit.reason for job in world.state.jobs.values() if job.exit} == {"run_limit"}

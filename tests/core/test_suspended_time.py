"""Time that work was suspended: told apart, not counted, and never expected to end."""

import pytest

from tests.core.lab import MINUTE_US, Life, lab, until_state
from tests.core.suspended import FOR_EVER, running, stop
from tests.kit.words import ANNA, GB, job
from xce.controller.core import commands as c
from xce.controller.core.time.ends import endings
from xce.controller.core.time.reservations import reservations
from xce.model.config import SECOND_US
from xce.scheduler.time.terms import FOREVER_US


def test_time_suspended_is_told_apart() -> None:
    world = running()
    began_us = world.now_us
    stop(world)
    world.run(MINUTE_US)
    found = world.state.jobs[1]
    assert found.suspend_since_us == pytest.approx(began_us, abs=10_000)
    assert found.stopped_us(world.now_us) == world.now_us - found.suspend_since_us
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.run(SECOND_US)
    first_us = world.state.jobs[1].suspended_us
    assert 61 * SECOND_US < first_us < 62 * SECOND_US
    assert world.state.jobs[1].suspend_since_us == 0
    stop(world)
    world.run(MINUTE_US)
    world.ask_body(c.Kill(actor=ANNA, job=1))
    until_state(world, "job", 1, "EXITED")
    found = world.state.jobs[1]
    assert found.suspended_us > first_us + MINUTE_US
    assert (found.suspension, found.suspended_by) == ("ACTIVE", "")


def test_a_job_is_as_long_at_work_as_if_it_had_not_been_suspended() -> None:
    world = lab(1, slots=4)
    world.scripts.lives["1"] = Life(run_us=10 * SECOND_US)
    world.submit(job(4))
    until_state(world, "job", 1, "RUNNING")
    stop(world)
    world.run(MINUTE_US)
    world.ask_body(c.Resume(actor=ANNA, job=1))
    until_state(world, "job", 1, "DONE")
    found = world.state.jobs[1]
    at_work_us = found.ended_us - found.started_us - found.suspended_us
    assert at_work_us == pytest.approx(10 * SECOND_US, abs=20_000)


def test_what_is_suspended_is_expected_to_end_nobody_knows_when() -> None:
    world = running(1, slots=4)
    world.scripts.lives["2"] = Life(run_us=None)
    world.submit(job(1, "rusage[mem=2GB]", run_limit_us=100 * SECOND_US))
    stop(world)
    until_state(world, "job", 2, "RUNNING")
    (ending,) = endings(world.state, world.now_us)
    assert ending.end_us == world.state.jobs[2].started_us + 100 * SECOND_US
    stop(world, actor=ANNA, job=2)
    (ending,) = endings(world.state, world.now_us)
    assert ending.end_us == FOREVER_US
    assert [share.counters for share in ending.shares] == [(("mem", 2 * GB),)]
    world.run(MINUTE_US)
    world.ask_body(c.Resume(actor=ANNA, job=2))
    world.run(SECOND_US)
    (ending,) = endings(world.state, world.now_us)
    found = world.state.jobs[2]
    assert found.suspended_us > MINUTE_US
    assert ending.end_us == found.started_us + 100 * SECOND_US + found.suspended_us


def test_a_run_limit_does_not_count_the_time_in_which_the_job_was_suspended() -> None:
    world = lab(1, slots=4)
    world.scripts.lives["1"] = FOR_EVER
    world.submit(job(4, run_limit_us=30 * SECOND_US))
    until_state(world, "job", 1, "RUNNING")
    world.run(10 * SECOND_US)
    stop(world)
    world.run(5 * MINUTE_US)
    assert world.state.jobs[1].state == "RUNNING"
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.run(15 * SECOND_US)
    assert world.state.jobs[1].state == "RUNNING"
    until_state(world, "job", 1, "EXITED")
    found = world.state.jobs[1]
    assert found.exit is not None
    assert found.exit.reason == "run_limit"
    at_work_us = found.ended_us - found.started_us - found.suspended_us
    assert at_work_us == pytest.approx(30 * SECOND_US, abs=SECOND_US)


@pytest.mark.parametrize("enforces", [True, False])
def test_the_controller_enforces_the_limit_when_the_host_does_not(enforces: bool) -> None:
    world = lab(1, slots=4)
    world.agents["n1"].enforces = enforces
    world.scripts.lives["1"] = FOR_EVER
    world.submit(job(4, run_limit_us=30 * SECOND_US))
    until_state(world, "job", 1, "RUNNING")
    stop(world)
    world.run(5 * MINUTE_US)
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.run(25 * SECOND_US)
    assert world.state.jobs[1].state == "RUNNING"
    world.run(12 * SECOND_US)
    assert world.state.jobs[1].state == "EXITED"


def test_a_resume_leaves_alone_what_is_reserved_unless_it_ends_in_time() -> None:
    world = lab(1, slots=4, gpu_count=0)
    world.scripts.default = lambda name, attempt: FOR_EVER
    world.submit(job(3, run_limit_us=90 * SECOND_US))
    world.submit(job(1, run_limit_us=20 * SECOND_US))
    world.run(SECOND_US)
    for key in (1, 2):
        world.ask_body(c.Suspend(actor=ANNA, job=key))
    world.submit(job(3, run_limit_us=60 * SECOND_US))
    until_state(world, "job", 3, "RUNNING")
    over_us = world.state.jobs[3].started_us + 60 * SECOND_US
    head = world.submit(job(4, queue="night", run_limit_us=50 * SECOND_US))
    world.run(SECOND_US)
    assert [one.job for one in reservations(world.state).values()] == [head]
    for key in (1, 2):
        world.ask_body(c.Resume(actor=ANNA, job=key))
    world.run(10 * SECOND_US)
    assert world.state.jobs[1].suspension == "SUSPENDED", "job 3 has its slots"
    assert world.state.jobs[2].suspension == "ACTIVE", "it is over before the head is to begin"
    until_state(world, "job", head, "RUNNING")
    assert world.state.jobs[head].started_us < over_us + 10 * SECOND_US
    assert world.state.jobs[1].suspension == "SUSPENDED"
    world.run(120 * SECOND_US)
    assert world.state.jobs[1].suspension == "ACTIVE"

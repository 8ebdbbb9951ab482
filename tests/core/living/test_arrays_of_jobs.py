"""What changes plain jobs changes arrays and their elements, too."""

from typing import Any

from tests.core.lab import MINUTE_US, SECOND_US, Life, lab, until_state
from tests.kit.words import ANNA, array, job, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import QueueConfig
from xce.model.ids import job_key


def world_of(life: Life, slots: int = 2, **rest: Any) -> World:
    """One host of so many slots; every element lives like this."""
    world = lab(1, slots=slots, gpu_count=0, **rest)
    world.scripts.default = lambda name, attempt: life
    return world


def spec_of(world: World, number: int) -> Any:
    return world.state.specs[world.state.arrays[number].spec]


def test_elements_that_wait_change_with_their_array_and_those_that_run_do_not() -> None:
    world = world_of(Life(run_us=None))
    number = world.submit(array((1, 5, 1)))
    until_state(world, "job", job_key(number, 2), "RUNNING")
    before = world.state.arrays[number].spec
    answer = world.ask_body(c.ModifyJob(actor=ANNA, job=number, spec={"run_limit_us": MINUTE_US}))
    assert answer["changed"] == ["run_limit_us"]
    assert spec_of(world, number).run_limit_us == MINUTE_US
    assert world.state.jobs[job_key(number, 2)].spec == before
    world.change_leader()
    world.ask_body(c.Kill(actor=ANNA, job=job_key(number, 1)))
    until_state(world, "job", job_key(number, 3), "EXITED")
    assert world.exit_of(job_key(number, 3)).reason == "run_limit"


def test_an_array_is_switched_whole() -> None:
    queues = (QueueConfig(name="normal"), QueueConfig(name="night", run_limit_us=SECOND_US))
    world = world_of(Life(run_us=None), config=settings(queues=queues))
    world.submit(job(2))
    number = world.submit(array((1, 3, 1)))
    assert world.ask_body(c.SwitchJob(actor=ANNA, job=number, queue="night"))["queue"] == "night"
    assert world.state.arrays[number].queue == "night"
    assert spec_of(world, number).run_limit_us == SECOND_US


def test_elements_run_again_by_their_exit_value_and_an_array_when_it_is_asked_for() -> None:
    world = world_of(Life())
    for index in (1, 2):
        world.scripts.lives[f"1[{index}]", 1] = Life(code=4)
    number = world.submit(array((1, 3, 1), requeue_exits="4"))
    world.rest()
    ran = [(one.job, one.attempt) for one in world.ledger.executed]
    keys = [str(job_key(number, index)) for index in (1, 2, 3)]
    assert sorted(ran) == sorted(
        [(keys[0], 1), (keys[0], 2), (keys[1], 1), (keys[1], 2), (keys[2], 1)]
    )
    world.ask_body(c.RequeueJob(actor=ANNA, job=number, which=("done",)))
    assert world.state.arrays[number].ended_us == 0
    world.rest()
    assert world.state.arrays[number].ended_us > 0
    assert {job.attempt for job in world.state.jobs.values()} == {2, 3}


def test_an_array_whose_time_is_over_ends_whole() -> None:
    world = world_of(Life(run_us=None))
    end_us = world.now_us + MINUTE_US
    number = world.submit(array((1, 4, 1), terminate_us=end_us))
    world.rest()
    found = world.state.arrays[number]
    assert end_us <= found.ended_us < end_us + SECOND_US

"""Limits and defaults that queues and application profiles have for their jobs."""

import pytest

from tests.core.lab import MINUTE_US, Life, lab, until_state
from tests.kit.words import GB, job, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import ApplicationConfig, QueueConfig
from xce.model.job import Spec

NORMAL = QueueConfig(name="normal")


def spec_of(world: World, key: int) -> Spec:
    return world.state.specs[world.state.jobs[key].spec]


LIMITED = QueueConfig(
    name="normal", run_limit_us=60 * MINUTE_US, run_limit_default_us=10 * MINUTE_US,
    tasks_min=2, tasks_default=4, tasks_max=8, mem_limit_bytes=8 * GB,
)  # fmt: skip


def test_defaults_are_given_where_a_job_says_nothing() -> None:
    world = lab(config=settings(queues=(LIMITED,)))
    key = world.submit(job(0))
    spec = spec_of(world, key)
    assert (spec.tasks, spec.run_limit_us, spec.mem_limit_bytes) == (4, 10 * MINUTE_US, 8 * GB)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tasks": 1}, "Too few processors requested: 1, and queue normal takes 2 or more"),
        ({"tasks": 9}, "Too many processors requested: 9, and queue normal takes 8 at most"),
        (
            {"run_limit_us": 61 * MINUTE_US},
            "RUNLIMIT: Cannot exceed queue's hard limit(s): 61m is beyond 1h of normal",
        ),
        (
            {"mem_limit_bytes": 9 * GB},
            "MEMLIMIT: Cannot exceed queue's hard limit(s): 9GB is beyond 8GB of normal",
        ),
    ],
)
def test_what_is_beyond_a_queues_limit_is_refused(asked: dict[str, int], said: str) -> None:
    world = lab(config=settings(queues=(LIMITED,)))
    refused = world.ask(job(**{"tasks": 4, **asked}))
    assert isinstance(refused, c.Rejection)
    assert refused.message == said
    assert world.submit(job(2, run_limit_us=60 * MINUTE_US, mem_limit_bytes=8 * GB)) == 1


def test_a_profile_goes_before_its_queue_but_never_beyond_it() -> None:
    application = ApplicationConfig(
        name="a", run_limit_default_us=90 * MINUTE_US, tasks_default=6, tasks_max=7
    )
    world = lab(config=settings(queues=(LIMITED,), applications=(application,)))
    spec = spec_of(world, world.submit(job(0, application="a")))
    assert (spec.tasks, spec.run_limit_us) == (6, 60 * MINUTE_US)
    refused = world.ask(job(8, application="a"))
    assert isinstance(refused, c.Rejection)
    assert refused.message == "Too many processors requested: 8, and profile a takes 7 at most"


@pytest.mark.parametrize(("code", "state"), [(0, "DONE"), (5, "DONE"), (6, "EXITED")])
def test_exit_values_that_are_as_good_as_zero(code: int, state: str) -> None:
    queue = QueueConfig(name="normal", success_exits=(5,))
    world = lab(config=settings(queues=(queue,)))
    world.scripts.default = lambda name, attempt: Life(code=code)
    key = world.submit(job())
    until_state(world, "job", key, state)


def test_requeueing_wins_over_success() -> None:
    queue = QueueConfig(name="normal", success_exits=(5,), requeue_exits="5")
    world = lab(config=settings(queues=(queue,)))
    world.scripts.lives["1", 1] = Life(code=5)
    key = world.submit(job())
    until_state(world, "job", key, "DONE")
    assert world.state.jobs[key].attempt == 2

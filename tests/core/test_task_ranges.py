"""Jobs that may have from so many tasks to so many: they start with as many as fit at once."""

import pytest

from tests.core.lab import Life, lab
from tests.kit.words import array, job, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.check import check
from xce.controller.core.orders.environment import launch_environment
from xce.model.actor import USER, Actor
from xce.model.config import SECOND_US, LimitConfig, QueueConfig

ANNA = Actor(kind=USER, uid=1000)


def world_of(hosts: int = 2, slots: int = 8, **changes: object) -> World:
    """A world whose jobs run for ever."""
    world = lab(hosts, slots=slots, config=settings(**changes))
    world.scripts.default = lambda job, attempt: Life(run_us=None)
    return world


def granted(world: World) -> dict[int, dict[str, int]]:
    """What each job that has started got, host by host."""
    world.run(SECOND_US)
    check(world.state)
    return {
        one.job: {share.host: share.tasks for share in one.shares}
        for one in world.state.allocations.values()
    }


def test_a_range_gets_as_many_as_fit_up_to_its_most() -> None:
    world = world_of()
    world.submit(job(2, tasks_max=12))
    world.submit(job(2, tasks_max=8))
    assert granted(world) == {1: {"n1": 8, "n2": 4}, 2: {"n2": 4}}
    launch = world.state.launches[world.state.jobs[2].launches[0]]
    env = launch_environment(world.state, launch)
    assert (env["LSB_DJOB_NUMPROC"], env["LSB_MCPU_HOSTS"]) == ("4", "n2 4")


def test_less_than_the_least_waits_and_says_what_it_lacks() -> None:
    world = world_of(1)
    world.submit(job(6))
    world.submit(job(3, tasks_max=8))
    assert granted(world) == {1: {"n1": 6}}
    why = world.sessions.reason_for("2")
    assert why is not None
    assert (why.needed, why.available) == (3, 2)
    world.ask_body(c.Kill(actor=ANNA, job=1))
    assert granted(world) == {2: {"n1": 8}}


@pytest.mark.parametrize(
    ("resreq", "range_", "given"),
    [
        ("span[hosts=1]", (1, 12), {"n1": 6}),
        ("span[ptile=3]", (1, 12), {"n1": 3, "n2": 3}),
        ("span[block=4]", (4, 12), {"n1": 4, "n2": 4}),
        ("rusage[mem=20GB]", (1, 12), {"n1": 3, "n2": 3}),
        ("1*{span[hosts=1]} + {rusage[mem=30GB]}", (2, 12), {"n1": 3, "n2": 2}),
    ],
)
def test_layouts_bound_the_range(
    resreq: str, range_: tuple[int, int], given: dict[str, int]
) -> None:
    """Two hosts with 6 slots and 64 GB each."""
    world = world_of(2, slots=6)
    least, most = range_
    world.submit(job(least, resreq, tasks_max=most))
    found = granted(world)[1]
    assert sum(found.values()) == sum(given.values())
    assert found == given


def test_limits_bound_the_range() -> None:
    limit = LimitConfig(name="few", amounts=(("slots", 5),))
    world = world_of(limits=(limit,))
    world.submit(job(1, tasks_max=3))
    world.submit(job(1, tasks_max=16))
    world.submit(job(1, tasks_max=16))
    assert granted(world) == {1: {"n1": 3}, 2: {"n1": 2}}
    why = world.sessions.reason_for("3")
    assert why is not None
    assert why.text() == "limit few is reached: 5 of 5 slots in use, needs 1"


def test_elements_of_an_array_share_what_there_is() -> None:
    world = world_of(2)
    key = world.submit(array((1, 4, 1), tasks=2, tasks_max=6))
    sizes = [sum(one.values()) for one in granted(world).values()]
    assert key == 1
    assert sizes == [6, 6, 4]


def test_a_queue_trims_ranges_to_what_it_takes() -> None:
    queue = QueueConfig(name="normal", tasks_min=4, tasks_max=8)
    world = world_of(queues=(queue,))
    key = world.submit(job(1, tasks_max=16))
    spec = world.state.specs[world.state.jobs[key].spec]
    assert (spec.tasks, spec.tasks_max) == (4, 8)
    for tasks, most, said in (
        (1, 3, "Too few processors requested: 3, and queue normal takes 4 or more"),
        (9, 12, "Too many processors requested: 9, and queue normal takes 8 at most"),
    ):
        refused = world.ask(job(tasks, tasks_max=most))
        assert isinstance(refused, c.Rejection)
        assert refused.message == said


def test_a_range_must_be_one() -> None:
    world = world_of()
    for tasks, most in ((4, 3), (0, 3), (1, 70_000)):
        refused = world.ask(job(tasks, tasks_max=most))
        assert isinstance(refused, c.Rejection)
        assert refused.field == "tasks_max"


def test_a_range_is_changed_whole_and_a_requeue_asks_anew() -> None:
    world = world_of(1)
    world.submit(job(8))
    key = world.submit(job(2, tasks_max=4))
    world.ask_body(c.ModifyJob(actor=ANNA, job=key, spec={"tasks": 1, "tasks_max": 16}))
    world.ask_body(c.Kill(actor=ANNA, job=1))
    assert granted(world) == {2: {"n1": 8}}
    world.ask_body(c.RequeueJob(actor=ANNA, job=key))
    world.submit(job(6, priority=90))
    world.run(20 * SECOND_US)
    assert granted(world) == {3: {"n1": 6}, 2: {"n1": 2}}

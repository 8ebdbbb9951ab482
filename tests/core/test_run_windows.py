"""Run windows: work of a queue is stopped when its window shuts and goes on when it opens."""

from tests.core.lab import Life, lab, until_state
from tests.kit.words import ANNA, gang, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.check import check
from xce.controller.observing import turned
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US, QueueConfig

NIGHT = QueueConfig(name="night", run_window=("20:00-8:00",))
DAY = QueueConfig(name="day")


def turn(world: World, *, is_open: bool) -> None:
    """The window opens or shuts."""
    world.step([c.TurnWindow(actor=CONTROLLER, queue="night", window="runs", open=is_open)])


def nightly(hosts: int = 1, slots: int = 4) -> World:
    """A cluster with a queue that runs at night; it is night."""
    world = lab(hosts, slots=slots, config=settings(queues=(NIGHT, DAY), default_queue="day"))
    world.scripts.default = lambda job, attempt: Life(run_us=100 * SECOND_US)
    turn(world, is_open=True)
    return world


def suspension(world: World) -> list[str]:
    world.run(SECOND_US)
    check(world.state)
    return [one.suspension for one in world.state.jobs.values()]


def test_what_runs_is_stopped_lends_its_slots_and_goes_on_at_night() -> None:
    world = nightly()
    world.submit(job(4, queue="night"))
    until_state(world, "job", 1, "RUNNING")
    world.submit(job(4, queue="day"))
    turn(world, is_open=False)
    until_state(world, "job", 2, "RUNNING")
    first = world.state.jobs[1]
    assert (first.suspension, first.suspended_by) == ("SUSPENDED", "system")
    assert first.suspend_why == "the run window of queue night is shut"
    why = world.sessions.reason_for("1")
    assert why is not None
    assert why.text() == "queue night is outside its run window 20:00-8:00"
    until_state(world, "job", 2, "DONE")
    assert suspension(world)[0] == "SUSPENDED"
    turn(world, is_open=True)
    assert suspension(world)[0] == "ACTIVE"
    until_state(world, "job", 1, "DONE")


def test_a_gang_is_stopped_whole() -> None:
    world = nightly(2)
    world.submit_gang(gang(role("a", 2, tasks=3), queue="night"))
    until_state(world, "job", 2, "RUNNING")
    turn(world, is_open=False)
    assert suspension(world) == ["SUSPENDED", "SUSPENDED"]
    turn(world, is_open=True)
    assert suspension(world) == ["ACTIVE", "ACTIVE"]


def test_what_began_just_before_is_found_once_it_runs() -> None:
    world = nightly()
    world.submit(job(1, queue="night"))
    until_state(world, "job", 1, "STARTING")
    turn(world, is_open=False)
    until_state(world, "job", 1, "RUNNING")
    assert world.state.jobs[1].suspension == "ACTIVE"
    noon = next(
        world.now_us + hour * 3600 * SECOND_US
        for hour in range(24)
        if any(not one.open for one in turned(world.state, world.now_us + hour * 3600 * SECOND_US))
    )
    (again,) = turned(world.state, noon)
    world.step([again])
    assert suspension(world) == ["SUSPENDED"]
    assert list(turned(world.state, noon)) == []


def test_what_a_user_suspended_stays_so_when_the_window_opens() -> None:
    world = nightly()
    world.submit(job(1, queue="night"))
    until_state(world, "job", 1, "RUNNING")
    turn(world, is_open=False)
    assert suspension(world) == ["SUSPENDED"]
    world.ask_body(c.Suspend(actor=ANNA, job=1))
    turn(world, is_open=True)
    assert suspension(world) == ["SUSPENDED"]
    world.ask_body(c.Resume(actor=ANNA, job=1))
    assert suspension(world) == ["ACTIVE"]


def test_nobody_goes_on_while_the_window_is_shut() -> None:
    world = nightly()
    world.submit(job(1, queue="night"))
    until_state(world, "job", 1, "RUNNING")
    world.ask_body(c.Suspend(actor=ANNA, job=1))
    assert suspension(world) == ["SUSPENDED"]
    turn(world, is_open=False)
    world.ask_body(c.Resume(actor=ANNA, job=1))
    assert suspension(world) == ["SUSPENDED"]
    world.change_leader()
    assert suspension(world) == ["SUSPENDED"]
    turn(world, is_open=True)
    assert suspension(world) == ["ACTIVE"]

"""Plans at their commit: slices, stale parts, all or nothing for each gang."""

from typing import Any

from tests.core.lab import Life, Weather, lab, pair
from tests.kit.words import ANNA, BOSS, OPS, SETTINGS, job, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.model.config import SECOND_US, QueueConfig


def planned(world: World) -> Any:
    """A session that has looked and not committed."""
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    return work


def commit(world: World, work: Any) -> tuple[int, int]:
    """Commit the plan; how much held and how much was stale."""
    for slice_ in world.sessions.slices(work):
        world.sessions.committed(work, world.step([slice_]))
    return work.planned, work.stale


def test_a_plan_of_many_slices_is_not_stale_through_its_own_earlier_slices() -> None:
    world = lab(5, slots=80, gpu_count=0)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.step([job() for _ in range(400)])
    assert commit(world, planned(world)) == (400, 0)
    records = [record for record in world.records if record.kind == "Planned"]
    assert [len(record.body.groups) for record in records] == [128, 128, 128, 16]  # type: ignore[attr-defined]
    assert [record.body.slice for record in records] == [0, 1, 2, 3]  # type: ignore[attr-defined]
    assert len({record.body.session for record in records}) == 1  # type: ignore[attr-defined]
    assert all(used["slots"] == 80 for used in world.state.index.used.values())


def test_a_gang_is_stale_whole_when_one_host_of_it_is_taken() -> None:
    world = lab()
    world.step([pair()])
    work = planned(world)
    world.step([c.HostEvent(actor=OPS, host="n2", event="close")])
    assert commit(world, work) == (0, 1)
    assert world.state.allocations == {}
    assert world.state.starts == {}
    assert world.state.groups[1].state == "PENDING"


def test_what_still_fits_is_kept_although_its_host_changed() -> None:
    world = lab(1, slots=8)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job())
    world.step([job(), job()])
    work = planned(world)
    world.scripts.lives["1"] = Life(run_us=0)
    world.step([c.Kill(actor=ANNA, job=1)])
    for agent in world.agents.values():
        agent.pump()
    world.run(0)
    assert commit(world, work) == (2, 0)


def test_a_killed_job_is_stale_and_the_others_of_its_plan_are_not() -> None:
    world = lab(1)
    world.step([job(), job(), job()])
    work = planned(world)
    world.step([c.Kill(actor=ANNA, job=2)])
    assert commit(world, work) == (2, 1)
    assert [world.state.jobs[key].state for key in (1, 2, 3)] == ["STARTING", "EXITED", "STARTING"]


def test_a_queue_that_stopped_meanwhile_starts_nothing() -> None:
    world = lab(1)
    world.step([job(), job(queue="night")])
    work = planned(world)
    queues = tuple(
        QueueConfig(name=queue.name, active=queue.name != "night") for queue in SETTINGS.queues
    )
    load = c.LoadConfig(actor=BOSS, config=settings(queues=queues), digest="x")
    world.step([load])
    assert commit(world, work) == (0, 2)  # all of it: the plan is from an older configuration
    assert world.state.jobs[2].state == "PENDING"


def test_stale_work_is_looked_at_again_at_once() -> None:
    world = lab(2, slots=2, weather=Weather(between=1000))
    world.scripts.default = lambda name, attempt: Life(run_us=SECOND_US)
    for _ in range(8):
        world.submit(job())
    world.rest(60 * SECOND_US)
    assert {one.state for one in world.state.jobs.values()} == {"DONE"}
    world.ledger.assert_whole()


def test_larger_queue_priority_goes_first_then_job_priority_then_age() -> None:
    world = lab(1, slots=1)
    world.scripts.default = lambda name, attempt: Life(run_us=SECOND_US)
    world.step([job(2)])
    world.step(
        [
            job(queue="night", priority=99),
            job(priority=10),
            job(priority=60),
            job(priority=60),
            job(),
        ]
    )
    world.run(60 * SECOND_US)
    assert [one.job for one in world.ledger.executed] == ["4", "5", "6", "3", "2"]


def test_a_session_that_changes_nothing_leaves_no_record() -> None:
    world = lab(1, slots=1)
    world.submit(job(2))
    lsn = world.state.lsn
    world.run(600 * SECOND_US)
    assert world.state.lsn == lsn
    answer = world.ask(c.Kill(actor=ANNA, job=1))
    assert isinstance(answer, Outcome)

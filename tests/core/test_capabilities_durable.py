"""Every capability of waiting, order and time, as SQLite and PostgreSQL hold it: one world does all
of it, and what each log gives back is what was live, with every story whole."""

from collections.abc import Callable

import pytest

from tests.core.lab import MINUTE_US, SECOND_US, Life, lab
from tests.core.test_resources_durable import opened
from tests.kit.words import ANNA, BERT, BOSS, OPS, array, gang, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.encode import digest
from xce.controller.recover import recover
from xce.model.config import LimitConfig, PreemptionConfig, QueueConfig, ShareTree
from xce.wal.port import Batch, Log

__all__ = ["opened"]
QUEUES = (
    QueueConfig(name="normal"),
    QueueConfig(name="low", priority=10),
    QueueConfig(name="high", priority=50, preemptive=("low",)),
)
LIMIT = {"run_limit_us": 10 * MINUTE_US}
TREE = ShareTree(name="main", queues=("normal",), shares=(("1000", 3), ("default", 1)))


def busy() -> World:
    """Arrays, dependencies, holds, suspension, requeue, modify, queues, fairshare, limits,
    reservations, preemption, reservations in advance and job groups, all in one log."""
    config = settings(
        queues=QUEUES, share_trees=(TREE,), preemption=PreemptionConfig(min_run_us=0),
        limits=(LimitConfig(name="few", users=("1001",), amounts=(("slots", 2),)),),
    )  # fmt: skip
    world = lab(2, slots=4, config=config)
    world.scripts.default = lambda name, attempt: Life(run_us=20 * SECOND_US)
    world.scripts.lives["1"] = Life(run_us=None)
    world.ask_body(
        c.AddReservation(
            actor=BOSS, name="course", users=(ANNA.uid,), tasks=1,
            from_us=world.now_us + 60 * MINUTE_US, until_us=world.now_us + 90 * MINUTE_US,
        )
    )  # fmt: skip
    low = world.submit(job(4, "span[hosts=1]", queue="low", **LIMIT))
    world.run(SECOND_US)
    world.submit(job(4, "span[hosts=1]", **LIMIT))
    world.run(SECOND_US)
    world.submit(job(4, "span[hosts=1]", queue="high", **LIMIT))
    world.run(SECOND_US)
    world.submit(array((1, 4, 1), limit=2, **LIMIT))
    world.ask_body(c.ChangeJobGroup(actor=ANNA, path="/a", event="add", limit=1))
    for _ in range(2):
        world.submit(job(job_group="/a", **LIMIT))
    after = world.submit(job(after="ended(5)", **LIMIT))
    held = world.submit(job(held=True, **LIMIT))
    world.submit(job(2, actor=BERT, **LIMIT))
    world.submit(job(actor=BERT, **LIMIT))
    world.run(SECOND_US)
    world.submit(job(4, "span[hosts=1]", **LIMIT))
    moved = world.submit(job(4, **LIMIT))
    asked: tuple[c.Command, ...] = (
        c.ModifyJob(actor=ANNA, job=moved, priority=10),
        c.MoveJob(actor=OPS, job=moved, to="top"),
        c.SwitchJob(actor=ANNA, job=held, queue="low"),
        c.ChangeQueue(actor=OPS, queue="low", event="inactive", why="moving"),
    )  # fmt: skip
    for command in asked:
        world.ask_body(command)
    world.run(3 * SECOND_US)
    running = [key for key, one in world.state.jobs.items() if one.state == "RUNNING"]
    world.ask_body(c.Suspend(actor=OPS, job=running[0]))
    world.ask_body(c.RequeueJob(actor=OPS, job=running[-1]))
    world.submit_gang(gang(role("w", 2, tasks=2)))
    world.run(5 * SECOND_US)
    world.ask_body(c.Resume(actor=OPS, job=running[0]))
    world.run(2 * MINUTE_US)
    assert {low, after, held} <= set(world.state.jobs)
    return world


SEEN = {
    "JobSubmitted", "GroupSubmitted", "JobChanged", "JobGroupChanged", "DependencyLatched",
    "SuspendAsked", "ResumeAsked", "ReservationSet", "ReservationEnded", "Preempted", "Planned",
    "LaunchEnded",
}  # fmt: skip
TABLES = ("array", "job", "group", "job_group", "share", "queue", "reservation")


@pytest.fixture(scope="module")
def world() -> World:
    return busy()


def test_one_world_has_all_of_it(world: World) -> None:
    assert SEEN - {record.kind for record in world.records} == set()
    assert [what for what in TABLES if not world.state.tables[what]] == []


def test_each_log_gives_back_what_was_live(opened: Callable[[], Log], world: World) -> None:
    log, own = opened(), world.writer.log
    epoch = log.lead("home", world.now_us, MINUTE_US)
    assert epoch == world.state.epoch
    records = list(world.records)
    for at in range(0, len(records), 7):
        names = dict(world.store.blobs) if at == 0 else {}
        log.append(Batch(epoch=epoch, records=tuple(records[at : at + 7]), blobs=names))
    log = opened()
    again, _ = recover(log)
    again.epoch = world.state.epoch
    assert digest(again) == digest(world.state)
    for entity in sorted({name for record in records for name in record.entities}):
        mine = [(one.lsn, one.kind, one.body) for one in own.story(entity)]
        assert [(one.lsn, one.kind, one.body) for one in log.story(entity)] == mine, entity

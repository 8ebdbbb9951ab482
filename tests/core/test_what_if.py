"""What would happen if: the answers are those of the sessions, and nothing of them is kept."""

from typing import Any

from tests.core.lab import Life
from tests.core.test_task_ranges import ANNA, granted, world_of
from tests.kit.words import BERT, OPS, array, job, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.check import check
from xce.controller.core.fold.encode import digest
from xce.controller.core.whatif import Change, MoreHosts
from xce.model.config import SECOND_US, LimitConfig, QueueConfig


def asked(world: World, change: Change) -> dict[str, Any]:
    """The answer; the state is byte for byte what it was."""
    before, lsn = digest(world.state), world.state.lsn
    told = world.sessions.dry_run(change, world.now_us)
    assert (digest(world.state), world.state.lsn) == (before, lsn)
    check(world.state)
    assert not isinstance(told, c.Rejection), told
    return dict(told)


def full(hosts: int = 2, **changes: object) -> World:
    """A cluster whose first host is full for ever, the second half full."""
    world = world_of(hosts, 4, **changes)
    world.submit(job(4, "span[hosts=1]"))
    world.submit(job(2))
    granted(world)
    return world


def test_a_submission_would_start_where_it_then_starts() -> None:
    world = full()
    told = asked(world, job(2))
    assert (told["starts_now"], told["hosts"]) == (True, [{"host": "n2", "tasks": 2}])
    key = world.submit(job(2))
    assert granted(world)[key] == {"n2": 2}


def test_a_submission_that_would_wait_says_why() -> None:
    world = full()
    told = asked(world, job(3))
    assert not told["starts_now"]
    assert (told["reason"].needed, told["reason"].available) == (3, 2)
    world.submit(job(3))
    world.run(SECOND_US)
    assert world.sessions.reason_for("3") == told["reason"]


def test_what_waits_before_it_counts() -> None:
    world = full()
    world.submit(job(2, held=True))
    world.submit(job(3))
    told = asked(world, job(2, priority=10))
    assert (told["starts_now"], told["ahead"]) == (True, 1)


def test_an_end_in_sight_gives_an_expected_start() -> None:
    world = world_of(1, 4)
    world.scripts.default = lambda job, attempt: Life(run_us=50 * SECOND_US)
    world.submit(job(4, run_limit_us=100 * SECOND_US))
    world.run(SECOND_US)
    began_us = world.state.jobs[1].started_us
    told = asked(world, job(2))
    assert told["expected"].at_us >= began_us + 100 * SECOND_US
    assert told["expected"].hosts == ("n1",)


def test_a_changed_job_is_judged_as_changed() -> None:
    world = full()
    key = world.submit(job(3))
    world.run(SECOND_US)
    told = asked(world, c.ModifyJob(actor=ANNA, job=key, spec={"tasks": 2}))
    assert (told["starts_now"], told["hosts"]) == (True, [{"host": "n2", "tasks": 2}])
    assert world.state.jobs[key].state == "PENDING"
    refused = world.sessions.dry_run(
        c.ModifyJob(actor=BERT, job=key, spec={"tasks": 2}), world.now_us
    )
    assert isinstance(refused, c.Rejection)


def test_limits_dependencies_and_arrays_are_looked_at_too() -> None:
    limit = LimitConfig(name="few", amounts=(("slots", 6),))
    world = full(3, limits=(limit,))
    told = asked(world, job(1))
    assert told["reason"].text() == "limit few is reached: 6 of 6 slots in use, needs 1"
    told = asked(world, job(1, after="done(1)"))
    assert told["reason"].code == "dependency"
    told = asked(world, array((3, 9, 2)))
    assert (told["job"], told["starts_now"]) == ("3[3]", False)


def test_who_would_give_way_is_named() -> None:
    queues = (
        QueueConfig(name="low", priority=10),
        QueueConfig(name="high", priority=50, preemptive=("low",)),
    )
    world = world_of(1, 4, queues=queues, default_queue="low")
    world.submit(job(4, queue="low"))
    granted(world)
    world.run(300 * SECOND_US)
    told = asked(world, job(4, queue="high"))
    assert (told["starts_now"], told["evicts"]) == (False, ["1"])


def test_other_hosts_change_what_starts() -> None:
    world = full()
    world.submit(job(3))
    world.submit(job(6))
    world.run(SECOND_US)
    told = asked(world, MoreHosts(like="n1", count=1))
    assert (told["start_before"], told["start_after"], told["begin"]) == (0, 1, ["3"])
    told = asked(world, MoreHosts(like="n1", count=3))
    assert (told["start_after"], told["begin"]) == (2, ["3", "4"])
    assert isinstance(world.sessions.dry_run(MoreHosts(like="n9"), world.now_us), c.Rejection)
    assert set(world.state.hosts) == {"n1", "n2"}
    world.submit(job(1, held=True))
    world.ask_body(c.Kill(actor=ANNA, job=2))
    world.step([])
    told = asked(world, c.HostEvent(actor=OPS, host="n2", event="drain"))
    assert told["start_after"] == 0
    assert granted(world)


def test_a_drain_is_an_operators_word_here_too() -> None:
    world = full()
    refused = world.sessions.dry_run(
        c.HostEvent(actor=ANNA, host="n1", event="drain"), world.now_us
    )
    assert isinstance(refused, c.Rejection)
    assert settings().queues

"""Preemption on the virtual clock with the real core: proof, victims, actions, budgets."""

import pytest
from msgspec import structs

from tests.core.lab import MINUTE_US, SECOND_US, Life, lab, until_state
from tests.kit.words import OPS, SETTINGS, gang, gpus, job, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.time.giving_way import over
from xce.controller.core.time.reservations import reservations
from xce.model.config import PreemptionConfig, QueueConfig
from xce.model.group import FailureRule
from xce.model.records import Preempted

QUEUES = (
    QueueConfig(name="normal", priority=30),
    QueueConfig(name="low", priority=10),
    QueueConfig(name="high", priority=50, preemptive=("low",)),
)


def site(**rest: object) -> object:
    rest.setdefault("min_run_us", 0)
    return structs.replace(SETTINGS, queues=QUEUES, preemption=PreemptionConfig(**rest))


def town(count: int = 2, slots: int = 4, **rest: object) -> World:
    world = lab(count, slots=slots, gpu_count=4, config=site(**rest))
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    return world


def running(world: World, *asked: c.SubmitJob) -> list[int]:
    keys = [world.submit(one) for one in asked]
    for key in keys:
        until_state(world, "job", key, "RUNNING")
    return keys


def taken(world: World) -> list[Preempted]:
    return [one.body for one in world.records if isinstance(one.body, Preempted)]


def whole(queue: str) -> c.SubmitJob:
    return job(4, "span[hosts=1]", queue=queue)


def test_a_job_of_a_preemptive_queue_takes_the_place_of_a_less_important_one() -> None:
    world = town(1)
    (low,) = running(world, whole("low"))
    high = world.submit(whole("high"))
    until_state(world, "job", high, "RUNNING")
    (made,) = taken(world)
    assert [one.jobs for one in made.victims] == [(low,)]
    assert (made.job, made.action) == (high, "requeue")
    assert [(share.host, share.counters) for share in made.shares] == [("n1", (("slots", 4),))]
    found = world.state.jobs[low]
    assert (found.state, found.preempted) == ("PENDING", 1)
    assert found.last_failure == f"preempted for {high}"
    assert reservations(world.state) == {}
    world.ask_body(c.Kill(actor=OPS, job=high))
    until_state(world, "job", low, "RUNNING")
    assert world.state.jobs[low].attempt == 2


@pytest.mark.parametrize("queue", ["normal", "low"])
def test_only_queues_that_are_named_give_way_and_only_to_those_that_say_so(queue: str) -> None:
    world = town(1)
    running(world, whole("normal" if queue == "low" else "low"))
    waiting = world.submit(whole(queue))
    world.run(MINUTE_US)
    assert taken(world) == []
    assert world.state.jobs[waiting].state == "PENDING"


def test_two_queues_that_name_each_other_never_preempt_each_other() -> None:
    both = (
        QueueConfig(name="a", priority=20, preemptive=("b",), preemptable=("b",)),
        QueueConfig(name="b", priority=40, preemptive=("a",), preemptable=("a",)),
        QueueConfig(name="c", priority=40, preemptive=("b",)),
    )
    assert over(structs.replace(SETTINGS, queues=both)) == {"b": ("a",)}


def test_nobody_gives_way_for_what_can_never_fit_or_would_not_fit_all_the_same() -> None:
    world = town(2)
    running(world, whole("low"), job(2, "span[hosts=1]", queue="normal"))
    never = world.submit(job(5, "span[hosts=1]", queue="high"))
    together = world.submit(job(8, "span[ptile=4]", queue="high"))
    world.run(MINUTE_US)
    assert taken(world) == []
    assert [world.state.jobs[key].state for key in (never, together)] == ["PENDING"] * 2


def test_one_victim_that_is_enough_gives_way_and_not_ten() -> None:
    world = town(2)
    small = running(world, *(job(1, "span[hosts=1]", queue="low") for _ in range(8)))
    high = world.submit(job(1, queue="high"))
    until_state(world, "job", high, "RUNNING")
    (made,) = taken(world)
    began = {key: world.state.jobs[key].started_us for key in small}
    (victim,) = [one.jobs for one in made.victims]
    assert len(victim) == 1
    assert began.pop(victim[0]) == 0


def test_what_is_idle_is_used_before_anybody_gives_way() -> None:
    world = town(2)
    running(world, whole("low"))
    high = world.submit(whole("high"))
    until_state(world, "job", high, "RUNNING")
    assert taken(world) == []


def test_a_gang_gives_way_whole_and_spends_nothing() -> None:
    world = town(2)
    rules = (FailureRule(action="restart_group", max_times=1),)
    low = world.submit_gang(gang(role("worker", 2, claims=(gpus(4),)), queue="low", rules=rules))
    until_state(world, "group", low, "RUNNING")
    high = world.submit(job(1, "rusage[gpu=4]", queue="high"))
    until_state(world, "job", high, "RUNNING")
    (made,) = taken(world)
    assert [(one.group, one.jobs) for one in made.victims] == [(low, (1, 2))]
    found = world.state.groups[low]
    assert (found.state, found.preempted) == ("PENDING", 1)
    assert set(found.spent) <= {0}
    world.ask_body(c.Kill(actor=OPS, job=high))
    until_state(world, "group", low, "RUNNING")


def test_a_gang_takes_what_several_jobs_have_and_begins_whole() -> None:
    world = town(2)
    running(world, *(job(2, "span[hosts=1]", queue="low") for _ in range(4)))
    high = world.submit_gang(gang(role("worker", 2, tasks=4, resreq="span[hosts=1]"), queue="high"))
    until_state(world, "group", high, "RUNNING")
    (made,) = taken(world)
    assert len(made.victims) == 4
    assert {share.host for share in made.shares} == {"n1", "n2"}


def test_what_was_given_up_is_kept_from_all_others_until_it_is_taken() -> None:
    world = town(1, patience_us=30 * SECOND_US)
    running(world, whole("low"))
    world.scripts.default = lambda name, attempt: Life(run_us=None, kill_us=5 * SECOND_US)
    high = world.submit(whole("high"))
    world.run(SECOND_US)
    other = world.submit(job(1, queue="normal", run_limit_us=SECOND_US))
    until_state(world, "job", high, "RUNNING")
    assert world.state.jobs[other].state == "PENDING"
    assert world.state.jobs[other].attempt == 0


def test_nobody_gives_way_before_it_ran_long_enough_nor_too_often() -> None:
    world = town(1, min_run_us=30 * SECOND_US, times_max=1)
    (low,) = running(world, whole("low"))
    began_us = world.now_us
    high = world.submit(whole("high"))
    world.run(10 * SECOND_US)
    assert taken(world) == []
    until_state(world, "job", high, "RUNNING")
    assert world.now_us >= began_us + 30 * SECOND_US
    world.ask_body(c.Kill(actor=OPS, job=high))
    until_state(world, "job", low, "RUNNING")
    again = world.submit(whole("high"))
    world.run(5 * MINUTE_US)
    assert len(taken(world)) == 1
    assert world.state.jobs[again].state == "PENDING"


def test_suspended_victims_lend_their_slots_and_go_on_when_the_other_is_done() -> None:
    world = town(1, action="suspend")
    (low,) = running(world, whole("low"))
    high = world.submit(job(4, "span[hosts=1]", queue="high"))
    until_state(world, "job", high, "RUNNING")
    assert world.state.jobs[low].suspension == "SUSPENDED"
    assert world.state.jobs[low].attempt == 1
    world.ask_body(c.Kill(actor=OPS, job=high))
    world.run_until(lambda: world.state.jobs[low].suspension == "ACTIVE")
    assert world.state.jobs[low].state == "RUNNING"


def test_a_checkpoint_is_a_signal_then_a_grace_then_a_requeue() -> None:
    world = town(1, action="checkpoint", grace_us=20 * SECOND_US, signal="SIGUSR2")
    (low,) = running(world, whole("low"))
    asked_us = world.now_us
    high = world.submit(whole("high"))
    world.run(SECOND_US)
    (launch,) = world.state.jobs[low].launches
    assert [name for _, name in world.state.launches[launch].signals] == ["SIGUSR2"]
    assert world.state.jobs[low].state == "RUNNING"
    until_state(world, "job", high, "RUNNING")
    assert world.now_us >= asked_us + 20 * SECOND_US
    assert world.state.jobs[low].state == "PENDING"


def test_the_commit_looks_again_whether_the_victims_run_as_the_plan_saw_them() -> None:
    world = town(1)
    (low,) = running(world, whole("low"))
    world.step([whole("high")])
    lsn = world.state.lsn
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    assert len(work.run.plan.evictions) == 1
    world.step([c.Kill(actor=OPS, job=low)])
    for slice_ in world.sessions.slices(work):
        world.step([slice_])
    assert taken(world) == []
    assert world.state.lsn > lsn


def test_preemption_outlives_a_change_of_leader() -> None:
    world = town(1)
    world.scripts.default = lambda name, attempt: Life(run_us=None, kill_us=5 * SECOND_US)
    running(world, whole("low"))
    high = world.submit(whole("high"))
    world.run_until(lambda: bool(taken(world)))
    world.change_leader()
    until_state(world, "job", high, "RUNNING")
    assert len(taken(world)) == 1
    assert reservations(world.state) == {}

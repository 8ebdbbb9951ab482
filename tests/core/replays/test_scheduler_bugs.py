"""Bugs of other schedulers, replayed on the real core: each test has the number that the list of
public bugs gives it, and says what must hold all along."""

from typing import Any

import pytest
from msgspec import structs

from tests.core.lab import MINUTE_US, SECOND_US, Life, until_state
from tests.kit.words import BERT, OPS, SETTINGS, gang, gpus, job, machine, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import PreemptionConfig, QueueConfig
from xce.model.group import FailureRule
from xce.model.job import Topology
from xce.model.records import Planned, Preempted
from xce.scheduler.reasons import Code, PendReason

QUEUES = (
    QueueConfig(name="normal", priority=30),
    QueueConfig(name="low", priority=10),
    QueueConfig(name="high", priority=50, preemptive=("low",)),
    QueueConfig(name="left", priority=30, preemptive=("right",)),
    QueueConfig(name="right", priority=30, preemptive=("left",)),
)
PREEMPTION = PreemptionConfig(min_run_us=0, times_max=1000)


def town(count: int, slots: int = 4, queues: Any = QUEUES, **domains: str) -> World:
    """Hosts n1.. of so many slots and one GPU for each; what runs there does so for ever."""
    config = structs.replace(SETTINGS, queues=queues, preemption=PREEMPTION)
    world = World({f"n{i}": machine(slots, slots, domains=domains) for i in range(1, count + 1)},
                  config=config)  # fmt: skip
    world.up()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    return world


def runs(world: World, *asked: c.SubmitJob) -> list[int]:
    keys = [world.submit(one) for one in asked]
    for key in keys:
        until_state(world, "job", key, "RUNNING")
    return keys


def evictions(world: World) -> list[Preempted]:
    return [one.body for one in world.records if isinstance(one.body, Preempted)]


def why(world: World, entity: str) -> PendReason:
    found = world.sessions.reason_for(entity)
    assert found is not None
    return found


def small(queue: str, tasks: int = 1) -> c.SubmitJob:
    return job(tasks, "span[hosts=1]", queue=queue)


# -- 6, 7, 8, 16, 17, 18: whose work gives way -----------------------------------------------------


def test_bug_6_nobody_gives_way_while_the_preemptor_does_not_fit_all_the_same() -> None:
    """A gang of four whole hosts; on three of them is work that may give way."""
    world = town(4)
    victims = runs(world, *(small("low", 4) for _ in range(3)), small("normal", 4))
    high = world.submit_gang(gang(role("w", 4, tasks=4, resreq="span[hosts=1]"), queue="high"))
    world.run(10 * MINUTE_US)
    assert evictions(world) == []
    assert [world.state.jobs[key].attempt for key in victims] == [1, 1, 1, 1]
    assert world.state.groups[high].state == "PENDING"


def test_bug_7_a_gang_gives_way_whole_and_who_it_gave_way_to_begins() -> None:
    """One member of the gang would be enough; half of a gang is of use to nobody."""
    world = town(4)
    low = world.submit_gang(gang(role("w", 4, tasks=4, resreq="span[hosts=1]"), queue="low"))
    until_state(world, "group", low, "RUNNING")
    high = world.submit(small("high", 4))
    until_state(world, "job", high, "RUNNING")
    (made,) = evictions(world)
    assert [(one.group, one.jobs) for one in made.victims] == [(low, (1, 2, 3, 4))]
    members = [one for one in world.state.jobs.values() if one.group == low]
    assert {one.state for one in members} == {"PENDING"}
    assert not [one for one in members if one.allocation]


def test_bug_8_one_small_victim_beside_what_is_idle_and_not_ten() -> None:
    """On every host but one three of four slots run; n1 has two idle ones. Two tasks more than
    are idle there need one victim of two tasks, which is on n1 only."""
    world = town(4)
    (enough,) = runs(world, small("low", 2))
    others = runs(world, *(small("low") for _ in range(12)))
    at = world.state.jobs[enough]
    host = next(iter(world.state.allocations[at.allocation].shares)).host
    world.run(SECOND_US)
    for key in others:
        share = next(iter(world.state.allocations[world.state.jobs[key].allocation].shares))
        if share.host == host:
            world.ask_body(c.Kill(actor=OPS, job=key))
    world.run(SECOND_US)
    high = world.submit(small("high", 4))
    until_state(world, "job", high, "RUNNING")
    (made,) = evictions(world)
    assert [one.jobs for one in made.victims] == [(enough,)]


def test_bug_16_eight_free_gpus_on_eight_hosts_are_no_eight_gpus_of_one() -> None:
    """The sum would do; a member needs all of them on one host. Nobody gives way in vain, and the
    reason has the most that one host has."""
    world = town(8, slots=8)
    runs(world, *(job(1, "span[hosts=1] rusage[gpu=7]", queue="normal") for _ in range(8)))
    runs(world, *(job(1, "span[hosts=1] rusage[gpu=1]", queue="low") for _ in range(8)))
    high = world.submit(job(1, "span[hosts=1] rusage[gpu=8]", queue="high"))
    world.run(MINUTE_US)
    assert evictions(world) == []
    found = why(world, str(high))
    assert (found.code, found.what, found.needed, found.available) == (
        Code.SHORT_ON_HOST, "gpu", 8, 0,
    )  # fmt: skip
    for key in range(9, 17):
        world.ask_body(c.Kill(actor=OPS, job=key))
    world.run(MINUTE_US)
    assert why(world, str(high)).available == 1, "eight are free, one on each host"
    assert world.state.jobs[high].state == "PENDING"


@pytest.mark.parametrize("priorities", [(30, 30), (20, 40), (40, 20)])
def test_bug_17_two_queues_that_name_each_other_do_not_take_turns_for_ever(
    priorities: tuple[int, int],
) -> None:
    """At most one of them takes from the other, and each job gives way to a better one only: so
    there are no more evictions than jobs of the lesser queue."""
    left, right = priorities
    queues = (
        QueueConfig(name="normal"),
        QueueConfig(name="left", priority=left, preemptive=("right",)),
        QueueConfig(name="right", priority=right, preemptive=("left",)),
    )
    world = town(1, queues=queues)
    runs(world, small("left", 4))
    for _ in range(3):
        world.submit(small("right", 4))
        world.submit(small("left", 4))
        world.run(10 * MINUTE_US)
    names = [world.state.jobs[made.job].queue for made in evictions(world)]
    better = "right" if right > left else "left"
    assert set(names) <= {better}
    assert len(names) <= 1 if right > left else not names
    running = [one.queue for one in world.state.jobs.values() if one.state == "RUNNING"]
    assert running == ["left" if left >= right else "right"]


def test_bug_18_nobody_gives_way_for_what_can_never_fit_and_the_queue_goes_on() -> None:
    """A head that is too large for any host, and one whose claim no host can bear: the reason says
    what is in the way, and the next one of the queue takes its place over a victim."""
    world = town(2)
    (low, _) = runs(world, small("low", 4), small("normal", 4))
    large = world.submit(small("high", 5))
    many = world.submit_gang(gang(role("w", 1, claims=(gpus(9),)), queue="high"))
    world.run(10 * MINUTE_US)
    assert evictions(world) == []
    assert why(world, str(large)).code is Code.NEVER_FITS
    assert "9 gpu" in why(world, f"g{many}").text()
    assert world.state.jobs[low].attempt == 1
    next_ = world.submit(small("high", 4))
    until_state(world, "job", next_, "RUNNING")
    assert [[one.jobs for one in made.victims] for made in evictions(world)] == [[(low,)]]


# -- 13: two heads, one domain ---------------------------------------------------------------------


def test_bug_13_two_queues_whose_heads_need_the_one_free_domain() -> None:
    """Both are looked at in one session: the second sees what the first has booked. It is not
    forgotten over a hundred sessions, and begins when the domain is free."""
    world = World(
        {f"n{i}": machine(4, domains={"nvlink": f"v{(i - 1) // 2}"}) for i in range(1, 5)},
        config=structs.replace(SETTINGS, queues=QUEUES),
    )
    world.up()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    runs(world, small("normal", 4))
    heads = [
        gang(role("w", 2, tasks=4, resreq="span[hosts=1]"), queue=queue, actor=actor,
             topology=Topology(required="nvlink"))
        for queue, actor in (("left", BERT), ("right", OPS))
    ]  # fmt: skip
    world.step(heads)
    for _ in range(100):
        world.submit(job(1, "select[mem>1TB]"))
        world.run(SECOND_US)
        states = [world.state.groups[number].state for number in (1, 2)]
        assert states.count("PENDING") == 1, "one has the domain, the other none of it"
    first = 1 if world.state.groups[1].state == "RUNNING" else 2
    second = 3 - first
    found = why(world, f"g{second}")
    assert (found.code, found.needed, found.available) == (Code.MEMBERS_SHORT, 2, 1)
    world.ask_body(c.Kill(actor=OPS, group=first))
    until_state(world, "group", second, "RUNNING")
    hosts = {
        share.host
        for one in world.state.jobs.values()
        if one.group == second
        for share in world.state.allocations[one.allocation].shares
    }
    assert hosts in ({"n1", "n2"}, {"n3", "n4"})


# -- 20: what runs is not placed anew --------------------------------------------------------------


def placements(world: World, group: int) -> dict[int, Any]:
    jobs = world.state.jobs.values()
    return {
        one.key: (one.attempt, world.state.allocations[one.allocation])
        for one in jobs
        if one.group == group and one.allocation
    }


def test_bug_20_a_loss_elsewhere_leaves_every_other_placement_as_it_was() -> None:
    """A member ends badly and is let be, another gang begins, a host comes: nothing of what the
    others have moves, to the last byte."""
    world = town(3)
    rules = (FailureRule(action="tolerate"),)
    world.scripts.lives["2"] = Life(run_us=5 * SECOND_US, code=1)
    number = world.submit_gang(
        gang(role("w", 3, min=1, tasks=2, resreq="span[hosts=1]", claims=(gpus(1),)), rules=rules)
    )
    until_state(world, "group", number, "RUNNING")
    before = placements(world, number)
    assert len(before) == 3
    world.run(20 * SECOND_US)
    world.submit_gang(gang(role("w", 2, tasks=1, claims=(gpus(1),))))
    world.add("n9", machine(4, 4))
    world.run(MINUTE_US)
    after = placements(world, number)
    assert after == {key: one for key, one in before.items() if key != 2}
    planned = [
        group for one in world.records if isinstance(one.body, Planned) for group in one.body.groups
    ]
    assert len([one for one in planned if one.group == number]) == 1


# -- 26: a large gang among small jobs -------------------------------------------------------------


def test_bug_26_a_gang_of_all_hosts_begins_within_the_longest_small_job() -> None:
    """Jobs of at most 40 s come faster than they go, each of one slot. A gang of everything waits
    no longer than what ran when it came, and what overtakes it is over by then."""
    world = town(3, slots=2)
    world.scripts.default = lambda name, attempt: Life(run_us=None)

    def one_more(limit_s: int) -> None:
        world.submit(job(1, "span[hosts=1]", run_limit_us=limit_s * SECOND_US))

    for number in range(6):
        one_more(10 + number % 4 * 10)
    world.run(SECOND_US)
    members, spec = role("w", 3, tasks=2, resreq="span[hosts=1]")
    spec = structs.replace(spec, run_limit_us=30 * SECOND_US)
    number = world.submit_gang(gang((members, spec)))
    asked_us = world.now_us
    while world.state.groups[number].state == "PENDING":
        one_more(10 + (world.now_us // SECOND_US) % 4 * 10)
        world.run(SECOND_US)
        assert world.now_us - asked_us <= 45 * SECOND_US, "the gang starves"
    over = [
        one for one in world.state.jobs.values()
        if not one.group and one.started_us > asked_us and one.state == "RUNNING"
    ]  # fmt: skip
    assert over == [], "who overtook it is over"

"""Gangs that go on without some of their ranks: growth, repair, grace, minima."""

from tests.core.lab import Life, states, until_state
from tests.core.ruling.test_actions import attempts, decisions, fails, kinds_of_starts, world_of
from tests.kit.words import OPS, gang, gpus, job, machine, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import SECOND_US
from xce.model.group import FailureRule
from xce.model.job import Topology

MINUTE_US = 60 * SECOND_US
TOLERATE = FailureRule(codes=((7, 7),), action="tolerate")


def elastic(least: int, count: int = 3, **rest: object) -> object:
    rest.setdefault("repairs", True)
    rest.setdefault("degraded_grace_us", 30 * SECOND_US)
    return gang(role("worker", count, min=least, claims=(gpus(4),)), **rest)


def host_of(world: World, key: int) -> str:
    return world.state.launches[world.state.jobs[key].launches[0]].host


def test_a_rank_that_did_not_fit_joins_when_there_is_room_and_nobody_is_moved() -> None:
    world = world_of(2)
    world.submit_gang(elastic(2, repairs=False))
    world.run(5 * SECOND_US)
    assert states(world, "job") == {1: "RUNNING", 2: "RUNNING", 3: "PENDING"}
    before = world.state.jobs[1], world.state.jobs[2]
    world.add("n3", machine(8, 4))
    until_state(world, "job", 3, "RUNNING")
    assert (world.state.jobs[1], world.state.jobs[2]) == before
    assert kinds_of_starts(world) == ["birth", "growth"]
    launch = world.state.launches[world.state.jobs[3].launches[0]]
    assert (launch.host, launch.first_rank) == ("n3", 2)
    assert dict(world.state.starts[2].world) == {"": 3, "worker": 3}
    world.rest()
    assert world.state.groups[1].state == "DONE"
    world.ledger.assert_whole()


def test_a_tolerated_rank_is_repaired_while_the_others_run_on() -> None:
    world = world_of(3)
    fails(world, 2, code=7)
    world.submit_gang(elastic(2, rules=[TOLERATE]))
    world.run(6 * SECOND_US)
    assert attempts(world) == [1, 2, 1]
    assert kinds_of_starts(world) == ["birth", "repair"]
    assert world.state.groups[1].degraded_us == 0
    world.rest()
    assert states(world, "job") == dict.fromkeys((1, 2, 3), "DONE")
    world.ledger.assert_whole()


def test_a_lost_host_that_no_rule_matches_degrades_and_its_rank_goes_where_the_gang_is() -> None:
    world = World({f"n{n}": machine(8, 4, domains={"block": f"b{n // 3}"}) for n in range(6)})
    world.up()
    world.scripts.default = lambda name, attempt: Life(run_us=MINUTE_US)
    world.submit_gang(elastic(1, 2, topology=Topology(required="block")))
    until_state(world, "job", 2, "RUNNING")
    kept, lost = world.state.jobs[1], host_of(world, 2)
    world.agents[lost].reboot()
    until_state(world, "job", 2, "STARTING")
    until_state(world, "job", 2, "RUNNING")
    assert world.state.jobs[1] == kept
    blocks = {dict(world.state.hosts[host_of(world, key)].facts.domains)["block"] for key in (1, 2)}
    assert len(blocks) == 1
    (decided,) = decisions(world)
    assert (decided.rule, decided.action) == (-1, "tolerate")


def test_what_is_not_repaired_within_its_grace_runs_again_whole() -> None:
    world = world_of(3)
    fails(world, 2, code=7)
    world.submit_gang(elastic(2, rules=[TOLERATE]))
    until_state(world, "job", 2, "RUNNING")
    host = host_of(world, 2)
    world.ask_body(c.HostEvent(actor=OPS, host=host, event="close"))
    world.run_until(lambda: bool(world.state.groups[1].degraded_us))
    since_us = world.state.groups[1].degraded_us
    world.run_until(lambda: len(decisions(world)) == 2)
    assert world.now_us - since_us in range(30 * SECOND_US, 31 * SECOND_US)
    last = decisions(world)[-1]
    assert (last.action, last.reason) == ("restart_group", "degraded: not repaired within 30s")
    world.run(10 * SECOND_US)
    assert attempts(world) == [2, 2, 1], "a start takes the lowest ranks, as many as fit"


def test_below_its_minimum_a_gang_does_not_wait_for_the_grace() -> None:
    world = world_of(3)
    fails(world, 2, code=7)
    world.submit_gang(elastic(3, rules=[TOLERATE], degraded_then="fail_group"))
    world.rest()
    assert [one.action for one in decisions(world)] == ["tolerate", "fail_group"]
    group = world.state.groups[1]
    assert (group.state, attempts(world)) == ("EXITED", [1, 1, 1])
    assert group.reason.endswith("worker is below its minimum")


def test_members_that_finish_one_by_one_are_neither_lost_nor_repaired() -> None:
    """Public bug 27: a gang that ends is no broken gang."""
    world = world_of(3)
    for key, seconds in ((1, 2), (2, 20), (3, 40)):
        world.scripts.lives[str(key)] = Life(run_us=seconds * SECOND_US)
    world.submit_gang(elastic(3))
    world.rest()
    assert (decisions(world), attempts(world)) == ([], [1, 1, 1])
    assert world.state.groups[1].state == "DONE"


def test_a_second_failure_during_a_repair_converges() -> None:
    """Public bug 28: two hosts die; the second while the first one's rank is being placed."""
    world = world_of(5)
    world.submit_gang(elastic(1, 3))
    until_state(world, "job", 3, "RUNNING")
    first, second = host_of(world, 2), host_of(world, 3)
    world.agents[first].reboot()
    until_state(world, "job", 2, "STARTING")
    world.agents[second].reboot()
    world.run(20 * SECOND_US)
    assert states(world, "job") == dict.fromkeys((1, 2, 3), "RUNNING")
    assert world.state.jobs[1].attempt == 1
    assert world.state.groups[1].degraded_us == 0


def test_a_degraded_gang_heals_or_is_released_beside_a_stream_of_small_jobs() -> None:
    """Public bug 5: nobody stays broken for ever."""
    world = world_of(2, slots=4)
    fails(world, 2, code=7)
    workers = role("worker", 2, min=1, tasks=4)
    grace_us = 30 * SECOND_US
    world.submit_gang(gang(workers, rules=[TOLERATE], repairs=True, degraded_grace_us=grace_us))
    until_state(world, "job", 2, "RUNNING")
    world.scripts.default = lambda name, attempt: Life(run_us=3 * SECOND_US)
    for _ in range(36):
        for _ in range(2):
            world.submit(job(1))
        world.run(SECOND_US)
    healed = attempts(world)[:2] == [1, 2]
    released = [one.action for one in decisions(world)] == ["tolerate", "restart_group"]
    assert healed or released

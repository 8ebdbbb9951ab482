"""Failures of members: one burst is one event, the first rule decides, budgets and back-offs."""

from tests.core.lab import Life, Provision, kinds, lab, pair, states, until_state
from tests.kit.words import gang, gpus, job, port, role
from tests.kit.world import World
from xce.model.config import SECOND_US
from xce.model.group import Backoff, FailureRule
from xce.model.records import FailureNoted, GroupDecided


def decisions(world: World) -> list[GroupDecided]:
    return [r.body for r in world.records if isinstance(r.body, GroupDecided)]


def long_lives(world: World) -> None:
    world.scripts.default = lambda name, attempt: Life(run_us=60 * SECOND_US)


def test_without_a_rule_the_first_failure_ends_the_gang_after_its_window() -> None:
    world = lab()
    long_lives(world)
    world.scripts.lives["1"] = Life(run_us=SECOND_US, code=3)
    world.submit_gang(pair())
    world.rest()
    (noted,) = [r for r in world.records if isinstance(r.body, FailureNoted)]
    assert noted.body.until_us == noted.at_us + SECOND_US  # type: ignore[attr-defined]
    (decided,) = decisions(world)
    assert (decided.rule, decided.action, decided.members) == (-1, "fail_group", (1,))
    assert decided.reason == "worker[0] exited with code 3"
    group = world.state.groups[1]
    assert (group.state, group.reason) == ("EXITED", "worker[0] exited with code 3")
    assert states(world, "job") == {1: "EXITED", 2: "EXITED"}
    assert [world.exit_of(key).reason for key in (1, 2)] == ["exit", "stopped"]
    world.ledger.assert_whole()


def test_two_failures_within_the_window_are_one_event() -> None:
    world = lab(3)
    long_lives(world)
    world.scripts.lives["1", 1] = Life(run_us=SECOND_US, code=1)
    world.scripts.lives["2", 1] = Life(run_us=SECOND_US, code=1)
    rule = FailureRule(codes=((1, 1),), action="restart_group", max_times=1)
    world.submit_gang(gang(role("worker", 3, claims=(gpus(4),)), rules=[rule]))
    world.rest()
    (decided,) = decisions(world)
    assert (decided.rule, decided.action, decided.members) == (0, "restart_group", (1, 2))
    group = world.state.groups[1]
    assert (group.state, group.spent) == ("DONE", (1,))
    assert [world.ledger.ran(key) for key in (1, 2, 3)] == [2, 2, 2]
    world.ledger.assert_whole()


def test_a_failure_after_the_window_is_another_event() -> None:
    world = lab()
    long_lives(world)
    world.scripts.lives["1", 1] = Life(run_us=SECOND_US, code=1)
    world.scripts.lives["1", 2] = Life(run_us=SECOND_US, code=1)
    rule = FailureRule(codes=((1, 1),), action="restart_group", max_times=1)
    world.submit_gang(pair(rules=[rule]))
    world.rest()
    assert [(one.rule, one.action) for one in decisions(world)] == [
        (0, "restart_group"),
        (-1, "fail_group"),
    ]
    assert world.state.groups[1].state == "EXITED"
    assert [world.ledger.ran(key) for key in (1, 2)] == [2, 2]
    world.ledger.assert_whole()


def test_a_failure_that_leaves_nobody_running_is_judged_at_once() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=SECOND_US, code=9)
    world.submit_gang(gang(role("only", 1)))
    world.rest()
    assert "FailureNoted" not in kinds(world, "g1")
    assert kinds(world, "g1")[-3:] == ["LaunchEnded", "GroupDecided", "GroupEnded"]


def test_restarts_wait_longer_each_time_and_give_the_allocation_up() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=SECOND_US, code=1)
    backoff = Backoff(first_us=5 * SECOND_US, factor=2, cap_us=300 * SECOND_US)
    rule = FailureRule(action="restart_group", max_times=3, backoff=backoff)
    world.submit_gang(pair(rules=[rule]))
    world.rest()
    restarts = decisions(world)[:3]
    records = [r for r in world.records if isinstance(r.body, GroupDecided)]
    waits = [
        body.not_before_us - record.at_us
        for body, record in zip(restarts, records[:3], strict=True)
    ]
    assert waits == [5 * SECOND_US, 10 * SECOND_US, 20 * SECOND_US]
    assert [start.kind for start in world.state.starts.values()] == [
        "birth", "restart", "restart", "restart",
    ]  # fmt: skip
    assert world.state.groups[1].state == "EXITED"
    generations = [claim.generation for claim in world.state.claims.values()]
    assert len(set(generations)) == 4
    world.ledger.assert_whole()


def test_a_group_claim_is_given_up_before_a_restart_begins() -> None:
    world = lab()
    long_lives(world)
    world.scripts.lives["1", 1] = Life(run_us=SECOND_US, code=1)
    rule = FailureRule(action="restart_group", backoff=Backoff(first_us=30 * SECOND_US))
    world.submit_gang(pair(rules=[rule]))
    world.run_until(lambda: "restart_group" in [one.action for one in decisions(world)])
    until_state(world, "group", 1, "PENDING")
    world.run(5 * SECOND_US)
    assert states(world, "claim") == {1: "RELEASED", 2: "RELEASED", 3: "RELEASED"}
    assert world.state.index.holders == {}
    world.rest()
    assert world.state.groups[1].state == "DONE"
    world.ledger.assert_whole()


def test_a_tolerated_failure_leaves_the_others_running_and_the_gang_ends_well() -> None:
    world = lab()
    long_lives(world)
    world.scripts.lives["1"] = Life(run_us=SECOND_US, code=7)
    world.submit_gang(pair(rules=[FailureRule(codes=((7, 7),), action="tolerate")]))
    world.rest()
    (decided,) = decisions(world)
    assert (decided.rule, decided.action) == (0, "tolerate")
    assert world.state.groups[1].state == "DONE"
    assert states(world, "job") == {1: "EXITED", 2: "DONE"}
    assert world.exit_of(1).code == 7
    assert world.ledger.ran(2) == 1
    world.ledger.assert_whole()


def test_a_lost_host_ranks_before_an_earlier_exit() -> None:
    world = lab()
    long_lives(world)
    rules = [
        FailureRule(codes=((1, 1),), action="fail_group"),
        FailureRule(reasons=("host_lost",), action="restart_group"),
    ]
    world.submit_gang(pair(rules=rules))
    world.run_until(lambda: set(states(world, "job").values()) == {"RUNNING"})
    first = next(iter(world.agents["n1"].launches.values()))
    first.life = Life(code=1)
    world.agents["n1"]._exits(first, 1)
    until_state(world, "job", 1, "FINISHED")
    world.agents["n2"].reboot()
    world.run(2 * SECOND_US)
    (decided,) = decisions(world)
    assert (decided.rule, decided.action) == (1, "restart_group")
    assert decided.reason == "worker[1] lost (host_lost)"
    world.rest()
    assert world.state.groups[1].state == "DONE"
    world.ledger.assert_whole()


def test_rules_name_signals_as_people_do() -> None:
    world = lab()
    long_lives(world)
    world.scripts.lives["1", 1] = Life(run_us=SECOND_US, signal=9)
    world.submit_gang(pair(rules=[FailureRule(signals=("KILL",), action="restart_group")]))
    world.rest()
    assert [one.action for one in decisions(world)] == ["restart_group"]
    assert decisions(world)[0].reason == "worker[0] was ended by signal 9 (signal)"
    assert world.state.groups[1].state == "DONE"


def test_a_rule_for_another_role_is_passed_over() -> None:
    world = lab()
    long_lives(world)
    world.scripts.lives["2"] = Life(run_us=SECOND_US, code=1)
    rules = [FailureRule(roles=("a",), action="tolerate"), FailureRule(action="fail_group")]
    world.submit_gang(gang(role("a", 1), role("b", 1), rules=rules))
    world.rest()
    assert [one.rule for one in decisions(world)] == [1]


def test_a_claim_that_is_lost_under_a_running_gang_stops_its_consumers() -> None:
    world = lab()
    long_lives(world)
    world.submit_gang(
        pair(rules=[FailureRule(reasons=("claim_lost",), action="restart_group", max_times=1)])
    )
    world.run_until(lambda: set(states(world, "job").values()) == {"RUNNING"})
    agent = world.agents["n1"]
    here = next(iter(agent.attachments.values()))
    here.phase = "failed"
    agent.tell_attachment(here, "failed", message="the port was taken away")
    world.rest()
    assert decisions(world)[0].action == "restart_group"
    assert decisions(world)[0].reason == "worker[0] was ended by signal 15 (claim_lost)"
    assert world.state.groups[1].state == "DONE"
    assert world.state.claims[1].state == "RELEASED"
    world.ledger.assert_whole()


def test_a_lost_helper_host_ends_a_parallel_job() -> None:
    world = lab()
    long_lives(world)
    world.submit(job(2, "span[ptile=1]"))
    world.run_until(lambda: set(states(world, "launch").values()) == {"RUNNING"})
    helper = next(one for one in world.state.launches.values() if not one.processes)
    world.agents[helper.host].reboot()
    world.rest(30 * SECOND_US)
    assert world.state.jobs[1].state == "EXITED"
    assert world.exit_of(1).reason == "host_lost"
    world.ledger.assert_whole()


def test_surplus_ranks_that_never_ran_end_well_with_their_gang() -> None:
    world = lab(2)
    world.submit_gang(gang(role("worker", 3, min=1, claims=(gpus(4),)), claims=(port(),)))
    world.rest()
    assert world.state.starts[1].members == (1, 2)
    assert states(world, "job") == {1: "DONE", 2: "DONE", 3: "DONE"}
    assert world.ledger.ran(3) == 0
    world.ledger.assert_whole()


def test_a_provider_that_cannot_take_down_keeps_only_its_own_claim() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(release="hang")
    world.submit_gang(pair())
    until_state(world, "group", 1, "DONE")
    world.run(60 * SECOND_US)
    assert states(world, "claim") == {1: "RELEASING", 2: "RELEASED", 3: "RELEASED"}
    assert (
        list(world.state.index.holders) == ["n1/port/20000"] or len(world.state.index.holders) == 1
    )
    world.submit_gang(pair())
    until_state(world, "group", 2, "DONE")


def test_the_window_of_a_burst_waits_for_a_silent_host_and_no_longer_than_its_grace() -> None:
    world = lab()
    long_lives(world)
    world.scripts.lives["1"] = Life(run_us=30 * SECOND_US, code=3)
    world.submit_gang(pair())
    until_state(world, "group", 1, "RUNNING")
    world.mute("n2")
    world.run_until(lambda: world.state.hosts["n2"].liveness == "SUSPECT")
    world.run_until(lambda: world.state.groups[1].window_opened_us > 0)
    opened_us = world.state.groups[1].window_opened_us
    world.run_until(lambda: bool(decisions(world)))
    (decided_at,) = [r.at_us for r in world.records if isinstance(r.body, GroupDecided)]
    grace_us = world.state.config.host_grace_us
    assert 2 * SECOND_US < decided_at - opened_us <= grace_us + SECOND_US
    world.unmute("n2")
    world.rest()
    assert world.state.groups[1].state == "EXITED"
    world.ledger.assert_whole()

"""Waves: a role's exec waits for the roles it depends on; all are ARMED before the pass."""

from tests.core.lab import Life, kinds, lab, states, until_state
from tests.kit.words import gang, port, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import SECOND_US
from xce.model.group import Backoff, FailureRule, Readiness
from xce.model.records import GroupDecided, RoleReady, WaveOpened


def line(ready: Readiness, **rest: object) -> c.SubmitGroup:
    """A launcher, and workers that wait for it."""
    return gang(
        role("launcher", 1, ready=ready),
        role("worker", 2, depends_on=("launcher",)),
        claims=(port(),),
        **rest,  # type: ignore[arg-type]
    )


def ran_at(world: World, key: int) -> int:
    return next(one.at_us for one in world.ledger.executed if one.job == str(key))


def test_a_role_is_ready_when_all_of_it_started() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=60 * SECOND_US)
    world.submit_gang(line(Readiness()))
    world.rest()
    story = kinds(world, "g1")
    first = story.index("BarrierPassed")
    assert story[first : first + 4] == ["BarrierPassed", "LaunchStarted", "RoleReady", "WaveOpened"]
    opened = next(r.body for r in world.records if isinstance(r.body, WaveOpened))
    assert (opened.wave, opened.launches) == (1, (2, 3))
    assert ran_at(world, 1) < ran_at(world, 2)
    world.ledger.assert_whole()


def test_all_waves_are_armed_before_the_pass() -> None:
    world = lab()
    world.scripts.lives["3", 1] = Life(prepare_us=20 * SECOND_US)
    world.submit_gang(line(Readiness()))
    until_state(world, "start", 1, "PASSED")
    assert world.state.starts[1].passed_us - world.state.starts[1].opened_us >= 20 * SECOND_US
    assert world.state.starts[1].armed == 3
    assert [world.state.launches[key].go for key in (1, 2, 3)] == [True, False, False]
    world.rest()
    world.ledger.assert_whole()


def test_a_role_that_is_ready_when_done_lets_the_next_wave_go_after_its_end() -> None:
    world = lab()
    world.scripts.lives["1"] = Life(run_us=30 * SECOND_US)
    world.submit_gang(line(Readiness(kind="done")))
    world.rest()
    assert ran_at(world, 2) - ran_at(world, 1) >= 30 * SECOND_US
    assert states(world, "job") == {1: "DONE", 2: "DONE", 3: "DONE"}
    world.ledger.assert_whole()


def test_a_port_that_opens_makes_its_role_ready() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(
        run_us=60 * SECOND_US, ready_us=7 * SECOND_US
    )
    world.submit_gang(line(Readiness(kind="port", port="rendezvous")))
    world.rest()
    assert ran_at(world, 2) - ran_at(world, 1) >= 7 * SECOND_US
    world.ledger.assert_whole()


def test_a_role_whose_member_is_over_before_the_others_start_is_ready_all_the_same() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=60 * SECOND_US)
    world.scripts.lives["1"] = Life(run_us=1_000)
    world.submit_gang(gang(role("front", 2), role("back", 1, depends_on=("front",))))
    until_state(world, "start", 1, "PASSED")
    world.mute(world.state.launches[2].host)
    if world.state.launches[1].host == world.state.launches[2].host:
        world.run(SECOND_US)
    world.unmute(world.state.launches[2].host)
    world.rest()
    assert states(world, "job") == {1: "DONE", 2: "DONE", 3: "DONE"}
    world.ledger.assert_whole()


def test_three_waves_open_one_after_the_other() -> None:
    world = lab()
    world.submit_gang(
        gang(
            role("a", 1),
            role("b", 1, depends_on=("a",), ready=Readiness(kind="done")),
            role("c", 1, depends_on=("b",)),
        )
    )
    world.rest()
    opened = [r.body.wave for r in world.records if isinstance(r.body, WaveOpened)]
    assert opened == [1, 2]
    ready = [r.body.role for r in world.records if isinstance(r.body, RoleReady)]
    assert ready[:2] == ["a", "b"]
    assert world.state.groups[1].state == "DONE"
    world.ledger.assert_whole()


def test_a_wave_that_is_not_ready_in_time_is_a_failure_of_its_role() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(
        run_us=600 * SECOND_US, ready_us=300 * SECOND_US
    )
    ready = Readiness(kind="port", port="rendezvous")
    world.submit_gang(line(ready, ready_timeout_us=20 * SECOND_US))
    until_state(world, "group", 1, "ENDING")
    decided = next(r for r in world.records if isinstance(r.body, GroupDecided))
    body = decided.body
    assert isinstance(body, GroupDecided)
    assert (body.rule, body.action) == (-1, "fail_group")
    assert body.reason == "launcher not ready 20 s after its wave opened"
    assert decided.at_us - world.state.starts[1].wave_opened_us == 20 * SECOND_US
    world.rest()
    assert world.state.groups[1].state == "EXITED"
    assert world.ledger.ran(2) == 0
    world.ledger.assert_whole()


def test_a_rule_may_run_a_gang_again_that_was_not_ready() -> None:
    world = lab()
    world.scripts.lives["1", 1] = Life(run_us=600 * SECOND_US, ready_us=300 * SECOND_US)
    world.scripts.lives["1", 2] = Life(run_us=600 * SECOND_US, ready_us=SECOND_US)
    rule = FailureRule(
        roles=("launcher",), reasons=("not_ready",), action="restart_group", max_times=1,
        backoff=Backoff(first_us=5 * SECOND_US),
    )  # fmt: skip
    ready = Readiness(kind="port", port="rendezvous")
    world.submit_gang(line(ready, ready_timeout_us=20 * SECOND_US, rules=[rule]))
    world.rest()
    group = world.state.groups[1]
    assert (group.state, group.spent) == ("DONE", (1,))
    assert [world.ledger.ran(key) for key in (1, 2, 3)] == [2, 1, 1]
    world.ledger.assert_whole()


def test_the_timer_of_an_old_start_does_not_touch_the_next_one() -> None:
    world = lab()
    world.scripts.lives["1", 1] = Life(run_us=SECOND_US, code=1)
    world.scripts.lives["1", 2] = Life(run_us=600 * SECOND_US, ready_us=19 * SECOND_US)
    ready = Readiness(kind="port", port="rendezvous")
    rule = FailureRule(codes=((1, 1),), action="restart_group")
    world.submit_gang(line(ready, ready_timeout_us=20 * SECOND_US, rules=[rule]))
    world.rest()
    assert world.state.groups[1].state == "DONE"
    assert [r.body.action for r in world.records if isinstance(r.body, GroupDecided)] == [
        "restart_group"
    ]
    world.ledger.assert_whole()

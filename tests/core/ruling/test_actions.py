"""What each action of a failure rule runs again, and what it leaves alone."""

import pytest

from tests.core.lab import Life, kinds, lab, states, until_state
from tests.kit.words import ANNA, gang, gpus, job, port, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import SECOND_US, RetryConfig
from xce.model.group import Backoff, FailureRule, Readiness
from xce.model.records import FailureNoted, GroupDecided, StartFailed

LONG = Life(run_us=60 * SECOND_US)


def decisions(world: World) -> list[GroupDecided]:
    return [r.body for r in world.records if isinstance(r.body, GroupDecided)]


def world_of(count: int = 4, **rest: object) -> World:
    world = lab(count, **rest)
    world.scripts.default = lambda name, attempt: LONG
    return world


def fails(world: World, key: int, *attempts: int, after_us: int = SECOND_US, code: int = 1) -> None:
    for attempt in attempts or (1,):
        world.scripts.lives[str(key), attempt] = Life(run_us=after_us, code=code)


def attempts(world: World) -> list[int]:
    return [one.attempt for _, one in sorted(world.state.jobs.items())]


def kinds_of_starts(world: World) -> list[str]:
    return [one.kind for _, one in sorted(world.state.starts.items())]


def trainer(rules: list[FailureRule], workers: int = 3, **rest: object) -> object:
    return gang(
        role("launcher", 1), role("worker", workers, claims=(gpus(4),)), rules=rules, **rest
    )


def test_restart_member_runs_only_what_failed_again_and_in_its_place() -> None:
    world = world_of()
    fails(world, 3)
    world.submit_gang(trainer([FailureRule(action="restart_member")]))
    world.run(5 * SECOND_US)
    assert world.state.groups[1].state == "RUNNING"
    assert attempts(world) == [1, 1, 2, 1]
    assert kinds_of_starts(world) == ["birth", "restart"]
    assert states(world, "job") == dict.fromkeys((1, 2, 3, 4), "RUNNING")
    old, new = (one for one in world.state.launches.values() if one.job == 3)
    assert (new.first_rank, old.first_rank) == (2, 2)
    env = next(one for one in world.agents[new.host].launches.values() if one.number == new.number)
    assert env.task is not None
    told = {name: env.task.env[name] for name in ("XCE_WORLD_SIZE", "XCE_MEMBER_COUNT")}
    assert told == {"XCE_WORLD_SIZE": "4", "XCE_MEMBER_COUNT": "3"}
    (decided,) = decisions(world)
    assert (decided.action, decided.members) == ("restart_member", (3,))
    world.rest()
    assert world.state.groups[1].state == "DONE"
    world.ledger.assert_whole()


def test_restart_role_runs_those_of_the_role_again_that_had_finished() -> None:
    world = world_of()
    world.scripts.lives["2", 1] = Life(run_us=SECOND_US)
    fails(world, 3, after_us=3 * SECOND_US)
    world.submit_gang(trainer([FailureRule(action="restart_role")]))
    world.run(10 * SECOND_US)
    assert attempts(world) == [1, 2, 2, 2]
    assert world.state.starts[2].members == (2, 3, 4)
    assert world.state.jobs[1].state == "RUNNING"
    world.rest()
    assert world.state.groups[1].state == "DONE"
    world.ledger.assert_whole()


def test_restart_member_leaves_those_alone_that_had_finished() -> None:
    world = world_of()
    world.scripts.lives["2", 1] = Life(run_us=SECOND_US)
    fails(world, 3, after_us=3 * SECOND_US)
    world.submit_gang(trainer([FailureRule(action="restart_member")]))
    world.rest()
    assert attempts(world) == [1, 1, 2, 1]
    assert world.state.groups[1].state == "DONE"


def test_restart_group_runs_all_again_also_what_had_finished() -> None:
    world = world_of()
    world.scripts.lives["2", 1] = Life(run_us=SECOND_US)
    fails(world, 3, after_us=3 * SECOND_US)
    world.submit_gang(trainer([FailureRule(action="restart_group")]))
    world.rest()
    assert attempts(world) == [2, 2, 2, 2]
    assert kinds_of_starts(world) == ["birth", "restart"]
    world.ledger.assert_whole()


def test_requeue_lets_those_go_first_that_came_later() -> None:
    world = world_of(2)
    fails(world, 1)
    world.submit_gang(
        gang(role("worker", 2, claims=(gpus(4),)), rules=[FailureRule(action="requeue")])
    )
    world.submit_gang(gang(role("worker", 2, claims=(gpus(4),))))
    until_state(world, "group", 2, "RUNNING")
    assert world.state.groups[1].state == "PENDING"
    world.rest()
    assert [world.state.groups[one].state for one in (1, 2)] == ["DONE", "DONE"]


def test_restart_group_keeps_its_place_in_the_queue() -> None:
    world = world_of(2)
    fails(world, 1)
    rule = FailureRule(action="restart_group")
    world.submit_gang(gang(role("worker", 2, claims=(gpus(4),)), rules=[rule]))
    world.submit_gang(gang(role("worker", 2, claims=(gpus(4),))))
    world.run(10 * SECOND_US)
    assert (world.state.groups[1].state, world.state.groups[2].state) == ("RUNNING", "PENDING")


@pytest.mark.parametrize("action", ["restart_member", "restart_group", "restart_role"])
def test_a_failed_member_does_not_come_back_to_the_host_that_its_rule_avoids(action: str) -> None:
    world = world_of(4)
    fails(world, 1)
    rule = FailureRule(action=action, avoid_host=True)
    world.submit_gang(gang(role("worker", 2, claims=(gpus(4),)), rules=[rule]))
    until_state(world, "job", 1, "RUNNING")
    failed_on = world.state.launches[1].host
    world.run(10 * SECOND_US)
    hosts = {world.state.launches[one].host for one in world.state.jobs[1].launches}
    assert world.state.jobs[1].state == "RUNNING"
    assert failed_on not in hosts
    assert world.state.jobs[1].avoid == (failed_on,)


def test_what_no_rule_could_keep_is_stopped_at_once_not_after_the_window() -> None:
    world = world_of()
    fails(world, 2)
    world.submit_gang(trainer([FailureRule(action="restart_group", max_times=1)]))
    world.run_until(lambda: any(isinstance(r.body, FailureNoted) for r in world.records))
    at_us = world.now_us
    assert {one.state for one in world.state.launches.values()} == {"EXITED", "STOPPING"}
    world.run_until(lambda: bool(decisions(world)))
    assert world.now_us - at_us < 100_000, "all were gone before the window of a second was over"
    (decided,) = decisions(world)
    assert (decided.members, world.state.groups[1].spent) == ((2,), (1,))
    world.rest()


def test_a_burst_waits_where_a_lost_host_could_yet_keep_the_others() -> None:
    world = world_of()
    fails(world, 2)
    rules = [
        FailureRule(reasons=("host_lost",), action="restart_member"),
        FailureRule(action="fail_group"),
    ]
    world.submit_gang(trainer(rules))
    world.run_until(lambda: any(isinstance(r.body, FailureNoted) for r in world.records))
    assert "STOPPING" not in states(world, "launch").values()
    world.rest()
    assert world.state.groups[1].state == "EXITED"


def test_a_restart_for_a_lost_host_covers_what_failed_with_it() -> None:
    world = world_of(5)
    rules = [
        FailureRule(reasons=("host_lost",), action="restart_member"),
        FailureRule(codes=((1, 1),), action="fail_group"),
    ]
    fails(world, 2, after_us=40 * SECOND_US)
    world.submit_gang(trainer(rules))
    until_state(world, "job", 4, "RUNNING")
    host = next(one.host for one in world.state.launches.values() if one.job == 4)
    world.run(39_900_000)
    world.mute(host)
    world.run(300_000)
    assert world.state.jobs[2].state == "FINISHED"
    world.unmute(host)
    world.agents[host].reboot()
    world.run(10 * SECOND_US)
    (decided,) = decisions(world)
    assert (decided.rule, decided.members) == (0, (2, 4))
    assert attempts(world) == [1, 2, 1, 2]
    world.rest()
    assert world.state.groups[1].state == "DONE"


def test_eight_failures_at_once_are_one_restart_of_the_role_and_stopping_counts_for_none() -> None:
    """Public bug 10: the restart storm."""
    world = world_of(2, slots=8)
    for key in range(2, 10):
        fails(world, key)
    rule = FailureRule(action="restart_role", max_times=1, backoff=Backoff(first_us=5 * SECOND_US))
    world.submit_gang(gang(role("launcher", 1), role("worker", 8), rules=[rule]))
    world.rest()
    (decided,) = decisions(world)
    assert decided.members == tuple(range(2, 10))
    assert decided.not_before_us > 0
    assert world.state.groups[1].spent == (1,)
    assert attempts(world) == [1] + [2] * 8
    assert world.state.groups[1].state == "DONE"


def test_failures_of_two_kinds_are_judged_by_their_own_rules() -> None:
    world = world_of()
    fails(world, 2, code=3)
    fails(world, 3, code=4, after_us=SECOND_US + 200_000)
    rules = [
        FailureRule(codes=((3, 3),), action="tolerate"),
        FailureRule(codes=((4, 4),), action="restart_member"),
    ]
    world.submit_gang(trainer(rules))
    world.rest()
    found = [(one.rule, one.action, one.members) for one in decisions(world)]
    assert found == [(0, "tolerate", (2,)), (1, "restart_member", (3,))]
    assert attempts(world) == [1, 1, 2, 1]
    assert len([r for r in world.records if isinstance(r.body, FailureNoted)]) == 1


def test_a_restart_that_cannot_start_uses_its_retries_up_and_ends_the_gang() -> None:
    world = world_of()
    fails(world, 3)
    world.scripts.lives["3", 2] = world.scripts.lives["3", 3] = Life(prepare="fail")
    world.scripts.lives["3", 4] = Life(prepare="fail")
    retries = RetryConfig(max=2, first_us=SECOND_US, factor=2, cap_us=60 * SECOND_US)
    world.submit_gang(trainer([FailureRule(action="restart_member")], retries=retries))
    world.rest()
    group = world.state.groups[1]
    assert group.state == "EXITED"
    assert group.reason.startswith("start_failed (restart): start_lost: worker[1] on ")
    failed = [r.body for r in world.records if isinstance(r.body, StartFailed)]
    assert [one.start for one in failed] == [2, 3, 4]
    assert kinds(world, "g1").count("StartFailed") == 3
    world.ledger.assert_whole()


def test_a_restart_that_once_fails_to_start_is_tried_again() -> None:
    world = world_of()
    fails(world, 3)
    world.scripts.lives["3", 2] = Life(prepare="fail")
    world.submit_gang(trainer([FailureRule(action="restart_member")]))
    world.rest()
    assert attempts(world) == [1, 1, 3, 1]
    assert world.state.groups[1].state == "DONE"
    assert world.state.jobs[3].start_failures == 0


def test_waves_hold_within_a_restart_of_two_roles() -> None:
    world = world_of(3, gpu_count=0)
    ready = Readiness(kind="port", port="rendezvous")
    world.scripts.default = lambda name, attempt: Life(
        run_us=60 * SECOND_US, ready_us=2 * SECOND_US
    )
    fails(world, 1, after_us=5 * SECOND_US)
    world.submit_gang(
        gang(
            role("launcher", 1, ready=ready),
            role("worker", 2, depends_on=("launcher",)),
            rules=[FailureRule(roles=("launcher",), action="restart_role")],
            claims=(port(),),
        )
    )
    world.run(20 * SECOND_US)
    assert attempts(world) == [2, 1, 1]
    start = world.state.starts[2]
    assert (start.state, start.waves, start.ready_roles) == ("PASSED", 1, ("launcher",))
    assert world.state.launches[start.launches[0]].host == world.state.launches[1].host
    assert len([one for one in world.state.claims.values() if one.scope == "group"]) == 1
    world.rest()
    assert world.state.groups[1].state == "DONE"
    world.ledger.assert_whole()


def test_claims_of_a_role_are_made_again_with_the_role_and_serve_a_member_that_restarts() -> None:
    world = world_of(3)
    fails(world, 2, 1, 2)
    rules = [
        FailureRule(action="restart_member", max_times=1),
        FailureRule(action="restart_role"),
    ]
    own = port("store", scope="role")
    world.submit_gang(gang(role("launcher", 1), role("worker", 2, claims=(own,)), rules=rules))
    until_state(world, "job", 2, "FINISHED")
    until_state(world, "job", 2, "RUNNING")
    assert [one.state for one in world.state.claims.values()] == ["BOUND"]
    world.run(10 * SECOND_US)
    assert attempts(world) == [1, 3, 2]
    assert [one.state for one in world.state.claims.values()] == ["RELEASED", "BOUND"]
    world.rest()
    world.ledger.assert_whole()


def test_killing_a_gang_whose_member_is_being_restarted_ends_all_of_it() -> None:
    world = world_of()
    fails(world, 3)
    rule = FailureRule(action="restart_member", backoff=Backoff(first_us=30 * SECOND_US))
    world.submit_gang(trainer([rule]))
    world.run(5 * SECOND_US)
    assert world.state.jobs[3].state == "PENDING"
    world.ask_body(c.Kill(actor=ANNA, group=1))
    world.rest()
    assert world.state.groups[1].state == "EXITED"
    assert attempts(world) == [1, 1, 1, 1]
    world.ledger.assert_whole()


def test_a_killed_gang_waits_for_what_its_restart_had_begun_to_prepare() -> None:
    """All others had ended: nothing else of the gang was live when it was killed."""
    world = world_of()
    world.scripts.default = lambda name, attempt: Life(run_us=SECOND_US)
    fails(world, 3)
    world.scripts.lives["3", 2] = Life(prepare_us=30 * SECOND_US)
    world.submit_gang(trainer([FailureRule(action="restart_role")]))
    world.run(5 * SECOND_US)
    assert [one.state for one in world.state.starts.values()] == ["PASSED", "OPEN"]
    world.ask_body(c.Kill(actor=ANNA, group=1))
    left = [one.state for one in world.state.launches.values() if one.attempt == 2]
    assert (world.state.groups[1].state, left) == ("ENDING", ["STOPPING"] * 3)
    world.rest()
    assert world.state.groups[1].state == "EXITED"
    world.ledger.assert_whole()


def test_a_restart_waits_for_room_and_others_run_on() -> None:
    world = world_of(4)
    fails(world, 4)
    rule = FailureRule(action="restart_member", backoff=Backoff(first_us=5 * SECOND_US))
    world.submit_gang(trainer([rule]))
    until_state(world, "job", 4, "PENDING")
    for _ in range(2):
        world.submit(job(8, resreq="span[hosts=1] rusage[mem=6GB]"))
    world.run(5 * SECOND_US)
    assert world.state.groups[1].state == "RUNNING"
    world.rest()
    assert world.state.groups[1].state == "DONE"


def test_eight_failures_of_which_seven_were_stopped_are_one_restart() -> None:
    world = world_of(2, slots=8)
    fails(world, 2)
    rule = FailureRule(action="restart_role", max_times=1)
    world.submit_gang(gang(role("launcher", 1), role("worker", 8), rules=[rule]))
    world.rest()
    (decided,) = decisions(world)
    assert (decided.members, attempts(world)) == ((2,), [1] + [2] * 8)
    first = [one for one in world.state.launches.values() if one.job > 2 and one.attempt == 1]
    assert {(one.how, one.code) for one in first} == {("signalled", 15)}


def test_what_failed_goes_elsewhere_and_what_had_not_may_come_back() -> None:
    world = world_of(3)
    fails(world, 1)
    rule = FailureRule(action="restart_member", avoid_host=True)
    world.submit_gang(gang(role("worker", 2, claims=(gpus(4),)), rules=[rule]))
    world.run(10 * SECOND_US)
    assert world.state.jobs[1].avoid == ("n1",)
    hosts = [world.state.launches[world.state.jobs[key].launches[0]].host for key in (1, 2)]
    assert hosts == ["n3", "n2"]

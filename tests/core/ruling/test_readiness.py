"""Roles that are not ready in time, and what breaks before they are."""

from tests.core.lab import Life, states, until_state
from tests.core.ruling.test_actions import attempts, world_of
from tests.kit.words import ANNA, gang, port, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import SECOND_US
from xce.model.group import FailureRule, Readiness


def late(action: str) -> World:
    """A gang whose launcher never becomes ready."""
    world = world_of(3, gpu_count=0)
    ready = Readiness(kind="port", port="rendezvous")
    world.scripts.lives["1", 1] = Life(run_us=60 * SECOND_US, ready_us=600 * SECOND_US)
    rule = FailureRule(reasons=("not_ready",), action=action, max_times=1)
    world.submit_gang(
        gang(
            role("launcher", 1, ready=ready),
            role("worker", 2),
            rules=[rule],
            claims=(port(),),
            ready_timeout_us=5 * SECOND_US,
        )
    )
    world.run(8 * SECOND_US)
    return world


def test_a_role_that_is_not_ready_in_time_ends_what_runs_of_its_gang() -> None:
    world = late("fail_group")
    assert world.state.groups[1].state == "EXITED"
    assert set(states(world, "launch").values()) == {"EXITED"}


def test_a_role_that_is_not_ready_in_time_lets_its_gang_run_again() -> None:
    world = late("restart_group")
    assert world.state.groups[1].state == "RUNNING"
    assert attempts(world) == [2, 2, 2]
    world.rest()
    world.ledger.assert_whole()


def test_a_role_that_is_not_ready_in_time_runs_again_alone() -> None:
    world = late("restart_role")
    assert attempts(world) == [2, 1, 1]
    assert world.state.starts[2].ready_roles == ("launcher",)


def test_a_gang_that_breaks_while_it_is_suspended_is_not_suspended_any_more() -> None:
    world = world_of(3, gpu_count=0)
    world.scripts.default = lambda name, attempt: Life(run_us=None, ready_us=600 * SECOND_US)
    ready = Readiness(kind="port", port="rendezvous")
    world.submit_gang(
        gang(
            role("launcher", 1, ready=ready, resreq="span[hosts=1] rusage[mem=5GB]", tasks=8),
            role("worker", 1, depends_on=("launcher",), tasks=8),
            claims=(port(),),
        )
    )
    until_state(world, "job", 1, "RUNNING")
    world.ask_body(c.Suspend(actor=ANNA, group=1))
    world.run(SECOND_US)
    parked = next(one for one in world.state.launches.values() if one.job == 2)
    world.agents[parked.host].reboot()
    world.run_until(lambda: world.state.jobs[1].attempt == 2)
    assert {one.suspension for one in world.state.jobs.values()} == {"ACTIVE"}

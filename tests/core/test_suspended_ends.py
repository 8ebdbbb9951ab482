"""How suspended work ends, and what becomes of it when hosts, agents or leaders do."""

import pytest

from tests.core.lab import MINUTE_US, lab, until_state
from tests.core.suspended import FOR_EVER, running, stop, used
from tests.kit.words import ANNA, job
from xce.controller.core import commands as c
from xce.controller.core.orders.wanted import order_of_launch
from xce.dispatch import protocol as p
from xce.dispatch.protocol import GONE, RUNNING
from xce.model.config import SECOND_US


def test_a_suspended_job_that_is_killed_does_not_run_in_room_that_others_have() -> None:
    world = running()
    stop(world)
    world.scripts.lives["2"] = FOR_EVER
    world.submit(job(4))
    until_state(world, "job", 2, "RUNNING")
    world.step([c.Kill(actor=ANNA, job=1)])
    order = order_of_launch(world.state, 1)
    assert (order.target, order.freeze) == (GONE, 1)
    until_state(world, "job", 1, "EXITED")
    assert used(world) == {"slots": 4}


def test_a_suspended_job_that_lent_nothing_goes_on_so_that_it_can_end_gently() -> None:
    world = running()
    world.mute("n1")
    world.step([c.Suspend(actor=ANNA, job=1)])
    assert (order_of_launch(world.state, 1).target, order_of_launch(world.state, 1).freeze) == (
        RUNNING, 1
    )  # fmt: skip
    world.step([c.Kill(actor=ANNA, job=1)])
    assert (order_of_launch(world.state, 1).target, order_of_launch(world.state, 1).freeze) == (
        GONE, 2
    )  # fmt: skip


def test_a_suspended_job_whose_host_is_lost_gives_everything_back() -> None:
    world = running(2)
    stop(world)
    host = world.state.launches[1].host
    world.mute(host)
    world.run(2 * MINUTE_US)
    world.lose(host)
    assert world.state.jobs[1].state == "EXITED"
    assert used(world) == {}


def test_a_part_that_is_lost_takes_its_lent_part_with_it() -> None:
    world = running(2, slots=4, tasks=8)
    stop(world)
    assert {share.host for share in world.state.allocations[1].lent} == {"n1", "n2"}
    world.mute("n2")
    world.run(2 * MINUTE_US)
    world.lose("n2")
    world.rest()
    assert used(world, "n1") == used(world, "n2") == {}
    world.ledger.assert_whole()


@pytest.mark.parametrize("when", ["asked", "frozen", "resuming"])
def test_a_new_leader_knows_who_is_suspended(when: str) -> None:
    world = running()
    world.step([c.Suspend(actor=ANNA, job=1)])
    if when != "asked":
        world.run(SECOND_US)
    if when == "resuming":
        world.step([c.Resume(actor=ANNA, job=1)])
    world.change_leader()
    world.run(10 * SECOND_US)
    expected = "ACTIVE" if when == "resuming" else "SUSPENDED"
    assert world.state.jobs[1].suspension == expected
    assert bool(world.state.allocations[1].lent) == (expected == "SUSPENDED")


@pytest.mark.parametrize("asked", ["Suspend", "Resume"])
def test_an_agent_that_restarts_tells_again_what_it_has_frozen(asked: str) -> None:
    world = running()
    if asked == "Resume":
        stop(world)
        world.step([c.Resume(actor=ANNA, job=1)])
    else:
        world.step([c.Suspend(actor=ANNA, job=1)])
    world.agents["n1"].restart()
    world.run(5 * SECOND_US)
    assert world.state.jobs[1].suspension == ("SUSPENDED" if asked == "Suspend" else "ACTIVE")


def test_a_reboot_ends_what_was_suspended() -> None:
    world = running()
    stop(world)
    world.agents["n1"].reboot()
    world.rest()
    assert (world.state.jobs[1].state, world.state.jobs[1].suspension) == ("EXITED", "ACTIVE")
    world.ledger.assert_whole()


def test_a_report_that_nobody_asked_for_closes_its_host() -> None:
    world = running()
    agent = world.agents["n1"]
    agent.put(p.Frozen, launch=1, generation=world.state.launches[1].generation, freeze=5)
    world.run(SECOND_US)
    assert world.state.hosts["n1"].admin == "CLOSED"


def test_a_job_whose_start_breaks_while_it_is_suspended_begins_again_whole() -> None:
    world = lab(2, slots=4)
    world.scripts.lives["1"] = FOR_EVER
    world.submit(job(8))
    world.run_until(lambda: bool(world.state.starts) and world.state.starts[1].state == "PASSED")
    world.mute("n2")
    until_state(world, "job", 1, "RUNNING")
    world.step([c.Suspend(actor=ANNA, job=1)])
    (parked,) = world.agents["n2"].launches.values()
    world.agents["n2"].over(parked, how="aborted", cause_of_end="prepare_failed", ran="no")
    world.unmute("n2")
    world.run_until(lambda: world.state.jobs[1].attempt == 2)
    found = world.state.jobs[1]
    assert (found.suspension, found.suspended_us, found.suspended_by) == ("ACTIVE", 0, "")

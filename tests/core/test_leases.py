"""Work that stops when its host is cut off: the controller waits 1.02 L + kill grace + 10 s."""

import pytest

from tests.core.lab import MINUTE_US, Life, lab, since, until_state
from tests.kit.words import gang, gpus, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome, decide
from xce.dispatch import protocol as p
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US
from xce.model.group import FailureRule
from xce.model.records import LaunchEnded

L_US = 60 * SECOND_US
PATIENCE_US = 81_200_000
"""By hand: 1.02 * 60 s = 61.2 s; the kill grace of 10 s; the margin of 10 s."""
FOREVER = Life(run_us=None)
RESTART = (FailureRule(reasons=("host_lost",), action="restart_group"),)


def first_forever(name: str, attempt: int) -> Life:
    """The first attempt runs until it is stopped."""
    return FOREVER if attempt == 1 else Life(run_us=SECOND_US)


def leased(world: World) -> World:
    """A plain job with a lease runs on n1; then the line to n1 is cut."""
    world.scripts.default = lambda name, attempt: FOREVER
    world.submit(job(stop_after_us=L_US))
    until_state(world, "job", 1, "RUNNING")
    world.mute("n1")
    world.run_until(lambda: world.state.hosts["n1"].liveness == "DOWN")
    return world


def asked(world: World, quiet_us: int, now_us: int) -> list[str]:
    """Kinds of the records that a silence of that length gives."""
    command = c.LeasesOver(actor=CONTROLLER, host="n1", quiet_us=quiet_us)
    answer = decide(world.state, command, now_us)
    assert isinstance(answer, Outcome)
    return [record.kind for record in answer.records]


def test_not_one_microsecond_before_its_time() -> None:
    world = leased(lab(1))
    assert (world.state.starts[1].stop_after_us, world.state.starts[1].kill_grace_us) == (
        L_US, 10 * SECOND_US,
    )  # fmt: skip
    late_us = world.now_us + 10 * MINUTE_US
    assert asked(world, PATIENCE_US - 1, late_us) == []
    assert asked(world, PATIENCE_US, late_us) == ["HostChanged", "LaunchEnded"]


def test_a_new_leader_waits_from_its_own_beginning() -> None:
    world = leased(lab(1))
    world.change_leader()
    led_us = world.state.last("leader_us")
    world.run_until(lambda: world.state.hosts["n1"].liveness == "DOWN")
    assert asked(world, 10 * MINUTE_US, led_us + PATIENCE_US - 1) == []
    assert asked(world, 10 * MINUTE_US, led_us + PATIENCE_US) == ["HostChanged", "LaunchEnded"]


def test_the_loss_names_time_and_no_holding_is_free_before() -> None:
    world = leased(lab(1))
    cut_us, lsn = world.now_us, world.state.lsn
    world.run_until(lambda: world.state.jobs[1].state == "EXITED")
    assert world.exit_of(1).reason == "host_lost"
    ended = next(r for r in since(world, lsn) if isinstance(r.body, LaunchEnded))
    assert (ended.body.evidence, ended.body.how, ended.body.ran) == ("time", "lost", "yes")
    for record in since(world, lsn):
        if record.lsn < ended.lsn:
            assert not any(change.what == "allocation" for change in record.body.then)
    assert ended.at_us - cut_us > 20 * SECOND_US
    assert world.ledger.physical() == []
    world.unmute("n1")
    world.run(MINUTE_US)
    assert (world.state.launches[1].state, world.state.hosts["n1"].liveness) == ("LOST", "UP")
    world.ledger.assert_whole()


def test_work_without_a_lease_beside_it_is_not_lost() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: FOREVER
    world.submit(job())
    leased_one = world.submit(job(stop_after_us=L_US))
    until_state(world, "job", leased_one, "RUNNING")
    world.mute("n1")
    world.run(5 * MINUTE_US)
    assert world.state.jobs[leased_one].state == "EXITED"
    assert world.state.launches[1].state == "RUNNING"
    assert world.ledger.physical() == [1]


def test_a_gang_whose_host_is_cut_off_goes_by_its_rules_and_never_runs_twice_at_once() -> None:
    world = lab(3)
    world.scripts.default = first_forever
    world.submit_gang(gang(role("worker", 2, claims=(gpus(4),)), rules=RESTART, stop_after_us=L_US))
    until_state(world, "group", 1, "RUNNING")
    cut = world.state.launches[2].host
    world.mute(cut)
    muted_us = world.now_us
    world.run_until(lambda: world.state.groups[1].state == "DONE")
    again = [one for one in world.ledger.executed if one.attempt == 2]
    assert len(again) == 2
    assert all(one.at_us >= muted_us + L_US for one in again)
    assert cut not in {one.host for one in again}
    world.unmute(cut)
    world.rest()
    world.ledger.assert_whole()


def test_an_answer_that_comes_late_renews_from_when_the_poll_was_sent() -> None:
    world = lab(3)
    world.scripts.default = first_forever
    world.submit_gang(gang(role("worker", 2, claims=(gpus(4),)), rules=RESTART, stop_after_us=L_US))
    until_state(world, "group", 1, "RUNNING")
    agent = world.agents[world.state.launches[2].host]
    world.mute(agent.name)
    sent_us = world.now_us
    late = p.Orders(protocol=1, epoch=agent.epoch, incarnation=agent.incarnation, stamp=agent.stamp)

    def arrives() -> None:
        agent.muted = False
        agent.answered((agent.life, sent_us), agent.incarnation, late)
        agent.muted = True

    world.after(30 * SECOND_US, arrives)
    world.run_until(lambda: world.state.groups[1].state == "DONE")
    assert agent.renewed_us == sent_us


def test_a_host_that_stopped_its_work_and_comes_back_early_tells_it_itself() -> None:
    world = leased(lab(1))
    world.run(13 * SECOND_US)
    assert world.ledger.physical() == []
    assert world.state.launches[1].state == "RUNNING"
    world.unmute("n1")
    world.rest()
    launch = world.state.launches[1]
    assert (launch.state, launch.cause_of_end) == ("EXITED", "lease")
    assert (world.state.jobs[1].state, world.exit_of(1).reason) == ("EXITED", "host_lost")


def test_polls_that_are_answered_keep_it_alive() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: FOREVER
    world.submit(job(stop_after_us=30 * SECOND_US))
    until_state(world, "job", 1, "RUNNING")
    for _ in range(10):
        world.mute("n1")
        world.run(20 * SECOND_US)
        world.unmute("n1")
        world.run(2 * SECOND_US)
    world.agents["n1"].restart()
    world.run(MINUTE_US)
    assert world.state.jobs[1].state == "RUNNING"


def test_nobody_leads_for_longer_than_the_lease() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: FOREVER
    world.submit(job(stop_after_us=L_US))
    until_state(world, "job", 1, "RUNNING")
    world.die()
    world.run(100 * SECOND_US)
    assert world.ledger.physical() == []
    world.lead()
    world.rest()
    assert (world.state.jobs[1].state, world.exit_of(1).reason) == ("EXITED", "host_lost")


def test_the_grace_is_the_one_that_the_host_was_told() -> None:
    world = leased(lab(1, config=settings(kill_grace_us=40 * SECOND_US)))
    world.ask(
        c.LoadConfig(actor=CONTROLLER, config=settings(kill_grace_us=SECOND_US), digest="less")
    )
    late_us = world.now_us + 10 * MINUTE_US
    assert asked(world, PATIENCE_US + 30 * SECOND_US - 1, late_us) == []
    assert asked(world, PATIENCE_US + 30 * SECOND_US, late_us) != []


def test_a_host_of_before_that_keeps_no_lease_is_not_let_go() -> None:
    world = lab(1)
    world.agents["n1"].can = ()
    world.agents["n1"].restart()
    world.run(2 * SECOND_US)
    world.submit(job())
    world.submit(job(stop_after_us=L_US))
    world.run(30 * SECOND_US)
    assert world.ledger.ran(1) == 1
    assert world.ledger.ran(2) == 0
    world.run(MINUTE_US)
    told = world.state.jobs[2].last_failure
    assert told == ("barrier_timeout: host n1 does not keep the lease (stop_after) of this work")


@pytest.mark.parametrize(("given_us", "is_taken"), [(29_999_999, False), (30_000_000, True)])
def test_a_lease_lasts_two_silences_at_least(given_us: int, is_taken: bool) -> None:
    world = lab(1)
    both = (
        world.ask(job(stop_after_us=given_us)),
        world.ask(gang(role("worker", 1), stop_after_us=given_us)),
    )
    for answer in both:
        assert isinstance(answer, Outcome) is is_taken
        if isinstance(answer, c.Rejection):
            assert answer.message == "stop_after must be at least 30s, twice suspect_after"


def test_an_operator_may_be_quicker_than_time() -> None:
    world = leased(lab(1))
    world.lose("n1")
    ended = [r.body for r in world.records if isinstance(r.body, LaunchEnded)]
    assert [body.evidence for body in ended] == ["operator operator:501"]

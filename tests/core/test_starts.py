"""Starts: passed, failed with the culprit named, broken after the pass, tried again, given up."""

from itertools import pairwise

from tests.core.lab import (
    MINUTE_US,
    Life,
    Provision,
    armed,
    failure_of,
    kinds,
    lab,
    nothing_held,
    pair,
    since,
    states,
    until_state,
)
from tests.kit.words import OPS, gang, gpus, job, role, settings
from xce.controller.core import commands as c
from xce.model.config import SECOND_US, RetryConfig


def test_a_gang_runs_once_all_are_armed_and_ready_and_leaves_nothing_behind() -> None:
    world = lab()
    world.submit_gang(pair())
    world.rest()
    assert kinds(world, "g1") == [
        "GroupSubmitted", "Planned", "LaunchArmed", "LaunchArmed", "BarrierPassed",
        "LaunchStarted", "LaunchStarted", "LaunchEnded", "LaunchEnded", "GroupEnded",
    ]  # fmt: skip
    assert {one.host for one in world.ledger.executed} == {"n1", "n2"}
    assert world.state.groups[1].state == "DONE"
    assert states(world, "job") == {1: "DONE", 2: "DONE"}
    assert states(world, "claim") == {1: "RELEASED", 2: "RELEASED", 3: "RELEASED"}
    assert nothing_held(world)
    world.ledger.assert_whole()


def test_a_plain_job_needs_four_records_and_passes_in_its_plan() -> None:
    world = lab()
    world.submit(job())
    world.rest()
    assert kinds(world, "1") == ["JobSubmitted", "Planned", "LaunchStarted", "LaunchEnded"]


def test_a_barrier_that_times_out_names_who_was_missing() -> None:
    world = lab()
    world.scripts.lives["2", 1] = Life(prepare="hang")
    world.submit_gang(pair(barrier_timeout_us=30 * SECOND_US))
    until_state(world, "start", 1, "FAILED")
    failed = failure_of(world, 1)
    assert failed.reason == "barrier_timeout"
    assert failed.missing == ("worker[1] on n2 is PREPARING, not ARMED",)
    opened = world.state.starts[1].opened_us
    assert world.state.at_us - opened == 30 * SECOND_US
    group = world.state.groups[1]
    assert (group.state, group.start_failures) == ("PENDING", 1)
    assert group.not_before_us == world.state.at_us + 10 * SECOND_US
    assert group.last_failure == "barrier_timeout: worker[1] on n2 is PREPARING, not ARMED"
    assert world.ledger.executed == []
    world.rest()
    assert world.state.groups[1].state == "DONE"
    assert [one.attempt for one in world.ledger.executed] == [2, 2]
    world.ledger.assert_whole()


def test_an_attachment_that_stays_provisioning_keeps_all_processes_from_running() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(how="hang")
    world.submit_gang(pair(retries=RetryConfig(max=0)))
    world.rest()
    assert failure_of(world, 1).missing == (
        "claim rendezvous (c1) on n1 is PROVISIONING, not READY",
    )
    group = world.state.groups[1]
    assert (group.state, group.reason) == ("EXITED", "start_failed")
    assert "claim rendezvous (c1) on n1" in group.last_failure
    assert states(world, "job") == {1: "EXITED", 2: "EXITED"}
    assert world.exit_of(1).reason == "start_failed"
    assert world.ledger.executed == []
    world.ledger.assert_whole()


def test_an_attachment_that_fails_ends_the_start_at_once_and_says_why() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(how="fail", message="port 20000 is taken")
    world.submit_gang(pair(retries=RetryConfig(max=0)))
    world.rest(5 * SECOND_US)
    failed = failure_of(world, 1)
    assert failed.reason == "attachment_failed"
    assert failed.missing == ("claim rendezvous (c1) on n1: port 20000 is taken",)
    assert world.state.groups[1].state == "EXITED"
    assert world.ledger.executed == []
    world.ledger.assert_whole()


def slow_pair() -> c.SubmitGroup:
    """A gang that is all ARMED and waits for its port."""
    return pair(retries=RetryConfig(max=1, first_us=SECOND_US))


def test_a_host_that_reboots_while_armed_fails_the_start_and_nothing_ran() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(how="hang")
    world.submit_gang(slow_pair())
    world.run_until(lambda: armed(world))
    world.scripts.provisions.clear()
    world.agents["n2"].reboot()
    until_state(world, "start", 1, "FAILED")
    assert failure_of(world, 1).reason == "reboot"
    assert failure_of(world, 1).missing == ("worker[1] on n2: aborted, reboot, seen by supervisor",)
    assert world.ledger.executed == []
    world.rest()
    assert world.state.groups[1].state == "DONE"
    assert {one.start for one in world.ledger.executed} == {2}
    world.ledger.assert_whole()


def test_a_host_that_is_down_fails_an_open_start_and_proves_nothing_else() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(how="hang")
    world.submit_gang(pair(barrier_timeout_us=600 * SECOND_US, retries=RetryConfig(max=0)))
    world.run_until(lambda: armed(world))
    world.mute("n2")
    until_state(world, "start", 1, "FAILED")
    assert world.state.hosts["n2"].liveness == "DOWN"
    assert failure_of(world, 1).reason == "host_down"
    assert failure_of(world, 1).missing == ("host n2: host down",)
    assert world.state.groups[1].state == "EXITED"
    assert world.state.launches[2].state == "STOPPING"
    assert world.state.allocations[2].shares[0].host == "n2"
    assert world.ledger.executed == []
    world.unmute("n2")
    world.rest()
    world.ledger.assert_whole()


def test_an_operators_word_that_a_host_is_lost_ends_what_was_there() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(how="hang")
    world.submit_gang(pair(barrier_timeout_us=600 * SECOND_US, retries=RetryConfig(max=0)))
    world.run_until(lambda: armed(world))
    world.mute("n2")
    world.run_until(lambda: world.state.hosts["n2"].liveness == "SUSPECT")
    assert world.state.starts[1].state == "OPEN"
    world.lose("n2")
    assert failure_of(world, 1).reason == "host_lost"
    assert world.state.launches[2].state == "ABORTED"
    assert world.ledger.executed == []
    world.rest()
    world.ledger.assert_whole()


def test_a_suspect_host_keeps_the_barrier_closed_until_it_has_listed_its_work() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(after_us=40 * SECOND_US)
    world.submit_gang(pair(barrier_timeout_us=600 * SECOND_US))
    world.run_until(lambda: armed(world))
    world.mute("n2")
    world.run_until(lambda: world.state.starts[1].ready == 1)
    assert world.state.hosts["n2"].liveness == "SUSPECT"
    assert world.state.starts[1].state == "OPEN"
    world.unmute("n2")
    lsn = world.state.lsn
    until_state(world, "start", 1, "PASSED")
    assert [record.kind for record in since(world, lsn)][:3] == [
        "HostChanged", "HostReconciled", "BarrierPassed",
    ]  # fmt: skip
    world.rest()
    world.ledger.assert_whole()


def test_a_preparation_that_fails_ends_the_start_and_names_the_member() -> None:
    world = lab()
    world.scripts.lives["2", 1] = Life(prepare="fail")
    world.submit_gang(pair())
    until_state(world, "start", 1, "FAILED")
    assert failure_of(world, 1).missing == (
        "worker[1] on n2: aborted, prepare failed, seen by supervisor",
    )
    world.rest()
    assert world.state.groups[1].state == "DONE"
    assert {one.attempt for one in world.ledger.executed} == {2}
    world.ledger.assert_whole()


def test_a_gang_with_a_member_that_cannot_fit_holds_nothing_and_says_which() -> None:
    world = lab()
    world.submit_gang(gang(role("small", 1, claims=(gpus(1),)), role("big", 1, claims=(gpus(5),))))
    world.run(MINUTE_US)
    assert world.state.groups[1].state == "PENDING"
    assert nothing_held(world)
    assert world.state.starts == {}
    reason = world.sessions.reason_for("g1")
    assert reason is not None
    assert (reason.role, reason.needed, reason.available) == ("big", 5, 4)
    assert world.ledger.executed == []


def test_a_plain_job_whose_start_broke_begins_again_whole() -> None:
    world = lab()
    world.scripts.lives["1", 1] = Life(prepare="fail")
    world.submit(job())
    until_state(world, "job", 1, "PENDING")
    assert kinds(world, "1") == ["JobSubmitted", "Planned", "LaunchEnded", "StartFailed"]
    waiting = world.state.jobs[1]
    assert (waiting.state, waiting.start_failures, waiting.launches) == ("PENDING", 1, ())
    assert waiting.last_failure == (
        "start_lost: job 1 on n1: aborted, prepare failed, seen by supervisor"
    )
    assert waiting.not_before_us == world.state.at_us + 10 * SECOND_US
    assert nothing_held(world)
    world.rest()
    ended = world.state.jobs[1]
    assert (ended.state, ended.attempt) == ("DONE", 2)
    assert [one.attempt for one in world.ledger.executed] == [2]
    world.ledger.assert_whole()


def test_a_plain_job_gives_up_after_its_retries_with_growing_waits() -> None:
    world = lab()
    world.scripts.lives["1"] = Life(prepare="fail", prepare_us=0)
    world.submit(job())
    world.rest()
    ended = world.state.jobs[1]
    assert (ended.state, ended.attempt, ended.start_failures) == ("EXITED", 3, 3)
    assert world.exit_of(1).reason == "start_failed"
    opened = [start.opened_us for start in world.state.starts.values()]
    waits = [later - earlier for earlier, later in pairwise(opened)]
    assert [wait // SECOND_US for wait in waits] == [10, 20]
    assert world.ledger.executed == []
    world.ledger.assert_whole()


def test_a_gang_whose_start_broke_stops_what_ran_and_begins_again_whole() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=60 * SECOND_US)
    world.submit_gang(pair())
    world.run_until(lambda: armed(world))
    world.mute("n2")
    world.run_until(lambda: world.state.launches[1].state == "RUNNING")
    assert world.state.launches[2].state == "ARMED"
    world.agents["n2"].reboot()
    world.unmute("n2")
    until_state(world, "group", 1, "RETRACTING")
    broken = failure_of(world, 1)
    assert (broken.reason, broken.broken) == ("start_lost", True)
    assert world.state.groups[1].spent == ()
    world.rest()
    group = world.state.groups[1]
    assert (group.state, group.start_failures) == ("DONE", 0)
    assert [(one.job, one.attempt) for one in world.ledger.executed] == [
        ("1", 1), ("1", 2), ("2", 2),
    ]  # fmt: skip
    assert "GroupDecided" not in kinds(world, "g1")
    world.ledger.assert_whole()


def test_a_gang_that_breaks_too_often_ends_whole() -> None:
    world = lab(1)
    world.scripts.lives["1"] = Life(prepare="fail")
    world.submit_gang(gang(role("only", 1), retries=RetryConfig(max=1, first_us=SECOND_US)))
    world.rest()
    group = world.state.groups[1]
    assert (group.state, group.reason, group.start_failures) == ("EXITED", "start_failed", 2)
    assert states(world, "start") == {1: "FAILED", 2: "FAILED"}
    assert states(world, "job") == {1: "EXITED"}
    world.ledger.assert_whole()


def test_a_placement_timeout_counts_from_each_return_to_pending() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(how="fail")
    wait_us = 5 * MINUTE_US
    world.submit_gang(pair(placement_timeout_us=wait_us, retries=RetryConfig(max=9)))
    world.run_until(lambda: world.state.groups[1].start_failures == 1)
    back_us = world.state.groups[1].pending_us
    for name in ("n1", "n2"):
        world.ask(c.HostEvent(actor=OPS, host=name, event="close"))
    until_state(world, "group", 1, "EXITED")
    assert world.state.at_us - back_us == wait_us
    assert world.state.groups[1].reason == "placement_timeout"
    assert world.exit_of(1).reason == "placement_timeout"
    assert kinds(world, "g1")[-1] == "GroupEnded"
    world.rest()
    world.ledger.assert_whole()


def test_a_deadline_that_passed_without_a_leader_spends_no_retry() -> None:
    world = lab()
    world.scripts.lives["2", 1] = Life(prepare="hang")
    world.submit_gang(pair(barrier_timeout_us=30 * SECOND_US))
    world.run_until(lambda: world.state.starts.get(1) is not None)
    deadline_us = world.state.starts[1].deadline_us
    world.die()
    world.run(MINUTE_US)
    world.lead()
    world.run(SECOND_US)
    assert world.state.starts[1].deadline_us == deadline_us
    assert world.state.starts[1].state == "FAILED"
    group = world.state.groups[1]
    assert (group.start_failures, group.not_before_us) == (0, 0)
    world.rest()
    world.ledger.assert_whole()


def test_a_deadline_is_not_restarted_with_the_controller() -> None:
    world = lab()
    world.scripts.lives["2", 1] = Life(prepare="hang")
    world.submit_gang(pair(barrier_timeout_us=30 * SECOND_US))
    world.run_until(lambda: world.state.starts.get(1) is not None)
    deadline_us = world.state.starts[1].deadline_us
    world.run(20 * SECOND_US)
    world.change_leader()
    until_state(world, "start", 1, "FAILED")
    assert deadline_us <= world.state.at_us < deadline_us + SECOND_US
    assert world.state.groups[1].start_failures == 1


def test_a_new_leader_believes_no_armed_launch_before_its_host_listed_it() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(after_us=20 * SECOND_US)
    world.submit_gang(pair())
    world.run_until(lambda: armed(world))
    world.mute("n2")
    world.change_leader()
    world.run(25 * SECOND_US)
    start = world.state.starts[1]
    assert (start.state, start.armed, start.ready) == ("OPEN", 2, 1)
    assert world.ledger.executed == []
    world.unmute("n2")
    until_state(world, "start", 1, "PASSED")
    world.rest()
    world.ledger.assert_whole()


def test_the_retries_of_a_job_are_its_own_where_it_says_so() -> None:
    world = lab(config=settings(start_retries=RetryConfig(max=0)))
    world.scripts.lives["1"] = world.scripts.lives["2"] = Life(prepare="fail")
    world.submit(job(retries=RetryConfig(max=1, first_us=SECOND_US)))
    world.submit(job())
    world.rest()
    assert [world.state.jobs[key].attempt for key in (1, 2)] == [2, 1]

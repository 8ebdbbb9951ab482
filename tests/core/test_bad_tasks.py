"""A task that can be prepared nowhere ends at once with its text; retries are for hosts' faults."""

from tests.core.lab import Life, failure_of, lab, pair, states
from tests.kit.words import job


def test_a_plain_job_with_a_fault_of_its_own_ends_without_a_retry() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(prepare="bad")
    world.submit(job())
    world.rest()
    found = world.state.jobs[1]
    assert (found.state, found.attempt, found.start_failures) == ("EXITED", 1, 1)
    assert found.exit is not None
    assert found.exit.reason == "start_failed"
    assert found.last_failure == (
        "bad_task: job 1 on n1: aborted, no such place, seen by supervisor"
    )
    world.ledger.assert_whole()


def test_a_fault_of_the_host_is_tried_again() -> None:
    world = lab()
    world.scripts.lives["1", 1] = Life(prepare="fail")
    world.submit(job())
    world.rest()
    found = world.state.jobs[1]
    assert (found.state, found.attempt, found.start_failures) == ("DONE", 2, 0)
    world.ledger.assert_whole()


def test_a_gang_with_a_member_at_fault_ends_whole_and_names_it() -> None:
    world = lab()
    world.scripts.lives["2"] = Life(prepare="bad")
    world.submit_gang(pair())
    world.rest()
    group = world.state.groups[1]
    assert (group.state, group.reason, group.start_failures) == ("EXITED", "start_failed", 0)
    assert states(world, "job") == {1: "EXITED", 2: "EXITED"}
    assert failure_of(world, 1).reason == "bad_task"
    assert "worker[1] on n2: aborted, no such place" in group.last_failure
    assert [world.ledger.ran(key) for key in (1, 2)] == [0, 0]
    world.ledger.assert_whole()

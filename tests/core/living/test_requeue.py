"""Jobs that run again: asked for, by exit value, after the loss of a host."""

from typing import Any

import pytest
from msgspec import structs

from tests.core.lab import SECOND_US, Life, kinds, lab, nothing_held, until_state
from tests.kit.words import ANNA, BERT, gang, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import ApplicationConfig, QueueConfig
from xce.model.job import Exit


def requeue(world: World, key: int, actor: c.Actor = ANNA, **rest: Any) -> c.Rejection | dict:
    answer = world.ask(c.RequeueJob(actor=actor, job=key, **rest))
    return answer if isinstance(answer, c.Rejection) else answer.body


def ends(world: World, *codes: int, signal: int = 0) -> None:
    """Attempt after attempt of every job ends with these codes; later ones with 0."""
    world.scripts.default = lambda name, attempt: (
        Life(code=codes[attempt - 1], signal=signal) if attempt <= len(codes) else Life()
    )


def attempts(world: World, key: int) -> list[int]:
    return [one.attempt for one in world.ledger.executed if one.job == str(key)]


def queue(**rest: Any) -> QueueConfig:
    return QueueConfig(name="normal", **rest)


# -- asked for ------------------------------------------------------------------------------------


def test_a_running_job_is_stopped_and_runs_again_under_its_number() -> None:
    world = lab()
    world.scripts.lives["1", 1] = Life(run_us=None)
    key = world.submit(job())
    until_state(world, "job", key, "RUNNING")
    submitted_us = world.state.jobs[key].submit_us
    assert requeue(world, key) == {"job": "1", "state": "RUNNING"}
    assert world.state.jobs[key].requeue == "PENDING"
    until_state(world, "job", key, "STARTING")
    found = world.state.jobs[key]
    assert (found.requeue, found.exit, found.submit_us) == ("", None, submitted_us)
    assert found.last_failure == "requeued by request"
    until_state(world, "job", key, "DONE")
    assert attempts(world, key) == [1, 2]
    assert nothing_held(world)


def test_a_job_asked_for_twice_is_requeued_once() -> None:
    world = lab()
    world.scripts.lives["1", 1] = Life(run_us=None)
    key = world.submit(job())
    until_state(world, "job", key, "RUNNING")
    requeue(world, key)
    lsn = world.state.lsn
    requeue(world, key)
    assert world.state.lsn == lsn
    until_state(world, "job", key, "DONE")
    assert attempts(world, key) == [1, 2]


def test_a_job_requeued_to_be_held_waits_for_its_owner() -> None:
    world = lab()
    world.scripts.lives["1", 1] = Life(run_us=None)
    key = world.submit(job())
    until_state(world, "job", key, "RUNNING")
    requeue(world, key, held=True)
    until_state(world, "job", key, "HELD")
    world.run(60 * SECOND_US)
    assert attempts(world, key) == [1]
    world.ask_body(c.Resume(actor=ANNA, job=key))
    until_state(world, "job", key, "DONE")


def test_a_job_that_is_being_prepared_gives_its_place_up_and_waits_again() -> None:
    world = lab()
    world.scripts.lives["1", 1] = Life(prepare="hang")
    key = world.submit(job(2, "span[ptile=1]"))
    until_state(world, "job", key, "STARTING")
    requeue(world, key)
    assert world.state.jobs[key].start_failures == 0
    assert world.state.jobs[key].attempt == 2
    until_state(world, "job", key, "DONE")
    assert set(attempts(world, key)) == {2}


@pytest.mark.parametrize(("code", "state", "way"), [(0, "DONE", "done"), (3, "EXITED", "exited")])
def test_what_has_ended_runs_again_when_its_way_is_asked_for(
    code: int, state: str, way: str
) -> None:
    world = lab()
    ends(world, code)
    key = world.submit(job())
    until_state(world, "job", key, state)
    refused = requeue(world, key)
    assert isinstance(refused, c.Rejection)
    assert (refused.code, refused.message) == ("conflict", "Job <1>: Job has already finished")
    assert requeue(world, key, which=(way,)) == {"job": "1", "state": "PENDING"}
    found = world.state.jobs[key]
    assert (found.exit, found.ended_us, found.started_us) == (None, 0, 0)
    world.change_leader()
    until_state(world, "job", key, "DONE")
    assert attempts(world, key) == [1, 2]
    assert world.writer.finished("1") is not None
    assert world.writer.finished("1")["job"]["attempt"] == 2


def test_a_killed_job_can_be_requeued_and_killed_again() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    key = world.submit(job())
    until_state(world, "job", key, "RUNNING")
    requeue(world, key)
    world.ask_body(c.Kill(actor=ANNA, job=key))
    until_state(world, "job", key, "EXITED")
    assert world.exit_of(key).reason == "killed"
    requeue(world, key, which=("exited",))
    until_state(world, "job", key, "RUNNING")
    assert world.state.jobs[key].kill_reason == ""
    world.ask_body(c.Kill(actor=ANNA, job=key))
    until_state(world, "job", key, "EXITED")


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("pending", "Job <1>: Job has not started yet"),
        ("ending", "Job <1>: Job is being terminated"),
        ("running", "Job <1>: Job has not finished"),
        ("unknown", "Job <9>: No matching job found"),
        ("foreign", "Job <1>: User permission denied"),
    ],
)
def test_what_cannot_be_requeued_is_told_why(way: str, said: str) -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None, kill_us=60 * SECOND_US)
    key = world.submit(job(held=way == "pending"))
    if way != "pending":
        until_state(world, "job", key, "RUNNING")
    if way == "ending":
        world.ask_body(c.Kill(actor=ANNA, job=key))
    refused = requeue(
        world,
        9 if way == "unknown" else key,
        BERT if way == "foreign" else ANNA,
        which=("done",) if way == "running" else ("running",),
    )
    assert isinstance(refused, c.Rejection)
    assert refused.message == said


def test_a_member_of_a_gang_is_left_to_its_rules() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    number = world.submit_gang(gang(role("worker", 2)))
    until_state(world, "group", number, "RUNNING")
    refused = requeue(world, 1)
    assert isinstance(refused, c.Rejection)
    assert "failure rules" in refused.message


# -- by exit value --------------------------------------------------------------------------------


def test_an_exit_value_that_requeues_runs_the_job_again_until_it_ends_otherwise() -> None:
    world = lab()
    ends(world, 3, 3, 4)
    key = world.submit(job(requeue_exits="3"))
    until_state(world, "job", key, "EXITED")
    assert attempts(world, key) == [1, 2, 3]
    assert world.exit_of(key).code == 4
    assert world.state.jobs[key].requeues == 2


def test_all_but_zero_ends_with_success() -> None:
    world = lab()
    ends(world, 1, 255, 7)
    key = world.submit(job(requeue_exits="all ~0"))
    until_state(world, "job", key, "DONE")
    assert attempts(world, key) == [1, 2, 3, 4]


def test_a_success_is_requeued_too_when_its_value_is_named() -> None:
    world = lab()
    ends(world, 0, 1)
    key = world.submit(job(requeue_exits="0"))
    until_state(world, "job", key, "EXITED")
    assert attempts(world, key) == [1, 2]


def test_what_a_signal_ended_is_not_requeued_by_value() -> None:
    world = lab()
    ends(world, 0, signal=9)
    key = world.submit(job(requeue_exits="all"))
    until_state(world, "job", key, "EXITED")
    assert attempts(world, key) == [1]


def test_a_job_over_its_run_limit_is_not_requeued_by_value() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    key = world.submit(job(requeue_exits="all", run_limit_us=SECOND_US))
    until_state(world, "job", key, "EXITED")
    assert world.exit_of(key).reason == "run_limit"


def hosts_of(world: World, key: int) -> list[str]:
    return [one.host for one in world.ledger.executed if one.job == str(key)]


def test_a_host_is_excluded_for_the_job_for_good_and_for_nobody_else() -> None:
    world = lab(3)
    ends(world, 5, 5)
    key = world.submit(job(requeue_exits="EXCLUDE(5)"))
    world.run_until(lambda: bool(world.state.jobs[key].avoid))
    first = hosts_of(world, key)[0]
    assert world.state.jobs[key].avoid == (first,)
    world.change_leader()
    until_state(world, "job", key, "DONE")
    assert len(set(hosts_of(world, key))) == 3, "no host was taken twice"
    assert world.state.jobs[key].avoid == tuple(sorted(hosts_of(world, key)[:2]))


def test_a_job_that_all_hosts_are_excluded_for_waits_and_says_so() -> None:
    world = lab(1)
    ends(world, 5)
    key = world.submit(job(requeue_exits="EXCLUDE(5)"))
    world.run(10 * SECOND_US)
    assert world.state.jobs[key].state == "PENDING"
    reason = world.sessions.reason_for("1")
    assert reason is not None
    assert ("avoided", 1) in reason.hosts
    other = world.submit(job())
    until_state(world, "job", other, "EXITED")


@pytest.mark.parametrize(
    ("own", "profile", "of_queue", "again"),
    [
        ("", "", "3", True),
        ("", "4", "3", False),
        ("", "3", "4", True),
        ("4", "3", "3", False),
        ("3", "", "", True),
    ],
)
def test_a_job_goes_over_its_profile_and_that_over_the_queue(
    own: str, profile: str, of_queue: str, again: bool
) -> None:
    application = ApplicationConfig(name="a", requeue_exits=profile)
    config = settings(queues=(queue(requeue_exits=of_queue),), applications=(application,))
    world = lab(config=config)
    ends(world, 3)
    key = world.submit(job(requeue_exits=own, application="a"))
    until_state(world, "job", key, "DONE" if again else "EXITED")
    assert attempts(world, key) == ([1, 2] if again else [1])


def test_a_job_that_was_requeued_as_often_as_is_allowed_is_held() -> None:
    world = lab(config=settings(queues=(queue(requeue_exits="3", requeues_max=2),)))
    ends(world, 3, 3, 3, 3)
    key = world.submit(job())
    until_state(world, "job", key, "HELD")
    assert attempts(world, key) == [1, 2, 3]
    assert world.state.jobs[key].last_failure == (
        "requeued: exited with exit code 3; it ran again 2 times, which is all that is allowed"
    )
    assert nothing_held(world)


@pytest.mark.parametrize("text", ["x", "300000", "~", "EXCLUDE(", "1,2"])
def test_exit_values_that_are_none_are_refused(text: str) -> None:
    world = lab()
    refused = world.ask(job(requeue_exits=text))
    assert isinstance(refused, c.Rejection)
    assert (refused.field, refused.column > 0) == ("requeue_exits", True)


# -- after a loss ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "of_queue", "again"),
    [(True, False, True), (None, True, True), (False, True, False), (None, False, False)],
)
def test_a_rerunnable_job_runs_again_when_its_host_is_lost(
    own: bool | None, of_queue: bool, again: bool
) -> None:
    world = lab(config=settings(queues=(queue(rerunnable=of_queue),)))
    world.scripts.lives["1", 1] = Life(run_us=None)
    key = world.submit(job(rerunnable=own))
    until_state(world, "job", key, "RUNNING")
    world.agents[hosts_of(world, key)[0]].reboot(keeps_journal=False)
    until_state(world, "job", key, "DONE" if again else "EXITED")
    assert attempts(world, key) == ([1, 2] if again else [1])
    if not again:
        assert world.exit_of(key) == structs.replace(
            Exit(), how="lost", reason="host_lost", host=hosts_of(world, key)[0]
        )


def test_a_lost_job_that_was_killed_does_not_run_again() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    key = world.submit(job(rerunnable=True))
    until_state(world, "job", key, "RUNNING")
    name = hosts_of(world, key)[0]
    world.mute(name)
    world.run(60 * SECOND_US)
    world.ask_body(c.Kill(actor=ANNA, job=key))
    world.lose(name)
    until_state(world, "job", key, "EXITED")
    assert attempts(world, key) == [1]
    assert kinds(world, "1").count("KillAsked") == 1


def test_silence_alone_runs_nothing_again() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    key = world.submit(job(rerunnable=True))
    until_state(world, "job", key, "RUNNING")
    world.mute(hosts_of(world, key)[0])
    world.run(600 * SECOND_US)
    assert world.state.jobs[key].state == "RUNNING"
    assert attempts(world, key) == [1]

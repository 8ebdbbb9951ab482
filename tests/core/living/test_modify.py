"""Changing jobs that are there, and switching them to another queue."""

from typing import Any

import pytest

from tests.core.lab import MINUTE_US, SECOND_US, Life, kinds, lab, since, until_state
from tests.kit.words import ANNA, BERT, OPS, gang, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.orders.wanted import order_of_launch, touched
from xce.model.config import QueueConfig
from xce.model.job import Spec
from xce.model.records import JobChanged

NORMAL = QueueConfig(name="normal")


def full(**rest: Any) -> World:
    """One host of one slot that job 1 fills for good, so that all others wait."""
    world = lab(1, slots=1, **rest)
    world.scripts.lives["1", 1] = Life(run_us=None)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    return world


def modify(world: World, key: int, actor: c.Actor = ANNA, **rest: Any) -> Any:
    own = {name: rest.pop(name) for name in ("queue", "priority", "after") if name in rest}
    answer = world.ask(c.ModifyJob(actor=actor, job=key, spec=rest, **own))
    return answer if isinstance(answer, c.Rejection) else answer.body


def spec_of(world: World, key: int) -> Spec:
    return world.state.specs[world.state.jobs[key].spec]


def order(world: World) -> list[int]:
    return [key for _, key, _ in world.state.index.pending.walk()]


# -- modify ---------------------------------------------------------------------------------------


def test_a_pending_job_is_changed_and_placed_as_if_it_had_been_submitted_so() -> None:
    world = full()
    key = world.submit(job(3))
    assert modify(world, key, tasks=1, resreq="rusage[mem=1GB]", name="other") == {
        "job": "2", "changed": ["name", "resreq", "tasks"],
    }  # fmt: skip
    found = world.state.jobs[key]
    assert (found.name, spec_of(world, key).tasks) == ("other", 1)
    assert spec_of(world, key).resreq == "rusage[mem=1GB]"
    world.change_leader()
    world.ask_body(c.Kill(actor=ANNA, job=1))
    until_state(world, "job", key, "DONE")


def test_a_change_is_one_record_that_brings_its_spec_along() -> None:
    world = full()
    key = world.submit(job())
    lsn = world.state.lsn
    modify(world, key, run_limit_us=MINUTE_US)
    (record,) = since(world, lsn)
    assert isinstance(record.body, JobChanged)
    assert (record.body.field, record.body.spec) == ("run_limit_us", world.state.jobs[key].spec)
    assert record.entities == ("2",)


def test_nothing_is_written_when_nothing_changes() -> None:
    world = full()
    key = world.submit(job(run_limit_us=MINUTE_US))
    lsn = world.state.lsn
    assert modify(world, key, run_limit_us=MINUTE_US) == {"job": "2", "changed": []}
    assert modify(world, key, queue="normal", priority=50) == {"job": "2", "changed": []}
    assert world.state.lsn == lsn


def test_what_is_put_back_is_as_if_it_had_never_been_said() -> None:
    queue = QueueConfig(name="normal", run_limit_default_us=7 * MINUTE_US, default_resreq="mem>1")
    world = full(config=settings(queues=(queue,)))
    key = world.submit(job(run_limit_us=MINUTE_US, resreq="rusage[mem=1GB]"))
    assert spec_of(world, key).resreq == "select[mem>1] rusage[mem=1GB]"
    modify(world, key, run_limit_us=0, resreq="")
    assert spec_of(world, key).run_limit_us == 7 * MINUTE_US
    assert spec_of(world, key).resreq == "select[mem>1]"


def test_a_requirement_is_kept_when_something_else_changes() -> None:
    queue = QueueConfig(name="normal", default_resreq="mem>1")
    world = full(config=settings(queues=(queue,)))
    key = world.submit(job(resreq="rusage[mem=1GB]"))
    before = spec_of(world, key)
    modify(world, key, description="hello")
    assert spec_of(world, key).resreq == before.resreq
    assert spec_of(world, key).description == "hello"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"resreq": "rusage[mem="}, "resreq"),
        ({"tasks": 100_000}, "tasks"),
        ({"application": "none"}, "application"),
        ({"queue": "none"}, "queue"),
        ({"requeue_exits": "x"}, "requeue_exits"),
        ({"terminate_us": 1}, "terminate_us"),
        ({"after": "done("}, "after"),
    ],
)
def test_what_a_submission_would_be_refused_for_is_refused(
    changes: dict[str, Any], field: str
) -> None:
    world = full()
    key = world.submit(job())
    before = world.state.jobs[key]
    refused = modify(world, key, **changes)
    assert isinstance(refused, c.Rejection)
    assert refused.field == field
    assert world.state.jobs[key] == before


def test_a_begin_time_is_set_moved_and_taken_away() -> None:
    world = lab()
    begin_us = world.now_us + 10 * MINUTE_US
    key = world.submit(job(begin_us=begin_us))
    modify(world, key, begin_us=begin_us + MINUTE_US)
    world.run(10 * MINUTE_US + SECOND_US)
    assert world.state.jobs[key].state == "PENDING"
    modify(world, key, begin_us=0)
    assert world.state.jobs[key].not_before_us == 0
    until_state(world, "job", key, "DONE")
    assert world.now_us < begin_us + MINUTE_US


def test_a_termination_time_is_moved_and_the_old_one_forgotten() -> None:
    world = full()
    key = world.submit(job(terminate_us=world.now_us + MINUTE_US))
    later_us = world.now_us + 5 * MINUTE_US
    modify(world, key, terminate_us=later_us)
    until_state(world, "job", key, "EXITED")
    assert world.state.jobs[key].ended_us == later_us


def test_the_run_limit_of_a_running_job_moves_and_its_host_is_told() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    for agent in world.agents.values():
        agent.enforces = False
    key = world.submit(job(run_limit_us=MINUTE_US))
    until_state(world, "job", key, "RUNNING")
    lsn = world.state.lsn
    assert modify(world, key, run_limit_us=3 * MINUTE_US)["changed"] == ["run_limit_us"]
    (record,) = since(world, lsn)
    (launch,) = world.state.jobs[key].launches
    assert touched(record) == ([launch], [])
    assert order_of_launch(world.state, launch).run_limit_us == 3 * MINUTE_US
    started_us = world.state.jobs[key].started_us
    until_state(world, "job", key, "EXITED")
    assert 3 * MINUTE_US < world.state.jobs[key].ended_us - started_us < 4 * MINUTE_US


def test_of_a_job_that_has_started_only_what_can_still_act_is_changed() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    key = world.submit(job())
    until_state(world, "job", key, "RUNNING")
    for changes in ({"tasks": 2}, {"resreq": ""}, {"queue": "normal"}, {"priority": 3}):
        refused = modify(world, key, **changes)
        assert isinstance(refused, c.Rejection)
        assert refused.message == (
            "Job <1>: Only these can be changed of a job that has started: -W, -We, -t, -r, -Q, -Jd"
        )
    assert modify(world, key, rerunnable=True, requeue_exits="3")["changed"] == [
        "requeue_exits", "rerunnable",
    ]  # fmt: skip


def test_a_dependency_is_given_changed_and_taken_away() -> None:
    world = full()
    key = world.submit(job())
    assert modify(world, key, after="done(1)")["changed"] == [
        "after", "after_ids",
    ]  # fmt: skip
    assert order(world) == []
    refused = modify(world, key, after="done(2)")
    assert isinstance(refused, c.Rejection)
    modify(world, key, after="started(1)")
    assert world.state.jobs[key].after_met_us > 0
    assert order(world) == [key]
    modify(world, key, after="")
    assert world.state.jobs[key].after == ""
    world.ask_body(c.Kill(actor=ANNA, job=1))
    until_state(world, "job", key, "DONE")


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("unknown", "Job <9>: No matching job found"),
        ("foreign", "Job <1>: User permission denied"),
        ("ended", "Job <1>: Job has already finished"),
        ("member", "Job <1>: a member of a gang cannot be changed alone"),
    ],
)
def test_what_cannot_be_changed_is_told_why(way: str, said: str) -> None:
    world = lab()
    if way == "member":
        world.submit_gang(gang(role("worker", 2)))
    else:
        world.submit(job(held=way == "foreign"))
    if way == "ended":
        until_state(world, "job", 1, "DONE")
    key = 9 if way == "unknown" else 1
    refused = modify(world, key, BERT if way == "foreign" else ANNA, description="x")
    assert isinstance(refused, c.Rejection)
    assert refused.message == said


def test_users_may_not_ask_for_more_priority_than_is_allowed_and_operators_may() -> None:
    world = full(config=settings(priority_max=60))
    assert isinstance(world.ask(job(priority=61)), c.Rejection)
    key = world.submit(job(priority=60))
    refused = modify(world, key, priority=61)
    assert isinstance(refused, c.Rejection)
    assert refused.message == "priority 61 is not from 0 to 60 (max_user_priority)"
    assert modify(world, key, OPS, priority=100)["changed"] == ["priority"]


# -- switch ---------------------------------------------------------------------------------------


def queues(**night: Any) -> dict[str, Any]:
    shut = QueueConfig(name="shut", open=False)
    return {"config": settings(queues=(NORMAL, QueueConfig(name="night", **night), shut))}


def switch(world: World, key: int, queue: str, actor: c.Actor = ANNA) -> Any:
    answer = world.ask(c.SwitchJob(actor=actor, job=key, queue=queue))
    return answer if isinstance(answer, c.Rejection) else answer.body


def test_a_pending_job_is_judged_in_its_new_queue() -> None:
    world = full(**queues(priority=90, default_resreq="mem>1", run_limit_us=MINUTE_US))
    first, second = world.submit(job()), world.submit(job())
    assert order(world) == [first, second]
    assert switch(world, second, "night") == {"job": "3", "queue": "night"}
    assert order(world) == [second, first]
    assert spec_of(world, second).resreq == "select[mem>1]"
    assert spec_of(world, second).run_limit_us == MINUTE_US
    switch(world, second, "normal")
    assert spec_of(world, second).resreq == ""
    assert spec_of(world, second).run_limit_us == 0
    modify(world, second, run_limit_us=2 * MINUTE_US)
    refused = switch(world, second, "night")
    assert isinstance(refused, c.Rejection)
    assert refused.message == (
        "RUNLIMIT: Cannot exceed queue's hard limit(s): 2m is beyond 1m of night"
    )


def test_a_running_job_is_switched_and_runs_on() -> None:
    world = full(**queues())
    assert switch(world, 1, "night") == {"job": "1", "queue": "night"}
    assert world.state.jobs[1].state == "RUNNING"
    assert "LaunchEnded" not in kinds(world, "1")


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ("nope", "nope: No such queue."),
        ("shut", "shut: Queue has been closed."),
        ("normal", "Job <{key}>: Job is already in queue <normal>"),
    ],
)
@pytest.mark.parametrize("key", [1, 2])
def test_a_queue_that_takes_no_job_takes_none_by_a_switch(queue: str, said: str, key: int) -> None:
    world = full(**queues())
    world.submit(job())
    refused = switch(world, key, queue)
    assert isinstance(refused, c.Rejection)
    assert refused.message == said.format(key=key)

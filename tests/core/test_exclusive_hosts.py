"""Jobs that have their hosts for themselves (-x), in the queues that take them."""

import pytest

from tests.core.lab import Life, lab
from tests.core.test_task_ranges import ANNA, granted, world_of
from tests.kit.words import GB, gang, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.check import check
from xce.controller.core.orders.wanted import task_of
from xce.model.config import SECOND_US, QueueConfig

NO_UNITS = "The queue must have EXCLUSIVE=CU configured to accept exclusive compute unit jobs"


def exclusive(hosts: int = 2, slots: int = 4, how: str = "Y", **more: object) -> World:
    """A world whose queue takes -x; jobs run for ever."""
    queues = (QueueConfig(name="normal", exclusive=how, **more), QueueConfig(name="other"))  # type: ignore[arg-type]
    return world_of(hosts, slots, queues=queues, levels=("host", "rack"))


def text(world: World, entity: str) -> str:
    why = world.sessions.reason_for(entity)
    assert why is not None
    return why.text()


def test_nobody_comes_to_a_host_that_is_somebodys_alone() -> None:
    world = exclusive()
    world.submit(job(1, exclusive=True))
    world.submit(job(1))
    world.submit(job(6))
    assert granted(world) == {1: {"n1": 1}, 2: {"n2": 1}}
    hosts = world.sessions.reason_for("3")
    assert hosts is not None
    assert dict(hosts.hosts)["host_exclusive"] == 1
    world.ask_body(c.Kill(actor=ANNA, job=1))
    assert granted(world) == {2: {"n2": 1}, 3: {"n1": 4, "n2": 2}}


def test_it_waits_for_hosts_that_nobody_uses_and_says_so() -> None:
    world = exclusive()
    world.submit(job(1))
    world.submit(job(5, exclusive=True))
    world.submit(job(2, exclusive=True))
    assert granted(world) == {1: {"n1": 1}, 3: {"n2": 2}}
    assert text(world, "2") == (
        "wants hosts for itself: needs room for 5 tasks where nobody runs, 4 can be had; "
        "1 of 2 hosts have nothing on them"
    )
    for key in (1, 3):
        world.ask_body(c.Kill(actor=ANNA, job=key))
    assert granted(world) == {2: {"n1": 4, "n2": 1}}


def test_within_one_session_an_exclusive_job_closes_its_host() -> None:
    world = exclusive(1)
    world.submit(job(1, held=True, exclusive=True))
    world.submit(job(1, held=True))
    for key in (1, 2):
        world.inbox.append((c.Resume(actor=ANNA, job=key), lambda answer: None))
    assert granted(world) == {1: {"n1": 1}}


def test_memory_alone_makes_a_host_used() -> None:
    world = exclusive(1)
    world.submit_gang(gang(role("a", 1, resreq="rusage[mem=1GB]")))
    world.submit(job(1, exclusive=True))
    assert granted(world) == {1: {"n1": 1}}
    assert world.state.index.used["n1"]["mem"] == GB


@pytest.mark.parametrize(
    ("how", "resreq", "alone", "said"),
    [
        ("", "", True, "normal: Queue does not accept EXCLUSIVE jobs"),
        ("N", "", True, "normal: Queue does not accept EXCLUSIVE jobs"),
        ("", "cu[type=rack:excl]", False, ""),
        (
            "Y",
            "cu[type=rack:excl]",
            False,
            f"normal: {NO_UNITS}",
        ),
        ("CU", "cu[type=rack:excl]", True, ""),
        ("CU[rack]", "cu[type=rack:excl]", False, ""),
        (
            "CU[host]",
            "cu[type=rack:excl]",
            False,
            "normal: cu[excl=rack] is beyond EXCLUSIVE=CU[host] of the queue",
        ),
    ],
)
def test_a_queue_says_who_may_be_alone(how: str, resreq: str, alone: bool, said: str) -> None:
    world = exclusive(how=how)
    refused = world.ask(job(1, resreq, exclusive=alone))
    assert (refused.message if isinstance(refused, c.Rejection) else "") == said


def test_switching_asks_the_other_queue() -> None:
    world = exclusive(1)
    world.submit(job(1))
    key = world.submit(job(1, exclusive=True))
    refused = world.ask(c.SwitchJob(actor=ANNA, job=key, queue="other"))
    assert isinstance(refused, c.Rejection)
    assert refused.message == "other: Queue does not accept EXCLUSIVE jobs"
    assert refused.hint == "these queues do: normal"


def test_a_plan_of_before_does_not_share_the_host() -> None:
    """What comes to the host between snapshot and commit keeps an exclusive job away."""
    world = exclusive(1)
    first = world.submit(job(1, held=True))
    world.submit(job(1, exclusive=True, held=True))
    world.ask_body(c.Resume(actor=ANNA, job=first))
    assert granted(world) == {1: {"n1": 1}}
    world.ask_body(c.Suspend(actor=ANNA, job=first))
    world.run(5 * SECOND_US)
    world.ask_body(c.Resume(actor=ANNA, job=2))
    found = granted(world)
    check(world.state)
    assert 1 in found


def test_queues_make_processes_less_important_and_may_take_no_batch_jobs() -> None:
    world = exclusive(nice=7)
    key = world.submit(job(1))
    world.run(SECOND_US)
    launch = world.state.launches[world.state.jobs[key].launches[0]]
    assert task_of(world.state, launch).nice == 7
    only = settings(queues=(QueueConfig(name="normal", interactive="ONLY"),))
    other = lab(1, config=only)
    other.scripts.default = lambda job, attempt: Life(run_us=None)
    refused = other.ask(job(1))
    assert isinstance(refused, c.Rejection)
    assert refused.message == "normal: Queue accepts interactive jobs only"

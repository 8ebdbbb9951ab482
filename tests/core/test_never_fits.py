"""What no hosts could ever hold: refused where the site says so, else kept with the reason."""

from typing import Any

import pytest

from tests.core.lab import lab
from tests.kit.words import BOSS, gang, job, machine, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.commands import Rejection
from xce.controller.core.never import NeverFits
from xce.controller.core.view import Viewer
from xce.scheduler.reasons import Cure


def asked(world: World, command: Any) -> Any:
    """What the site answers, with the loop's finding in the command."""
    never = NeverFits(world.state, Viewer(world.state))
    return world.ask(never.with_answer(command, world.now_us))


@pytest.fixture
def strict() -> World:
    """Two hosts of eight slots and four GPUs, and a site that refuses."""
    return lab(2, config=settings(refuse_never_fits=True))


def test_a_job_that_is_too_large_is_refused_with_the_nearest_miss(strict: World) -> None:
    answer = asked(strict, job(9, "span[hosts=1]"))
    assert isinstance(answer, Rejection)
    assert answer.code == "never_fits"
    assert "9" in answer.message
    assert "8" in answer.message
    assert not strict.state.jobs


def test_one_impossible_member_refuses_the_whole_gang(strict: World) -> None:
    fits = role("small", 2)
    huge = role("huge", 1, resreq="span[hosts=1] rusage[gpu=5]")
    answer = asked(strict, gang(fits, huge))
    assert isinstance(answer, Rejection)
    assert "5" in answer.message
    assert "4" in answer.message
    assert not isinstance(asked(strict, gang(fits)), Rejection)


def test_what_is_merely_busy_is_taken(strict: World) -> None:
    for _ in range(4):
        assert not isinstance(asked(strict, job(8, "span[hosts=1]")), Rejection)


def test_another_host_changes_the_answer(strict: World) -> None:
    never = NeverFits(strict.state, Viewer(strict.state))
    wide = job(20)
    assert never.with_answer(wide, strict.now_us).never
    strict.add("n9", machine(8))
    strict.up()
    assert not never.with_answer(wide, strict.now_us).never


def test_a_site_that_does_not_say_so_keeps_it_with_the_reason() -> None:
    world = lab(2)
    key = world.submit(job(9, "span[hosts=1]"))
    world.turn()
    why = world.sessions.reason_for(str(key))
    assert why is not None
    assert why.cure is Cure.NEVER
    assert (why.needed, why.available) == (9, 8)


def test_a_pending_job_whose_only_host_left_gets_the_never_reason() -> None:
    world = World({"n1": machine(4), "n2": machine(8)})
    world.up()
    world.ask(c.HostEvent(actor=BOSS, host="n2", event="close"))
    key = world.submit(job(8, "span[hosts=1]"))
    world.turn()
    closed = world.sessions.reason_for(str(key))
    assert closed is not None
    assert closed.cure is not Cure.NEVER
    world.mute("n2")
    world.run_until(lambda: world.state.hosts["n2"].liveness == "DOWN")
    world.ask(c.HostEvent(actor=BOSS, host="n2", event="remove"))
    world.turn()
    gone = world.sessions.reason_for(str(key))
    assert gone is not None
    assert gone.cure is Cure.NEVER
    assert (gone.needed, gone.available, gone.where) == (8, 4, "n1")

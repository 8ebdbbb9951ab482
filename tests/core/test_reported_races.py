"""Counters that only reporters know, when a tick comes between a session's look and its commit, and
at random: nothing is ever given out that was not told."""

import random
from collections.abc import Sequence

import pytest

from tests.core.lab import Life
from tests.core.ticked import sample, site, tick, told
from tests.kit.words import ANNA, gang, job, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.resources.lending import lent
from xce.controller.core.view import Viewer
from xce.controller.sessions import Work
from xce.controller.step import Step
from xce.model.config import SECOND_US
from xce.model.records import Planned
from xce.scheduler.session import run_session

MINUTE_US = 60 * SECOND_US


# -- between the look and the commit --------------------------------------------------------------


def begun(world: World) -> Work:
    """A session that has its plan, and has committed nothing of it."""
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    return work


def committed(world: World, work: Work) -> tuple[int, int]:
    """How much of a plan held, and how much was stale."""
    for slice_ in world.sessions.slices(work):
        world.sessions.committed(work, world.step([slice_]))
    return work.planned, work.stale


def test_a_tick_between_the_look_and_the_commit_makes_stale_what_it_took_away() -> None:
    world = site(2)
    for _ in range(3):
        world.submit(job(1, "rusage[lic=2]"))
    tick(world, sample("n1", lic=4), sample("n2", lic=2))
    work = begun(world)
    tick(world, sample("n1", lic=3), sample("n2", lic=2))
    # n1 had room for two and has it for one now; n2 is as it was. No host's version changed.
    assert committed(world, work) == (2, 1)
    assert {host: used["lic"] for host, used in world.state.index.used.items()} == {
        "n1": 2, "n2": 2,
    }  # fmt: skip


def test_a_value_that_went_away_in_between_leaves_nothing() -> None:
    world = site(1)
    world.submit(job(1, "rusage[lic=2]"))
    tick(world, sample("n1", lic=4))
    work = begun(world)
    tick(world, sample("n1", lic=None))
    assert committed(world, work) == (0, 1)
    assert world.state.jobs[1].state == "PENDING"


def test_a_gang_is_stale_whole_when_one_of_its_hosts_has_less() -> None:
    world = site(2)
    world.submit_gang(gang(role("a", 2, resreq="rusage[lic=2]")))
    tick(world, sample("n1", lic=2), sample("n2", lic=2))
    work = begun(world)
    tick(world, sample("n1", lic=2), sample("n2", lic=1))
    assert committed(world, work) == (0, 1)
    assert not world.state.allocations


def test_more_in_between_changes_nothing() -> None:
    world = site(1)
    world.submit(job(1, "rusage[lic=2]"))
    tick(world, sample("n1", lic=2))
    work = begun(world)
    tick(world, sample("n1", lic=9))
    assert committed(world, work) == (1, 0)


def test_a_resume_is_stale_when_what_it_lent_is_not_there_any_more() -> None:
    world = site(1)
    world.submit(job(1, "rusage[lic=3]"))
    told(world, n1=3)
    world.ask_body(c.Suspend(actor=ANNA, job=1))
    world.run(SECOND_US)
    world.step([c.Resume(actor=ANNA, job=1)])
    work = begun(world)
    tick(world, sample("n1", lic=2))
    assert committed(world, work) == (0, 1)
    assert world.state.jobs[1].suspension == "SUSPENDED"
    told(world, n1=3)
    assert world.state.jobs[1].suspension == "ACTIVE"


# -- at random ------------------------------------------------------------------------------------


def left(world: World) -> dict[str, int]:
    """What of `lic` is neither held nor unknown, by host."""
    state, fallen = world.state, lent(world.state, world.now_us)
    told = {host: dict(seen.values).get("lic", 0) for host, seen in state.observed.items()}
    held = {host: used.get("lic", 0) for host, used in state.index.used.items()}
    return {
        host: int(there) - held.get(host, 0) + fallen.get((host, "lic"), 0)
        for host, there in told.items()
    }


def given(body: Planned) -> dict[str, int]:
    """What a plan gives out of `lic`, by host."""
    taken: dict[str, int] = {}
    for share in (one for group in body.groups for m in group.members for one in m.shares):
        taken[share.host] = taken.get(share.host, 0) + dict(share.counters).get("lic", 0)
    return {host: amount for host, amount in taken.items() if amount}


@pytest.mark.parametrize("seed", range(12))
def test_random_worlds_never_give_out_more_than_was_told(seed: int) -> None:
    chance = random.Random(seed)
    world = site(3, slots=6)
    world.scripts.default = lambda name, attempt: Life(run_us=chance.choice((1, 5, 20)) * SECOND_US)
    own = world.step

    def step(commands: Sequence[c.Command]) -> Step:
        before = left(world)
        done = own(commands)
        for body in (record.body for record in done.records):
            if isinstance(body, Planned):
                over = [host for host, n in given(body).items() if n > before.get(host, 0)]
                assert not over, (over, before, given(body))
        return done

    world.step = step  # type: ignore[method-assign]
    for _ in range(40):
        kind = chance.random()
        if kind < 0.5:
            scope = chance.choice(("", "/host", "/job"))
            falls = chance.choice(("", ":duration=1", ":duration=1:decay=1"))
            falls = "" if kind < 0.4 else falls
            world.submit(job(chance.randint(1, 4), f"rusage[lic={chance.randint(1, 4)}{scope}]"))
        else:
            names = chance.sample(("n1", "n2", "n3"), 2)
            told(world, **{name: chance.choice((None, 0, 2, 5, 9)) for name in names})
        world.run(chance.choice((1, 3, 10)) * SECOND_US)
    plan = run_session(Viewer(world.state).snapshot(world.now_us))
    assert not plan.placements, "work waits that fits"
    told(world, n1=99, n2=99, n3=99)
    world.rest(20 * MINUTE_US)
    assert not any(used.get("lic") for used in world.state.index.used.values())

"""Pools under random work: never more is held than there is, and in the end nothing is."""

import random

import pytest

from tests.core.lab import Life, lab
from tests.kit.words import BOSS, gang, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.resources.pools import name_of, total_of
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US, PoolConfig, TypeConfig
from xce.model.records import Planned

TYPES = (
    TypeConfig(name="seats", scope="shared"),
    TypeConfig(name="tokens", scope="shared", interval_us=SECOND_US),
)


def pools(chance: random.Random) -> tuple[PoolConfig, ...]:
    seats = chance.choice(
        (
            (PoolConfig(type="seats", label="1", amount=chance.randrange(1, 6)),),
            (
                PoolConfig(type="seats", label="1", hosts=("n1", "n2"), amount=3),
                PoolConfig(type="seats", label="2", hosts=("others", "~n4"), amount=2),
            ),
        )
    )
    return (*seats, PoolConfig(type="tokens", label="1", hosts=("all", "~n1"), reported=True))


def ask(chance: random.Random) -> str:
    name = chance.choice(("seats", "tokens"))
    per = chance.choice(("", "", "/task", "/host"))
    return f"rusage[{name}={chance.randrange(1, 4)}{per}]"


def submit(world: World, chance: random.Random) -> None:
    if chance.random() < 0.4:
        world.submit_gang(gang(role("a", chance.randrange(1, 4), resreq=ask(chance))))
    else:
        world.submit(job(tasks=chance.randrange(1, 5), resreq=ask(chance)))


def tell(world: World, chance: random.Random) -> None:
    value = chance.choice((None, 0, 2, 5))
    sample = c.Sample(of="tokens@1", values=(("tokens", value),))
    world.step([c.TakeTick(actor=CONTROLLER, samples=(sample,))])


def excess(world: World, most: dict[str, int]) -> list[str]:
    """Pools of which more is held than there ever was."""
    for pool in world.state.config.pools:
        name = name_of(pool)
        most[name] = max(most.get(name, 0), total_of(world.state, pool))
    held = world.state.index.pooled
    return [name for name, amount in held.items() if amount > most.get(name, 0)]


def granted(world: World) -> bool:
    """Whether any share was ever of a pool."""
    planned = [record.body for record in world.records if isinstance(record.body, Planned)]
    members = [one for body in planned for group in body.groups for one in group.members]
    counters = [name for one in members for share in one.shares for name, _ in share.counters]
    return any("@" in name for name in counters)


@pytest.mark.parametrize("seed", range(12))
def test_no_more_is_held_than_there_ever_was(seed: int) -> None:
    chance = random.Random(seed)
    world = lab(4, config=settings(types=TYPES, pools=pools(chance)))
    world.scripts.default = lambda name, attempt: Life(run_us=chance.randrange(1, 30) * SECOND_US)
    most: dict[str, int] = {}
    for _ in range(40):
        what = chance.random()
        if what < 0.5:
            submit(world, chance)
        elif what < 0.65:
            tell(world, chance)
        elif what < 0.75 and world.state.jobs:
            world.ask(c.Kill(actor=BOSS, job=chance.choice(sorted(world.state.jobs))))
        elif what < 0.8:
            world.change_leader()
            world.up()
        assert excess(world, most) == []
        world.run(chance.randrange(1, 5) * SECOND_US)
        assert excess(world, most) == []
    assert granted(world)
    for key, one in sorted(world.state.jobs.items()):
        if one.state in ("PENDING", "RUNNING", "STARTING"):
            world.ask(c.Kill(actor=BOSS, job=key))
    world.run(60 * SECOND_US)
    assert world.state.index.pooled == {}

"""What reporters said, put into a world of the core as ticks."""

import random

from tests.core.lab import Life, lab
from tests.kit.words import settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US, TypeConfig
from xce.model.records import Tick

LIC = TypeConfig(name="lic", interval_us=10 * SECOND_US)
"""A counter of hosts that only a reporter knows."""


def sample(of: str, **values: int | str | None) -> c.Sample:
    """What a host, or a pool, was heard to say."""
    return c.Sample(of=of, values=tuple(sorted(values.items())))


def tick(world: World, *samples: c.Sample) -> Tick | None:
    """What a tick wrote down, if anything."""
    before = world.state.lsn
    world.step([c.TakeTick(actor=CONTROLLER, samples=samples)])
    bodies = [one.body for one in world.writer.log.read(before + 1)]
    ticks = [body for body in bodies if isinstance(body, Tick)]
    return ticks[0] if ticks else None


def known(world: World) -> dict[str, dict[str, int | str]]:
    """What the state has of it."""
    return {of: dict(one.values) for of, one in world.state.observed.items()}


def some_tick(chance: random.Random, hosts: list[str]) -> c.TakeTick:
    """What some hosts say of it, or no longer say."""
    told = (sample(host, lic=chance.choice((None, 0, 1, 3, 9))) for host in hosts)
    return c.TakeTick(actor=CONTROLLER, samples=tuple(told))


def site(count: int = 2, slots: int = 8, *types: TypeConfig, **rest: object) -> World:
    """Hosts n1.. on which what runs runs for ever, and a type `lic` that a reporter tells."""
    config = settings(types=(LIC, *types), **rest)
    world = lab(count, slots=slots, config=config)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    return world


def told(world: World, **lics: int | None) -> None:
    """A tick with what there is of `lic` by host, and a second for it to be acted on."""
    tick(world, *(sample(host, lic=value) for host, value in lics.items()))
    world.run(SECOND_US)

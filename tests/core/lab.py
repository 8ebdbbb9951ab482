"""Small worlds in a known state, and short looks at them, for the directed tests of the core."""

from typing import Any

from tests.kit.agents import Life, Provision
from tests.kit.words import gang, gpus, machine, port, role
from tests.kit.world import Weather, World
from xce.controller.core import commands as c
from xce.model.config import SECOND_US
from xce.model.records import Record, StartFailed

MINUTE_US = 60 * SECOND_US


def lab(count: int = 2, slots: int = 8, gpu_count: int = 4, **rest: Any) -> World:
    """A cluster n1.. whose hosts are all UP."""
    hosts = {f"n{i + 1}": machine(slots, gpu_count) for i in range(count)}
    world = World(hosts, **rest)
    world.up()
    return world


def pair(**rest: Any) -> c.SubmitGroup:
    """A gang of two members, each with all four GPUs of a host, and a rendezvous port."""
    return gang(role("worker", 2, claims=(gpus(4),)), claims=(port(),), **rest)


def kinds(world: World, entity: str) -> list[str]:
    """Kinds of the records that name an entity, in order."""
    return [record.kind for record in world.writer.log.story(entity)]


def since(world: World, lsn: int) -> list[Record]:
    """The records behind `lsn`."""
    return list(world.writer.log.read(lsn + 1))


def failure_of(world: World, start: int) -> StartFailed:
    """The record that failed a start."""
    found = [r.body for r in world.records if isinstance(r.body, StartFailed)]
    return next(body for body in found if body.start == start)


def states(world: World, what: str) -> dict[Any, str]:
    """States of all entities of a table."""
    return {key: entity.state for key, entity in world.state.tables[what].items()}


def armed(world: World, start: int = 1) -> bool:
    """Whether all launches of a start are ARMED."""
    found = world.state.starts.get(start)
    return found is not None and found.armed == len(found.launches)


def until_state(world: World, what: str, key: Any, state: str) -> None:
    """Let time pass until an entity is in a state."""
    world.run_until(
        lambda: key in world.state.tables[what] and world.state.tables[what][key].state == state
    )


def nothing_held(world: World) -> bool:
    """Whether no share, claim or instance is held."""
    index = world.state.index
    return not world.state.allocations and not index.holders and not any(index.used.values())


__all__ = ["Life", "Provision", "Weather"]

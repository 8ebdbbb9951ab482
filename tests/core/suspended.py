"""A world with work that is suspended, for the tests of suspending."""

import random
from typing import Any

from tests.core.lab import Life, lab, until_state
from tests.kit.words import ANNA, BERT, OPS, job
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US

FOR_EVER = Life(run_us=None)


def running(count: int = 1, slots: int = 4, resreq: str = "", tasks: int = 4, **rest: Any) -> World:
    """A cluster on which job 1 runs, with all the slots of a host."""
    world = lab(count, slots=slots, **rest)
    world.scripts.lives["1"] = FOR_EVER
    world.submit(job(tasks, resreq))
    until_state(world, "job", 1, "RUNNING")
    return world


def stop(world: World, **named: Any) -> None:
    """Suspend it, and let the host freeze it."""
    world.ask_body(c.Suspend(**{"actor": ANNA, **(named or {"job": 1})}))
    world.run(SECOND_US)


def used(world: World, host: str = "n1") -> dict[str, int]:
    """What is used of a host now."""
    return dict(world.state.index.used.get(host, {}))


def any_suspension(state: State, chance: random.Random) -> c.Command | None:
    """Something of a job or a gang, best of one that runs: asked by its owner, another user, an
    operator, or the system."""
    kind = c.Suspend if chance.random() < 0.5 else c.Resume
    actor = chance.choice((OPS, OPS, CONTROLLER, ANNA, BERT))
    if state.groups and chance.random() < 0.3:
        return kind(actor=actor, group=chance.choice(sorted(state.groups)))
    if not state.jobs:
        return None
    busy = [key for key, one in sorted(state.jobs.items()) if one.state == "RUNNING"]
    key = chance.choice(busy if busy and chance.random() < 0.8 else sorted(state.jobs))
    if state.jobs[key].group and chance.random() < 0.8:
        return kind(actor=actor, group=state.jobs[key].group)
    return kind(actor=actor, job=key)


def resume_of(state: State, key: int) -> c.Resume | None:
    """What lets a job that is held or suspended go on."""
    job = state.jobs[key]
    if job.state != "HELD" and job.suspension != "SUSPENDED":
        return None
    return c.Resume(actor=OPS, group=job.group) if job.group else c.Resume(actor=OPS, job=key)

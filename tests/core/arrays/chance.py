"""Random arrays, and what somebody asks of them."""

import random
from typing import TYPE_CHECKING, Any

from tests.kit.words import ANNA, BERT, OPS, array
from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.model.actor import Actor
from xce.model.ids import job_key
from xce.model.waiting.array import Runs

if TYPE_CHECKING:
    from tests.core.walk import Walk


def some_runs(chance: random.Random, last: int = 30) -> Runs:
    """One to three ranges, which may overlap."""
    found = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        first, step = chance.randint(1, last), chance.choice((1, 1, 2, 5))
        found.append((first, first + step * chance.randint(0, (last - first) // step), step))
    return tuple(found)


def some_array(chance: random.Random, actor: Actor, **rest: Any) -> c.SubmitJob:
    """An array of up to thirty elements, or a larger one that is ended before it could run."""
    limit = chance.choice((0, 0, 1, 2, 5))
    return array(*some_runs(chance), limit=limit, actor=actor, **rest)


def asked_of_array(chance: random.Random, state: State) -> c.Command | None:
    """Something of an array, of some of its elements, or of one."""
    if not state.arrays:
        return None
    number = chance.choice(sorted(state.arrays))
    elements = some_runs(chance) if chance.random() < 0.5 else ()
    key = job_key(number, chance.randint(1, 30)) if chance.random() < 0.3 else number
    actor = chance.choice((OPS, OPS, ANNA, BERT))
    named: dict[str, Any] = {"actor": actor, "job": key}
    if key == number:
        named["elements"] = elements
    kind = chance.choice(("kill", "suspend", "resume", "resume", "limit", "requeue"))
    match kind:
        case "kill":
            return c.Kill(**named)
        case "suspend":
            return c.Suspend(**named)
        case "resume":
            return c.Resume(**named)
        case "requeue":
            return c.RequeueJob(actor=actor, job=key, which=("done", "exited", "running"))
    return c.LimitArray(actor=actor, job=number, limit=chance.choice((0, 1, 2, 4)))


def of_array(walk: "Walk") -> None:
    """Somebody asks something of an array or of some of its elements."""
    if command := asked_of_array(walk.chance, walk.world.state):
        walk._ask(command)


def of_all_arrays(walk: "Walk", kind: type[c.Resume] | type[c.Kill]) -> None:
    """All arrays go on, or end."""
    for number in sorted(walk.world.state.arrays):
        walk._ask(kind(actor=OPS, job=number))

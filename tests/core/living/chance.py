"""What a random job says of its life."""

import random
from typing import TYPE_CHECKING, Any

from tests.kit.words import OPS
from xce.controller.core import commands as c
from xce.model.config import SECOND_US

if TYPE_CHECKING:
    from tests.core.walk import Walk


def some_size(chance: random.Random) -> dict[str, Any]:
    """How large a random job is, and whether it is held."""
    return {
        "tasks": chance.choice((1, 1, 2, 4, 6)),
        "resreq": chance.choice(("", "span[hosts=1]", "span[ptile=1]", "rusage[mem=2GB]")),
        "held": chance.random() < 0.1,
    }


def some_life(chance: random.Random, now_us: int) -> dict[str, Any]:
    """Limits, moments and reasons to run again, most often none."""
    found: dict[str, Any] = {}
    if chance.random() < 0.2:
        found["run_limit_us"] = chance.choice((SECOND_US, 10 * SECOND_US, 60 * SECOND_US))
    if chance.random() < 0.1:
        found["begin_us"] = now_us + chance.choice((-1, 1, 5 * SECOND_US, 60 * SECOND_US))
    if chance.random() < 0.1:
        found["terminate_us"] = now_us + chance.choice((61, 90, 300)) * SECOND_US
    if chance.random() < 0.2:
        found["requeue_exits"] = chance.choice(("1", "all ~0", "EXCLUDE(3)", "1 EXCLUDE(3)"))
    if chance.random() < 0.3:
        found["rerunnable"] = chance.choice((True, False))
    return found


def requeue(walk: "Walk") -> None:
    """Somebody wants a job to run again."""
    jobs = sorted(walk.world.state.jobs)
    if jobs:
        held = walk.chance.random() < 0.2
        which = walk.chance.choice((("running",), ("done", "exited"), ("running", "exited")))
        command = c.RequeueJob(actor=OPS, job=walk.chance.choice(jobs), which=which, held=held)
        walk._ask(command)

"""What a random job says of its life."""

import random
from typing import TYPE_CHECKING, Any

from tests.core.depending.chance import some_dependency
from tests.kit.words import ANNA, BERT, OPS
from xce.controller.core import commands as c
from xce.model.config import SECOND_US

if TYPE_CHECKING:
    from tests.core.walk import Walk


def some_size(chance: random.Random, *, held: bool = True) -> dict[str, Any]:
    """How large a random job is, and perhaps whether it is held."""
    size: dict[str, Any] = {
        "tasks": chance.choice((1, 1, 2, 4, 6)),
        "resreq": chance.choice(
            ("", "span[hosts=1]", "span[ptile=1]", "rusage[mem=2GB]", "rusage[lic=1]")
        ),
    }
    # Two tasks are the least of a range: more where there is room.
    size["tasks_max"] = 6 if size["tasks"] == 2 else 0
    return {**size, "held": chance.random() < 0.1} if held else size


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


def change(walk: "Walk") -> None:
    """Somebody changes, switches or moves a job."""
    state, chance = walk.world.state, walk.chance
    keys = sorted({*state.jobs, *state.arrays})
    if not keys:
        return
    key, actor = chance.choice(keys), chance.choice((OPS, ANNA, BERT))
    now_us = walk.world.now_us
    commands: tuple[c.Command, ...] = (
        c.ModifyJob(actor=actor, job=key, spec=some_life(chance, now_us)),
        c.ModifyJob(actor=actor, job=key, spec={**some_size(chance, held=False), "name": "new"}),
        c.ModifyJob(actor=actor, job=key, priority=chance.choice((-1, 10, 90))),
        c.ModifyJob(
            actor=actor, job=key, after=chance.choice(("", some_dependency(chance, state)))
        ),
        c.SwitchJob(actor=actor, job=key, queue=chance.choice(("normal", "night", "none"))),
        c.MoveJob(actor=actor, job=key, to="top", position=chance.choice((1, 1, 2, 50))),
        c.MoveJob(actor=actor, job=key, to="bottom", position=chance.choice((1, 1, 2, 50))),
    )
    walk._ask(chance.choice(commands))

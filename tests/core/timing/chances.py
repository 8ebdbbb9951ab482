"""What a walk draws of time: policies, who gives way to whom, how."""

import random
from typing import TYPE_CHECKING, Any

from tests.kit.words import ANNA, BOSS
from xce.controller.core import commands as c
from xce.model.config import (
    BACKFILL_POLICIES,
    PREEMPT_ACTIONS,
    SECOND_US,
    BackfillConfig,
    PreemptionConfig,
    QueueConfig,
)

if TYPE_CHECKING:
    from tests.core.walk import Walk


def some_time(chance: random.Random) -> dict[str, Any]:
    """Settings of backfill and preemption."""
    gives = chance.random() < 0.5
    return {
        "queues": (
            QueueConfig(name="normal", preemptive=("night",) if gives else ()),
            QueueConfig(name="night", priority=20),
            QueueConfig(name="shut", open=False),
        ),
        "backfill": BackfillConfig(policy=chance.choice(BACKFILL_POLICIES)),
        "preemption": PreemptionConfig(
            action=chance.choice(PREEMPT_ACTIONS),
            min_run_us=chance.choice((0, SECOND_US)),
            times_max=2,
            grace_us=2 * SECOND_US,
            patience_us=chance.choice((SECOND_US, 120 * SECOND_US)),
        ),
    }


def some_queue(chance: random.Random) -> dict[str, Any]:
    """A queue, and perhaps a limit."""
    found: dict[str, Any] = {"queue": chance.choice(("normal", "normal", "night"))}
    if chance.random() < 0.4:
        found["run_limit_us"] = chance.choice((SECOND_US, 5 * SECOND_US, 60 * SECOND_US))
    return found


def reserve(walk: "Walk") -> None:
    """An operator keeps hosts for somebody, or takes what was kept away."""
    chance, world = walk.chance, walk.world
    made = [one.name for one in world.state.reservations.values() if one.kind == "advance"]
    if made and chance.random() < 0.5:
        walk._ask(c.RemoveReservation(actor=BOSS, name=chance.choice(made)))
        return
    from_us = world.now_us + chance.choice((0, 5, 60)) * SECOND_US
    hosts = chance.choice(((), (chance.choice(sorted(world.agents)),)))
    walk._ask(
        c.AddReservation(
            actor=BOSS, users=(ANNA.uid,), hosts=hosts, tasks=0 if hosts else 2,
            from_us=from_us, until_us=from_us + chance.choice((5, 60)) * SECOND_US,
        )
    )  # fmt: skip

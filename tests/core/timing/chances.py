"""What a walk draws of time: policies, who gives way to whom, how."""

import random
from typing import Any

from xce.model.config import (
    BACKFILL_POLICIES,
    PREEMPT_ACTIONS,
    SECOND_US,
    BackfillConfig,
    PreemptionConfig,
    QueueConfig,
)


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

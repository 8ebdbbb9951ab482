"""What a random job says of its life."""

import random
from typing import Any

from xce.model.config import SECOND_US


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

"""What a walk draws of shares, limits and queues at run time."""

import random
from typing import Any

from tests.kit.words import OPS
from xce.controller.core import commands as c
from xce.model.config import LimitConfig, ShareTree, UserConfig, UserGroup

ORDERS = (
    ("fairshare", "priority", "fcfs"),
    ("priority", "fairshare", "fcfs"),
    ("smallest", "fcfs"),
)


def some_sharing(chance: random.Random) -> dict[str, Any]:
    """Settings of shares and limits, or none."""
    if chance.random() < 0.4:
        return {}
    return {
        "order": chance.choice(ORDERS),
        "age_add": chance.choice((0, 3)),
        "user_groups": (UserGroup(name="eng", members=("1000", "1001"), shares=(("1000", 2),)),),
        "share_trees": (
            ShareTree(
                name="main",
                queues=chance.choice((("normal",), ("normal", "night"))),
                shares=chance.choice(((("@eng", 3), ("others", 1)), (("default", 1),))),
                gpu_run_time_factor=chance.choice((0, 1000)),
            ),
        ),
        "limits": some_limits(chance),
        "users": (UserConfig(who="default", max_pending_jobs=chance.choice((5, 500))),),
    }


def some_limits(chance: random.Random) -> tuple[LimitConfig, ...]:
    """Limits on users, queues and hosts."""
    drawn = (
        LimitConfig(name="own", per_user=("all",), amounts=(("jobs", chance.randint(1, 4)),)),
        LimitConfig(name="all", amounts=(("slots", chance.randint(2, 9)), ("gpu", 3))),
        LimitConfig(name="host", per_host=("all",), amounts=(("slots", chance.randint(1, 4)),)),
        LimitConfig(
            name="pair", hosts=("n1", "n2"), per_queue=("all",),
            amounts=(("jobs", chance.randint(1, 3)),),
        ),
    )  # fmt: skip
    return tuple(one for one in drawn if chance.random() < 0.5)


def turn_queue(chance: random.Random) -> c.ChangeQueue:
    """An operator says something of a queue."""
    events = ("open", "open", "active", "active", "close", "inactive")
    queue = chance.choice(("normal", "night"))
    return c.ChangeQueue(actor=OPS, queue=queue, event=chance.choice(events))


def let_queues_go() -> list[c.ChangeQueue]:
    """All queues give out work again."""
    return [
        c.ChangeQueue(actor=OPS, queue=queue, event=event)
        for queue in ("normal", "night")
        for event in ("open", "active")
    ]

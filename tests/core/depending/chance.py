"""Dependencies and job groups by chance, for random worlds."""

import random

from tests.kit.words import OPS
from xce.controller.core import commands as c
from xce.controller.core.fold.state import State

PATHS = ("/a", "/a/b", "/c")
WORDS = ("done({})", "ended({})", "exit({})", "exit({}, > 1)", "started({})", "!done({})")


def some_dependency(chance: random.Random, state: State, most: int = 3) -> str:
    """Perhaps a dependency on jobs and gangs that there are, or were; "" for none."""
    known = [*range(1, state.last("job") + 1), *(f"g{number}" for number in state.groups)]
    if not known or chance.random() < 0.6:
        return ""
    count = chance.randint(1, most)
    some = (chance.choice(WORDS).format(chance.choice(known)) for _ in range(count))
    return chance.choice((" && ", " || ")).join(some)


def some_job_group(chance: random.Random) -> str:
    """Perhaps a job group."""
    return chance.choice(("", "", "", *PATHS))


def some_bound(chance: random.Random) -> c.ChangeJobGroup:
    """Somebody makes a job group, gives it another limit, or takes it away."""
    event = chance.choice(("add", "add", "modify", "remove"))
    limit = chance.choice((-1, 1, 2, 4))
    return c.ChangeJobGroup(actor=OPS, path=chance.choice(PATHS), event=event, limit=limit)

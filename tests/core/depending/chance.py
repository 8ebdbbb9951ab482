"""Dependencies by chance, for random worlds."""

import random

from xce.controller.core.fold.state import State

WORDS = ("done({})", "ended({})", "exit({})", "exit({}, > 1)", "started({})", "!done({})")


def some_dependency(chance: random.Random, state: State, most: int = 3) -> str:
    """Perhaps a dependency on jobs and gangs that there are, or were; "" for none."""
    known = [*range(1, state.last("job") + 1), *(f"g{number}" for number in state.groups)]
    if not known or chance.random() < 0.6:
        return ""
    count = chance.randint(1, most)
    some = (chance.choice(WORDS).format(chance.choice(known)) for _ in range(count))
    return chance.choice((" && ", " || ")).join(some)

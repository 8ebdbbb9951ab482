"""What a walk's launches do: how they prepare, how long they run, how they end."""

import random

from tests.kit.agents import Life
from tests.kit.world import Weather
from xce.model.config import SECOND_US

WEATHERS = (
    Weather(),
    Weather(twice=200, line_us=(100, 5_000)),
    Weather(lost=80, twice=200, torn=300, slow=30, between=300, line_us=(100, 20_000)),
)


def some_fate(chance: random.Random) -> Life:
    """Most are well, some fail, few hang."""
    return Life(
        prepare=chance.choices(("ok", "fail", "hang"), (90, 6, 2))[0],
        prepare_us=chance.choice((500, 3_000, 200_000, 2_000_000)),
        run_us=chance.choice((1_000, 50_000, SECOND_US, 20 * SECOND_US, 90 * SECOND_US)),
        code=chance.choices((0, 1, 3), (80, 12, 8))[0],
        signal=chance.choices((0, 9), (95, 5))[0],
        ready_us=chance.choice((1_000, SECOND_US)),
    )

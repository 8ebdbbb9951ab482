"""Random worlds in which most of what happens is that somebody suspends or resumes something."""

from collections import Counter
from dataclasses import replace

from tests.core.walk import Walk
from tests.kit.agents import Life
from xce.model.config import SECOND_US


class Restless(Walk):
    """Work that lasts, and people who cannot leave it alone."""

    def __init__(self, seed: int, crash_per_1000: int) -> None:
        super().__init__(seed, crash_per_1000)
        self._own_life = self.world.scripts.default
        self.world.scripts.default = self._lasting

    def _lasting(self, name: str, attempt: int) -> Life:
        life = self._own_life(name, attempt)
        run_us = self.chance.choice((20, 40, 90)) * SECOND_US
        return life if self.calm else replace(life, prepare="ok", run_us=run_us)

    def mishap(self) -> None:
        """One thing that somebody does or that goes wrong."""
        what = self.chance.random()
        if what < 0.6:
            self.suspend()
        elif what < 0.8:
            self.submit()
        else:
            super().mishap()


def test_restless_worlds_come_to_their_ends() -> None:
    moves: Counter[tuple[str, str]] = Counter()
    for seed, crash_per_1000 in ((2, 0), (8, 0), (12, 0), (5, 25), (9, 25), (10, 25)):
        walk = Restless(seed, crash_per_1000)
        walk.play(50)
        moves += walk.world.ledger.moves
    assert moves["job", "suspend"] > 0
    assert moves["job", "resumed"] > 0
    assert moves["job", "over"] > 0

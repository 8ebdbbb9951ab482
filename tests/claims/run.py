"""Many claimants, few islands, a controller that dies: `python -m tests.claims.run`.

Each claimant asks for an island, renews, checks, gives back, in an order drawn from one seed. The
controller dies at named points of its writer and its log, and is recovered from what is durable. A
claimant that got no answer asks again under its key, as clients do; what it is told then counts.
The history of what was told is judged at the end.
"""

import argparse
import random
import sys
import time
from typing import Any

from msgspec import structs

from tests.claims.history import Held, History
from tests.core.standalone.words import end, make, renew
from tests.kit.words import GB, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.model.actor import USER, Actor
from xce.model.config import SECOND_US
from xce.model.config.claims import ClaimsConfig
from xce.model.host import HostFacts, InstanceFacts

GPUS = 2
TRIES_MAX = 50


class Claimants:
    """Claimants in a seeded world, and what they were told."""

    def __init__(self, seed: int, claimants: int, islands: int, crash_per_1000: int) -> None:
        self.chance = random.Random(seed)
        self.history = History()
        self.islands = islands
        config = settings(claims=ClaimsConfig(unleased_percent=100))
        self.world = World({f"n{i:03}": _island(f"d{i:03}") for i in range(islands)}, seed, config)
        self.world.up()
        self.world.crash = lambda name: self.chance.randrange(1000) < crash_per_1000
        self.held: dict[int, Held | None] = dict.fromkeys(range(claimants))
        self.asked = self.lost = 0

    def play(self, operations: int) -> None:
        """So many operations, one after the other."""
        for _ in range(operations):
            who = self.chance.choice(sorted(self.held))
            mine = self.held[who]
            if mine is None:
                self._claim(who)
            else:
                act = self.chance.choice((self._renew, self._give_back, self._verify, self._wait))
                act(who, mine)
            self.world.run(self.chance.choice((0, 1_000, SECOND_US)))

    # -- what one claimant does ----------------------------------------------------------------
    def _claim(self, who: int) -> None:
        lease_us = self.chance.choice((2, 10, 60)) * SECOND_US
        asked_us = self.world.now_us
        command = make(f"x{self.asked}", count=GPUS, island="nvlink", actor=_actor(who))
        told = self._ask(structs.replace(command, until_us=asked_us + lease_us))
        if told.get("outcome") != "won":
            self.lost += told.get("outcome") == "lost"
            return
        claim = self.world.state.claims.get(int(told["claim"][1:]))
        if claim is None:
            return
        holdings = claim.holdings or self._granted(told["claim"])
        right = Held(
            who, told["claim"], told["generation"], tuple(one.instance for one in holdings),
            self.world.now_us, told["until_us"],
        )  # fmt: skip
        self.history.rights.append(right)
        self.held[who] = right

    def _granted(self, claim: str) -> Any:
        """What it was granted, where that is over already by the time the answer came."""
        (record,) = [r for r in self.world.writer.log.story(claim) if r.kind == "ClaimCreated"]
        return record.body.holdings  # type: ignore[attr-defined]

    def _renew(self, who: int, mine: Held) -> None:
        until_us = self.world.now_us + self.chance.choice((1, 20)) * SECOND_US
        # One who asks to hold for less believes in no more from then on.
        mine.until_us = min(mine.until_us, max(until_us, self.world.now_us))
        command = renew(
            int(mine.claim[1:]), actor=_actor(who), until_us=until_us, generation=mine.generation
        )
        told = self._ask(command)
        if told.get("outcome") == "won":
            mine.until_us = told["until_us"]
        else:
            self._over(who, mine)

    def _give_back(self, who: int, mine: Held) -> None:
        mine.given_us = self.world.now_us
        command = end(int(mine.claim[1:]), actor=_actor(who), generation=mine.generation)
        self._ask(command)
        self._over(who, mine)

    def _verify(self, who: int, mine: Held) -> None:
        """One who believes in his right is told that it stands."""
        from xce.controller.core.claims.decide import why_lost

        claim = self.world.state.claims.get(int(mine.claim[1:]))
        now_us = self.world.now_us
        valid = claim is not None and not why_lost(claim, mine.generation, now_us)
        assert valid or now_us >= mine.over_us, f"{mine} is said to be lost at {now_us}"
        if not valid:
            self._over(who, mine)

    def _wait(self, who: int, mine: Held) -> None:
        if self.world.now_us >= mine.over_us:
            self._over(who, mine)

    def _over(self, who: int, mine: Held) -> None:
        mine.given_us = mine.given_us or self.world.now_us
        self.held[who] = None

    def _ask(self, command: Any) -> dict[str, Any]:
        """The answer, asked for under one key until there is one."""
        self.asked += 1
        key = c.Request(key=f"k{self.asked}", digest=f"d{self.asked}")
        for _ in range(TRIES_MAX):
            answers: list[Any] = []
            self.world.inbox.append((structs.replace(command, request=key), answers.append))
            self.world.turn()
            if answers:
                return answers[0].body if isinstance(answers[0], Outcome) else {}
        raise AssertionError("no controller lives long enough to answer")


def _actor(who: int) -> Actor:
    return Actor(kind=USER, uid=2000 + who)


def _island(domain: str) -> HostFacts:
    gpus = tuple(
        InstanceFacts(type="gpu", name=f"G{i}", domains=(("nvlink", domain),)) for i in range(GPUS)
    )
    return HostFacts(counters=(("mem", 64 * GB), ("slots", 8)), instances=gpus)


def main() -> int:
    """Play once, print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.claims.run")
    parser.add_argument("--claimants", type=int, default=64)
    parser.add_argument("--islands", type=int, default=100)
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--crash", type=int, default=5, help="of 1000 named points passed")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    run = Claimants(given.seed, given.claimants, given.islands, given.crash)
    run.play(given.operations)
    wrong = run.history.judge()
    for line in wrong[:20]:
        print(line)
    print(f"{run.asked} asked, {len(run.history.rights)} won, {run.lost} lost, "
          f"{run.world.crashes} controllers died, {len(wrong)} wrong, "
          f"{time.monotonic() - began:.1f} s")  # fmt: skip
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

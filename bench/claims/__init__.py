"""`python -m bench claims`: what matching islands costs, and durable claims given and taken back.

Islands are published into a fresh SQLite log with full durability. Claimants ask in one step, as
the loop takes what is there: each step decides a command of every claimant and is one transaction.
A pair is a claim that was won and its release, both committed. HTTP is not measured.
"""

import argparse
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.claims.islands import table_of
from xce.controller.core.fold.state import State
from xce.controller.cuts import Cutter
from xce.controller.recover import recover
from xce.controller.step import Step, decide_all
from xce.controller.writer import Writer
from xce.model.actor import CONTROLLER, OPERATOR, USER, Actor
from xce.model.config import SECOND_US, Config
from xce.model.config.claims import ClaimsConfig
from xce.model.waiting.claim import ClaimRequest
from xce.model.waiting.island import Criteria, IslandFacts
from xce.wal.open import open_sqlite

BEGAN_US = 1_700_000_000 * SECOND_US
OPS = Actor(kind=OPERATOR, uid=500)


def run(argv: list[str]) -> dict[str, Any]:
    """Match over many islands; pairs with repeated and with distinct criteria."""
    parser = argparse.ArgumentParser(prog="bench claims")
    parser.add_argument("--islands", type=int, nargs="+", default=[1_000, 4_096])
    parser.add_argument("--match-islands", type=int, default=10_000)
    parser.add_argument("--claimants", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args(argv)
    figures: dict[str, Any] = {"match_ms": _match_ms(args.match_islands)}
    durability: dict[str, str] = {}
    for count in args.islands:
        folder = Path(tempfile.mkdtemp(prefix="xce-bench-"))
        try:
            told, durability = _pairs(folder, count, args)
            figures.update({f"{name}_{count}": figure for name, figure in told.items()})
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return {"figures": figures, "setting": vars(args), "durability": durability}


def facts(chance: random.Random) -> IslandFacts:
    """An island by chance."""
    tags = tuple(sorted(chance.sample(("fast", "slow", "new", "old", "ib", "eth"), 2)))
    return IslandFacts(
        tags=tags, region=chance.choice(("eu", "us", "ap")), units=chance.choice((4, 8, 72)),
        load=chance.randrange(1000), p50_latency_us=chance.randrange(10, 200),
        has=chance.choice(((), ("rdma",))),
    )  # fmt: skip


def criteria(number: int) -> Criteria:
    """What is asked; another number, another question."""
    return Criteria(tags_any=("fast", "new"), min_units=8, max_load=2_000 + number, region="eu")


def _match_ms(count: int) -> float:
    """The median of matches of questions that were never asked before."""
    from xce.scheduler.islands.match import IslandTable

    chance = random.Random(1)
    table = IslandTable({f"i{n:05}": facts(chance) for n in range(count)})
    taken = []
    for number in range(50):
        began = time.perf_counter()
        assert table.ranked(criteria(number))
        taken.append(time.perf_counter() - began)
    return round(sorted(taken)[25] * 1000, 3)


class Claimants:
    """Claimants over one log."""

    def __init__(self, folder: Path, islands: int, claimants: int) -> None:
        self.log = open_sqlite(folder / "xce.db")
        epoch = self.log.lead("bench", BEGAN_US, 86_400 * SECOND_US)
        self.state, _ = recover(self.log)
        self.state.epoch = epoch
        self.writer = Writer(self.state, self.log, None, Cutter(self.state), lambda name: None)
        self.actors = [Actor(kind=USER, uid=2000 + one) for one in range(claimants)]
        config = Config(claims=ClaimsConfig(unleased_percent=100, count_max=1 << 30))
        self.step([c.LoadConfig(actor=CONTROLLER, config=config, digest="bench")])
        chance = random.Random(1)
        names = [f"i{n:05}" for n in range(islands)]
        for at in range(0, islands, 256):
            self.step(
                [
                    c.PublishIsland(actor=OPS, island=name, facts=facts(chance))
                    for name in names[at : at + 256]
                ]
            )
        self.now_us = BEGAN_US

    def step(self, commands: list[Any]) -> Step:
        """Decide, append, commit."""
        now_us = self.state.at_us + 1 if self.state.at_us else BEGAN_US
        done = decide_all(self.state, commands, now_us)
        self.writer.commit(self.writer.batch(done, commands))
        return done

    def pairs(self, steps: int, *, distinct: bool) -> float:
        """Pairs per second."""
        table_of(self.state)
        done, asked, began = 0, 0, time.perf_counter()
        for number in range(steps):
            claims = []
            for actor in self.actors:
                asked += 1
                request = ClaimRequest(type="island", match=criteria(asked if distinct else 0))
                claims.append(c.CreateClaim(actor=actor, name=f"x{number}", requests=(request,)))
            won = [one.body["claim"] for one in self.step(claims).answers]  # type: ignore[union-attr]
            ends = [
                c.EndClaim(actor=actor, claim=int(claim[1:]), how="release")
                for actor, claim in zip(self.actors, won, strict=True)
            ]
            self.step(ends)
            done += len(ends)
        return round(done / (time.perf_counter() - began), 1)


def _pairs(
    folder: Path, islands: int, args: argparse.Namespace
) -> tuple[dict[str, float], dict[str, str]]:
    claimants = Claimants(folder, islands, args.claimants)
    assert isinstance(claimants.state, State)
    told = {
        "pairs_per_s": claimants.pairs(args.steps, distinct=False),
        "distinct_pairs_per_s": claimants.pairs(args.steps, distinct=True),
    }
    durability = dict(claimants.log.about().durability)
    claimants.log.close()
    return told, durability

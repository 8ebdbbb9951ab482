"""Crash points: `python -m tests.core.crash --pairs 10000` kills the controller at named points.

A run is one seed: jobs and gangs are submitted with idempotency keys by a client that asks again
until it is answered; at each named point of the writer and the log the controller may die. What a
crash fell into is whole or not there; the recovered digest is the live one; in the end every
acknowledged job has reached exactly one end, no key made two jobs, nothing ran twice.
"""

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from msgspec import structs

from tests.core.suspended import any_suspension, resume_of
from tests.kit.agents import Life
from tests.kit.line import Weather
from tests.kit.words import array, gang, gpus, job, machine, port, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.controller.core.fold.encode import digest
from xce.controller.recover import recover
from xce.controller.step import Answer
from xce.model.config import SECOND_US, RetryConfig
from xce.wal.memory import MemoryLog

POINTS = (
    "before_append", "log.begun", "log.written", "log.committed", "after_commit", "after_anchor",
    "before_answer",
)  # fmt: skip
ASK_AGAIN_US = 200_000


@dataclass
class Run:
    """What a run saw."""

    pairs: int = 0
    points: Counter[str] = field(default_factory=Counter)
    broken: int = 0


class Client:
    """Asks until it is answered, always with the same key."""

    def __init__(self, world: World, command: c.SubmitJob | c.SubmitGroup, key: str) -> None:
        self._world, self._key = world, key
        request = c.Request(key=key, digest=key)
        if isinstance(command, c.SubmitJob):
            self._command: c.Command = structs.replace(command, request=request)
        else:
            self._command = c.SubmitGroup(
                actor=command.actor, spec=command.spec, member_specs=command.member_specs,
                request=request,
            )  # fmt: skip
        self.answer: dict[str, object] | None = None

    def ask(self) -> None:
        """Ask, and once more later."""
        if self.answer is not None:
            return
        self._world.inbox.append((self._command, self._told))
        self._world.after(ASK_AGAIN_US, self.ask)

    def _told(self, answer: Answer) -> None:
        assert isinstance(answer, Outcome), answer
        if self.answer is None:
            self.answer = answer.body
            self._world.ledger.acknowledged(answer.body)
        assert self.answer == answer.body, f"key {self._key} was answered in two ways"


def play(seed: int, per_1000: int = 60, most: int = 60) -> Run:
    """One run from its seed to its end."""
    chance = random.Random(seed * 104_729 + 5)
    hosts = {f"n{i + 1}": machine(4, 2) for i in range(2)}
    weather = Weather(twice=100, line_us=(100, 4_000))
    retries = RetryConfig(max=9, first_us=SECOND_US, factor=1, cap_us=SECOND_US)
    world = World(hosts, seed, settings(start_retries=retries), weather)
    world.scripts.default = lambda name, attempt: Life(
        prepare="fail" if chance.random() < 0.05 else "ok",
        run_us=chance.choice((1_000, 200_000, 2 * SECOND_US)),
    )
    world.crash = lambda name: world.crashes < most and chance.randrange(1000) < per_1000
    asked: list[c.SubmitJob | c.SubmitGroup] = [job() for _ in range(4)]
    asked += [array((1, 9, 2), limit=2), array((1, 3, 1))]
    asked += [
        gang(
            role("front", 1), role("back", 2, claims=(gpus(1),)), claims=(port(),),
            retries=retries, stop_after_us=60 * SECOND_US,
        )
        for _ in range(2)
    ]  # fmt: skip
    clients = [Client(world, command, f"key-{i}") for i, command in enumerate(asked)]
    for client in clients:
        world.after(chance.randrange(3 * SECOND_US), client.ask)
    for _ in range(3):
        world.after(chance.randrange(4 * SECOND_US), world.cut)
    stir(world, chance, 20)
    world.run_until(lambda: all(client.answer for client in clients), 600 * SECOND_US)
    world.rest(3_000 * SECOND_US)
    world.crash = lambda name: False
    _assert_whole(world, clients)
    broken = sum(start.reason == "start_lost" for start in world.state.starts.values())
    return Run(world.crashes, Counter(world.reached), broken)


def stir(world: World, chance: random.Random, times: int) -> None:
    """Suspend and resume this and that; in the end let all of it go on."""
    if times:
        command = any_suspension(world.state, chance)
        world.inbox += [(command, None)] if command is not None else []
        world.after(chance.randrange(400_000), stir, world, chance, times - 1)
        return
    resumes = (resume_of(world.state, key) for key in sorted(world.state.jobs))
    world.inbox += [(command, None) for command in resumes if command is not None]
    if not world.ledger.at_rest():
        world.after(SECOND_US, stir, world, chance, 0)


def _assert_whole(world: World, clients: list[Client]) -> None:
    world.ledger.assert_whole()
    names = [str(client.answer) for client in clients]
    assert len(set(names)) == len(names), "two keys have one job"
    assert len(world.state.jobs) == 4 + 5 + 3 + 2 * 3, "a key made a second job"
    assert len(world.state.arrays) == 2, "a key made a second array"
    again, _ = recover(MemoryLog(world.store))
    again.epoch = world.state.epoch
    assert digest(again) == digest(world.state)
    for record in world.records:
        assert record.lsn <= world.ledger.lsn


def many(pairs: int, first_seed: int = 0) -> Run:
    """Runs until that many (seed, point) pairs were played."""
    total, seed = Run(), first_seed
    while total.pairs < pairs:
        run = play(seed)
        total.pairs += run.pairs
        total.points += run.points
        total.broken += run.broken
        seed += 1
    return total


def main() -> int:
    """Play and print the histogram of points."""
    parser = argparse.ArgumentParser(prog="python -m tests.core.crash")
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    began = time.monotonic()
    total = many(asked.pairs, asked.seed)
    for name in POINTS:
        print(f"{total.points[name]:7}  {name}")
    print(f"{total.pairs} crashes, {total.broken} broken starts, {time.monotonic() - began:.1f} s")
    return 0 if min(total.points[name] for name in POINTS) >= 3 else 1


if __name__ == "__main__":
    sys.exit(main())

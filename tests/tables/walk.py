"""The random walk over all tables: chaos for a while, then quiet until everything has ended.

    python -m tests.tables.walk --walks 12000

A walk is fixed by its seed. Half of the walks (odd seeds) also reorder deliveries. Chaos and the
quiet part stand in `chaos.py`; after every step the rules settle and all invariants are checked.
The command prints what failed, by seed, and how often each legal cell was reached.
"""

import argparse
import sys
import time
from collections import Counter

from tests.tables import chaos
from tests.tables.agents import Agent
from tests.tables.invariants import Watch, check, check_end, check_hosts
from tests.tables.rules import settle
from tests.tables.world import World
from xce.model.machine import Coupling, IllegalTransition
from xce.model.tables import MACHINES

CHAOS_STEPS = 600
QUIET_ROUNDS = 400
Cell = tuple[str, str, str]

LEGAL: frozenset[Cell] = frozenset(
    (name, state, event) for name, machine in MACHINES.items() for state, event in machine.rows
)


def walk(world: World, is_reordered: bool) -> None:
    """One walk; raises Violation, IllegalTransition or AssertionError where something breaks."""
    agents = chaos.make_hosts(world)
    watch: Watch = {}
    for _ in range(CHAOS_STEPS):
        world.now += 1
        chaos.step(world, agents, is_reordered)
        settle_and_check(world, agents, watch)
    for _ in range(QUIET_ROUNDS):
        if chaos.is_over(world, agents):
            break
        for act in chaos.quiet_round(agents):
            world.now += 1
            act(world)
            settle_and_check(world, agents, watch)
    check_end(world, agents)


def settle_and_check(world: World, agents: list[Agent], watch: Watch) -> None:
    """Let the rules come to rest; then all invariants, those of states if any state moved."""
    settle(world)
    if len(world.story) > world.checked:
        check(world, watch)
        world.checked = len(world.story)
    check_hosts(world, agents)


def attempt(seed: int, mutant: str = "", without: Coupling | None = None) -> tuple[str, World]:
    """The walk's failure in one line ("" for none), and its world as the walk left it."""
    world = World(seed, mutant, without)
    try:
        walk(world, is_reordered=seed % 2 == 1)
    except (IllegalTransition, AssertionError) as error:
        return f"{type(error).__name__}: {error}", world
    return "", world


def unreached(seen: Counter[Cell]) -> list[Cell]:
    """Legal cells that no walk went through."""
    return sorted(LEGAL - seen.keys())


def main(arguments: list[str]) -> int:
    """Walk many seeds and print the outcome."""
    parser = argparse.ArgumentParser(prog="python -m tests.tables.walk")
    parser.add_argument("--walks", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--story", action="store_true", help="print every move")
    options = parser.parse_args(arguments)
    begin, failures = time.monotonic(), []
    seen: Counter[Cell] = Counter()
    for seed in range(options.seed, options.seed + options.walks):
        failure, world = attempt(seed)
        seen.update(world.seen)
        if options.story:
            print("\n".join(world.story))
        if failure:
            failures.append(f"seed {seed}: {failure}")
            print(failures[-1], flush=True)
    for cell in sorted(LEGAL):
        print(f"{seen[cell]:9d}  {' '.join(cell)}")
    missing = unreached(seen)
    print(
        f"{options.walks} walks in {time.monotonic() - begin:.1f} s: {len(failures)} failed, "
        f"{sum(seen.values())} moves, {len(LEGAL) - len(missing)} of {len(LEGAL)} legal cells "
        f"reached; not reached: {[' '.join(cell) for cell in missing]}"
    )
    return 1 if failures or missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

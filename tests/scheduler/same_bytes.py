"""Same bytes, whatever the hash seed and the order of what has none.

    python -m tests.scheduler.same_bytes --hash-seeds 20 --worlds 12

Every session of so many walks of the core (shares, limits, backfill, preemption, reservations,
arrays, suspended work) plans its snapshot twice: as it is, and with everything shuffled that has no
order. One digest over all plans is said per hash seed; they are the same.
"""

import argparse
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from tests.core.swapped import swapped
from tests.core.walk import play
from xce.controller import sessions
from xce.scheduler.session import SessionRun, run_session
from xce.scheduler.snapshot import Snapshot

ROOT = Path(__file__).parents[2]
SETS = ("ends", "holds")
MAPS = (
    "free", "free_masks", "shut_queues", "queue_hosts", "known", "observed", "pools",
    "time_policies", "accounts", "free_counts", "host_bounds", "job_groups",
)  # fmt: skip


def shuffled(snapshot: Snapshot, chance: random.Random) -> Snapshot:
    """The same snapshot with all that has no order in another one."""
    changed: dict[str, Any] = {}
    for name in SETS:
        items = list(getattr(snapshot, name))
        chance.shuffle(items)
        changed[name] = tuple(items)
    for name in MAPS:
        pairs = list(getattr(snapshot, name).items())
        chance.shuffle(pairs)
        changed[name] = dict(pairs)
    victims = list(snapshot.preempting.victims)
    chance.shuffle(victims)
    changed["preempting"] = structs.replace(snapshot.preempting, victims=tuple(victims))
    return structs.replace(snapshot, **changed)


def worlds(count: int) -> tuple[str, Mapping[str, int]]:
    """One digest over the plans of all sessions of so many walks, and what was in them."""
    total, met = blake2b(digest_size=16), Counter[str]()

    def run(snapshot: Snapshot) -> SessionRun:
        first = msgspec.json.encode(run_session(snapshot))
        other = shuffled(snapshot, random.Random(snapshot.lsn))
        assert msgspec.json.encode(run_session(other)) == first, "the order of a set shows"
        total.update(first)
        parts = ("accounts", "bounds", "holds", "ends", "resumes", "job_groups", "host_bounds")
        met.update(name for name in parts if getattr(snapshot, name))
        met.update(["victims"] if snapshot.preempting.victims else [])
        return SessionRun(snapshot)

    with swapped(sessions, "SessionRun", run):
        for seed in range(count):
            total.update(play(seed).world.store.rows[-1].hash)
    return total.hexdigest(), met


def said(hash_seed: int, count: int) -> str:
    """The digest as another process finds it."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.scheduler.same_bytes", "--worlds", str(count)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def main() -> int:
    """Says the digest; with hash seeds, whether all of them say the same."""
    parser = argparse.ArgumentParser(prog="python -m tests.scheduler.same_bytes")
    parser.add_argument("--worlds", type=int, default=12)
    parser.add_argument("--hash-seeds", type=int, default=0)
    asked = parser.parse_args()
    if not asked.hash_seeds:
        digest, met = worlds(asked.worlds)
        print(digest, " ".join(f"{name}={number}" for name, number in sorted(met.items())))
        return 0
    found = {said(seed, asked.worlds) for seed in range(1, asked.hash_seeds + 1)}
    print("\n".join(sorted(found)))
    return 0 if len(found) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())

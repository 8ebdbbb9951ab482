"""Whole logs against published schedules: `python -m tests.sim.published --log KTH-SP2 --exact`.

Plays a log as `xce sim run` does and compares every start with the schedule that the study of
Gaussier et al. (SC'15) published, and the digest of all starts with the table of results.
"""

import argparse
import gzip
import os
import sys
from pathlib import Path

from xce.sim import clusters
from xce.sim.instant import Order
from xce.sim.readers import read_trace
from xce.sim.readers.form import SECOND_US
from xce.sim.results import Results
from xce.sim.run import Play, Run
from xce.sim.tape import Tape
from xce.sim.world import Rules

LOGS = {"KTH-SP2": 100, "SDSC-SP2": 128}
DIGESTS = {
    ("KTH-SP2", "fcfs", False): "1d777105b88d0d90777f",
    ("KTH-SP2", "easy", False): "8d5bfe86a412f14f2bf5",
    ("KTH-SP2", "easy", True): "84a030a8a45ab843a22c",
    ("SDSC-SP2", "fcfs", False): "dd8b641261681cb73d03",
    ("SDSC-SP2", "easy", False): "3674c039895675a491b7",
    ("SDSC-SP2", "easy", True): "d9e58a6c09147b38f837",
}
"""Of whole logs; one session an instant."""
FIRST_5000 = {
    ("KTH-SP2", "fcfs"): "d9bccd1273e0f07c6c0d",
    ("KTH-SP2", "easy"): "07f2da0de6ff2d286e6a",
    ("SDSC-SP2", "fcfs"): "553f326a71e1b33e7ab5",
    ("SDSC-SP2", "easy"): "9cbb12d5d65a56123cfa",
}
PUBLISHED = {"KTH-SP2": "0502a5909e58c8728ea9", "SDSC-SP2": "5f0455120bf9c5aa7fde"}
"""Of whole logs with user estimates, in the published event order."""


def traces() -> Path:
    """Where the given logs are."""
    return Path(os.environ["XCE_SHARED"]) / "traces"


def played(
    log: str, policy: str, *, jobs: int, exact: bool = False, order: Order = Order.TOGETHER
) -> Results:
    """The first jobs of a log on a flat pool."""
    trace = read_trace(traces() / f"{log}-predictsim.swf.gz", "swf", strict=True)
    config = clusters.with_policy(clusters.plain_config(), policy, 0, 0)
    hosts = clusters.pool(LOGS[log])
    run = Run(config, hosts, Rules(order=order), Play(exact=exact), Tape())
    return run.all(trace.jobs[:jobs])


def starts(results: Results) -> dict[int, int]:
    """The second at which each job began."""
    return {row.number: row.start_us // SECOND_US for row in results}


def published(log: str, *, exact: bool) -> dict[int, int]:
    """The starts of a published schedule."""
    name = f"{log}.easy{'-clairvoyant' if exact else ''}.swf.gz"
    found = {}
    for line in gzip.decompress((traces() / "published" / name).read_bytes()).decode().splitlines():
        words = line.split()
        if words and not words[0].startswith(";"):
            found[int(words[0])] = int(words[1]) + int(words[2])
    return found


def main() -> int:
    """Plays and compares."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim.published")
    parser.add_argument("--log", default="KTH-SP2", choices=sorted(LOGS))
    parser.add_argument("--policy", default="easy", choices=("easy", "fcfs"))
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--exact", action="store_true", help="run times are known")
    parser.add_argument("--order", default="together", choices=("together", "apart"))
    asked = parser.parse_args()
    results = played(
        asked.log, asked.policy, jobs=asked.jobs, exact=asked.exact, order=Order(asked.order)
    )
    mine, digest = starts(results), results.starts_digest()[:20]
    sys.stdout.write(f"{len(mine)} jobs, starts {digest}\n")
    wanted = ""
    if asked.jobs == 5_000 and not asked.exact:
        wanted = FIRST_5000[asked.log, asked.policy]
    elif asked.jobs >= 1_000_000:
        wanted = DIGESTS[asked.log, asked.policy, asked.exact]
        wanted = PUBLISHED[asked.log] if asked.order == "apart" else wanted
    if wanted:
        sys.stdout.write(
            f"the reference has {wanted}: {'equal' if wanted == digest else 'OTHER'}\n"
        )
    if asked.policy != "easy":
        return int(bool(wanted) and wanted != digest)
    other = published(asked.log, exact=asked.exact)
    wrong = sorted((at, number) for number, at in mine.items() if other[number] != at)
    sys.stdout.write(f"{len(wrong)} begin at another second than was published\n")
    for at, number in wrong[:5]:
        sys.stdout.write(f"job {number} began at {at}, published is {other[number]}\n")
    return int(bool(wrong) if asked.exact or asked.order == "apart" else wanted not in ("", digest))


if __name__ == "__main__":
    raise SystemExit(main())

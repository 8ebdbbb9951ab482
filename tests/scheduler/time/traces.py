"""Real workloads against published results: `python -m tests.scheduler.time.traces --jobs 1000`.

Plays the first jobs of a log on one pool, first come first served with EASY backfill, and compares
every start with the independent simulator of judge.py; a digest of all starts is printed, to be
compared with the table of results (sha256 of "id start" lines, sorted; 20 digits).
"""

import argparse
import gzip
import hashlib
import os
from pathlib import Path

from tests.kit.cluster import host, job, need, table
from tests.scheduler.time.judge import Work, easy
from tests.scheduler.time.play import SECOND_US, Play
from xce.scheduler.snapshot import Ask
from xce.scheduler.time.terms import EASY, TimePolicy

LOGS = {"KTH-SP2": 100, "SDSC-SP2": 128}


def read(log: str, count: int, *, exact: bool) -> list[Work]:
    """The first jobs of a log: processors (asked, else used), limit (asked, else run time)."""
    path = Path(os.environ["XCE_SHARED"]) / "traces" / f"{log}-predictsim.swf.gz"
    works = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        fields = line.split()
        if not fields or fields[0].startswith(";"):
            continue
        number, at, runs = int(fields[0]), int(float(fields[1])), int(float(fields[3]))
        wants = int(fields[7]) if int(fields[7]) > 0 else int(fields[4])
        limit = runs if exact or int(fields[8]) <= 0 else int(float(fields[8]))
        works.append(Work(number, at, wants, limit, min(runs, limit)))
        if len(works) == count:
            break
    return works


def played(processors: int, works: list[Work]) -> dict[int, int]:
    """The starts as sessions decide them."""
    hosts = table(host("pool", slots=processors))
    play = Play(hosts, TimePolicy(policy=EASY, look=0), {str(w.number): w.runs for w in works})
    asks = []
    for work in works:
        ask = job(work.number, need(one_host=True), tasks=work.wants)
        length_us = work.limit * SECOND_US
        key = f"{work.wants} {work.limit}"
        asks.append(
            (work.at, Ask(order=ask.order, class_key=key, roles=ask.roles, length_us=length_us))
        )
    play.run(asks)
    return {int(label): at_us // SECOND_US for label, at_us in play.starts.items()}


def digest(starts: dict[int, int]) -> str:
    """The digest that results are published by."""
    text = "".join(f"{number} {at}\n" for number, at in sorted(starts.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def main() -> int:
    """Plays and compares."""
    parser = argparse.ArgumentParser(prog="python -m tests.scheduler.time.traces")
    parser.add_argument("--log", default="KTH-SP2", choices=sorted(LOGS))
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--exact", action="store_true", help="run times are known")
    asked = parser.parse_args()
    works = read(asked.log, asked.jobs, exact=asked.exact)
    mine, other = played(LOGS[asked.log], works), easy(LOGS[asked.log], works)
    wrong = sorted((at, n) for n, at in mine.items() if other[n] != at)
    print(f"{len(works)} jobs, sessions {digest(mine)}, judge {digest(other)}")
    for at, number in wrong[:5]:
        print(f"job {number} began at {at}, the judge says {other[number]}")
    return 1 if wrong or len(mine) != len(works) else 0


if __name__ == "__main__":
    raise SystemExit(main())

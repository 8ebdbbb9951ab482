"""The kill runs: `python -m tests.kill.run --controller 100 --agent 40 --supervisor 40
--postgres 20 --seed S`.

Each run kills one part at one named point; the points are dealt round by round, so that every
one has its turn. A death that did not come, because the run ended before the arrival that was
drawn, is drawn again earlier. `--storm N` adds runs in which all parts die many times, at any
moment; `--gangs N` plays two large gangs against each other. Prints a line per run, then how
often each point was hit, what was counted, the seed and the seconds. Exits 1 when anything was
breached, or a point that was due was hit fewer than three times.
"""

import argparse
import os
import platform
import random
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from msgspec import structs

from tests.kill.one import Plan, Result, run_one, seeded, stormy
from tests.kill.scenes import two_large_gangs
from xce import crashpoint

HITS_DUE = 3
TRIES = 4
MOST = {
    "before_append": 170,
    "log.begun": 170,
    "log.written": 170,
    "log.committed": 170,
    "after_commit": 170,
    "after_anchor": 170,
    "before_publish": 170,
    "after_publish": 170,
    "before_answer": 220,
    "after_answer": 220,
    "before_order": 60,
    "after_order": 60,
    "order.received": 18,
    "report.before_post": 35,
    "report.after_post": 35,
    "launch.before_fork": 20,
    "launch.before_started": 20,
    "launch.after_started": 20,
    "launch.before_exec": 20,
    "launch.after_exited": 20,
}
"""The latest arrival that is drawn, by point; journal points differ by part."""
MOST_OF_JOURNAL = {"agent": 14, "supervisor": 55}


def most_of(part: str, point: str) -> int:
    """The latest arrival to draw."""
    return MOST_OF_JOURNAL[part] if point.startswith("journal.") else MOST[point]


def plans(part: str, count: int, seed: int) -> Iterator[Plan]:
    """The runs of one part: every point once per round, in an order of the seed's."""
    points = list(crashpoint.PARTS["controller" if part == "postgres" else part])
    draw = random.Random(f"{seed}/{part}")
    left: list[str] = []
    for index in range(count):
        if not left:
            left = list(points)
            draw.shuffle(left)
        point = left.pop()
        most = most_of("controller" if part == "postgres" else part, point)
        yield seeded(part, index, seed, point, most)


def until_hit(plan: Plan) -> Result:
    """Run the plan; again with an earlier arrival when the death did not come."""
    for _ in range(TRIES):
        result = run_one(plan, keep=True)
        if result.hit or result.finding.faults:
            return result
        plan = structs.replace(plan, arrival=max(1, min(result.arrivals, plan.arrival // 2)))
    return result


def line_of(result: Result) -> str:
    """A run on one line, and its breaches below."""
    plan, found = result.plan, result.finding
    verdict = "ok" if not found.faults else f"BREACHED: {len(found.faults)}"
    crash = f" server@{plan.crash_after}" if plan.crash_after else ""
    where = f"{plan.point}:{plan.arrival}" if plan.point else f"{result.deaths} deaths"
    head = (
        f"{plan.database:10} {plan.part:10} {where}{crash} seed {plan.seed} "
        f"hit {'yes' if result.hit else 'NO'} records {found.records} marks {found.marks} "
        f"failed {found.failed_starts} broken {found.broken_starts} retired {found.retired} "
        f"{result.seconds:.1f} s {verdict}"
    )
    kept = [f"    kept in {result.folder}"] if result.folder else []
    return "\n".join([head, *(f"    {fault}" for fault in found.faults[:8]), *kept])


def summary(results: list[Result], seed: int, began_s: float) -> bool:
    """Print the histogram and the counts; whether all is well."""
    hits = Counter((one.plan.part, one.plan.point) for one in results if one.hit)
    runs = Counter(one.plan.part for one in results)
    scarce = []
    print("\npoints hit:")
    for part, points in crashpoint.PARTS.items():
        for point in points if runs[part] else ():
            count = hits[part, point]
            print(f"  {part:10} {point:22} {count:4} {'#' * count}")
            if count < HITS_DUE and runs[part] >= HITS_DUE * len(points):
                scarce.append(f"{part} {point}")
    found = [one.finding for one in results]
    breached = [one for one in results if one.finding.faults]
    print(
        f"\nruns {len(results)} ({dict(runs)}), server stops "
        f"{sum(bool(one.plan.crash_after) for one in results)}, breached {len(breached)}\n"
        f"jobs and gangs {sum(one.plan.jobs + 8 for one in results)}, requests "
        f"{sum(one.asked for one in results)}, records {sum(one.records for one in found)}, "
        f"processes that ran {sum(one.marks for one in found)}, jobs that left the state "
        f"{sum(one.retired for one in found)}\n"
        f"starts failed before their pass {sum(one.failed_starts for one in found)}, broken after "
        f"it {sum(one.broken_starts for one in found)}: began again whole "
        f"{sum(one.broken_again for one in found)}, ended whole "
        f"{sum(one.broken_ended for one in found)}\n"
        f"deaths that did not come {sum(not one.hit for one in results)}; points hit too seldom: "
        f"{', '.join(scarce) or 'none'}\n"
        f"seed {seed}, {time.monotonic() - began_s:.0f} s, Linux {platform.release()}, Python "
        f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores"
    )
    return not breached and not scarce


def main(words: list[str]) -> int:
    """Run what the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.kill.run", description=__doc__)
    for part in ("controller", "agent", "supervisor", "postgres"):
        parser.add_argument(f"--{part}", type=int, default=0, metavar="N")
    parser.add_argument("--storm", type=int, default=0, metavar="N")
    parser.add_argument("--gangs", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=2, metavar="N")
    asked = parser.parse_args(words)
    began_s = time.monotonic()
    todo = [
        plan
        for part in ("controller", "agent", "supervisor", "postgres")
        for plan in plans(part, getattr(asked, part), asked.seed)
    ]
    todo += [stormy(index, asked.seed) for index in range(asked.storm)]
    results, fought = [], []
    with ProcessPoolExecutor(asked.at_once) as pool:
        for result in pool.map(until_hit, todo):
            results.append(result)
            print(line_of(result), flush=True)
        seeds = [f"{asked.seed}-{index}" for index in range(asked.gangs)]
        for seed, breaches in zip(seeds, pool.map(two_large_gangs, seeds), strict=True):
            fought.append(breaches)
            print(f"two large gangs, seed {seed}: {breaches or 'ok'}", flush=True)
    well = summary(results, asked.seed, began_s)
    return 0 if well and not any(fought) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

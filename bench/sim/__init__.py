"""`python -m bench sim`: jobs per second and memory of simulated logs, by policy.

Each run is a process of its own, so that its memory is its own. Jobs are drawn from a seed: a pool
of 128 slots at 70 % load, sizes and run times of the kind that logs of clusters have; or a given
SWF file. Processor seconds are told beside seconds: others may use the machine, too.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROCS = 128
LOAD = 0.7
SECOND_US = 1_000_000


def run(argv: list[str]) -> dict[str, Any]:
    """Every policy, at two lengths, so that what memory depends on can be seen."""
    parser = argparse.ArgumentParser(prog="bench sim")
    parser.add_argument("--jobs", type=int, default=4_000)
    parser.add_argument("--policies", default="fcfs,easy,conservative")
    parser.add_argument("--swf", type=Path)
    parser.add_argument("--procs", type=int, default=PROCS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.one:
        return _one(args)
    figures: dict[str, Any] = {}
    for policy in args.policies.split(","):
        for jobs in (args.jobs // 4, args.jobs):
            figures[f"{policy}_{jobs}"] = _apart(args, policy, jobs)
    return {"figures": figures, "setting": vars(args) | {"swf": str(args.swf or "")},
            "durability": {"durable": "no"}}  # fmt: skip


def _apart(args: argparse.Namespace, policy: str, jobs: int) -> Any:
    words = [sys.executable, "-m", "bench", "sim", "--one", policy, "--jobs", str(jobs)]
    words += ["--procs", str(args.procs), *(["--swf", str(args.swf)] if args.swf else [])]
    done = subprocess.run(words, capture_output=True, check=True)
    return json.loads(done.stdout)["figures"]


def _one(args: argparse.Namespace) -> dict[str, Any]:
    from xce.sim import clusters
    from xce.sim.readers import read_trace
    from xce.sim.run import Play, Run
    from xce.sim.tape import Tape
    from xce.sim.world import Rules

    jobs = read_trace(args.swf, "swf").jobs[: args.jobs] if args.swf else drawn(args.jobs)
    config = clusters.with_policy(clusters.plain_config(), args.one, 0, 0)
    made = Run(config, clusters.pool(args.procs), Rules(), Play(), Tape())
    began, used = time.monotonic(), time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = made.all(jobs)
    took, cpu = time.monotonic() - began, time.process_time() - used
    figures = {
        "jobs": len(results),
        "per_s": round(len(results) / took),
        "per_cpu_s": round(len(results) / cpu),
        "sessions": made.world.counts.sessions,
        "records": made.world.counts.records,
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "peak_mb_before": round(before / 1024),
        "jobs_left_in_state": len(made.world.state.jobs),
    }
    return {"figures": figures, "setting": {}, "durability": {}}


def drawn(count: int, seed: int = 1) -> list[Any]:
    """Jobs of a made-up log: powers of two, run times over five orders, limits too long."""
    from xce.sim.readers import TraceJob

    chance = random.Random(seed)
    found, at = [], 0.0
    for number in range(1, count + 1):
        tasks = 1 << min(7, int(chance.expovariate(0.5)))
        runs = max(1, min(86_400, int(chance.lognormvariate(6.5, 1.8))))
        limit = min(129_600, int(runs * chance.choice((1, 1.5, 3, 10))) + 60)
        at += chance.expovariate(1) * tasks * runs / (PROCS * LOAD)
        found.append(
            TraceJob(
                number=number, submit_us=int(at) * SECOND_US, run_us=runs * SECOND_US,
                tasks=tasks, limit_us=limit * SECOND_US, user=number % 50,
            )
        )  # fmt: skip
    return found

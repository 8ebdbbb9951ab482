"""`python -m bench endtoend`: jobs per second, from the first submission to the last end."""

import argparse
import asyncio
import json
import time
from typing import Any

from bench._served.load import JOB, submit_many
from bench._served.service import cluster_of, durability, get, service


def run(argv: list[str]) -> dict[str, Any]:
    """`/bin/true` many times on emulated hosts whose agents and processes are real."""
    parser = argparse.ArgumentParser(prog="bench endtoend")
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--clients", type=int, default=8)
    args = parser.parse_args(argv)
    with service(cluster_of(args.hosts, args.slots), args.hosts) as running:
        path = running.socket_path
        began = time.perf_counter()
        submitted, _ = asyncio.run(
            submit_many(path, args.clients, args.jobs, json.dumps(JOB).encode())
        )
        _wait_ended(path)
        seconds = time.perf_counter() - began
        done = get(path, "/v1/jobs?stat=DONE&limit=1")["total"]
        read_back = durability(path)
    if done != args.jobs:
        raise RuntimeError(f"{done} of {args.jobs} jobs are DONE")
    return {
        "name": "endtoend",
        "figures": {
            "jobs_per_s": round(args.jobs / seconds, 1),
            "seconds": round(seconds, 2),
            "submit_s": round(submitted, 2),
        },
        "setting": vars(args),
        "durability": read_back,
    }


def _wait_ended(path: str) -> None:
    while True:
        waiting = get(path, "/v1/jobs?limit=1")["total"]
        if not waiting:
            return
        time.sleep(0.05)

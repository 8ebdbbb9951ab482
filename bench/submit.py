"""`python -m bench submit`: durable submissions per second over the unix socket."""

import argparse
import asyncio
import json
import time
from typing import Any

from bench._served.load import JOB, Client, percentile, submit_many
from bench._served.service import NOTHING_STARTS, durability, service

_BODY = json.dumps({**JOB, "held": False}).encode()


def run(argv: list[str]) -> dict[str, Any]:
    """One client, many clients, and batches, each on the same growing queue; nothing can start."""
    parser = argparse.ArgumentParser(prog="bench submit")
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--batch", type=int, default=1_000)
    args = parser.parse_args(argv)
    figures: dict[str, Any] = {}
    with service(NOTHING_STARTS) as running:
        path = running.socket_path
        for clients, jobs in ((1, max(1, args.jobs // 10)), (args.clients, args.jobs)):
            seconds, times = asyncio.run(submit_many(path, clients, jobs, _BODY))
            figures[f"clients_{clients}"] = {
                "jobs": jobs,
                "per_s": round(jobs / seconds),
                "p50_ms": round(percentile(times, 0.5) * 1000, 2),
                "p99_ms": round(percentile(times, 0.99) * 1000, 2),
            }
        figures["batch"] = asyncio.run(_batches(path, args.batch, args.jobs))
        read_back = durability(path)
    return {
        "name": "submit",
        "figures": figures,
        "setting": {"jobs": args.jobs, "clients": args.clients, "batch": args.batch},
        "durability": read_back,
    }


async def _batches(path: str, size: int, jobs: int) -> dict[str, Any]:
    body = b"\n".join([_BODY] * size)
    began = time.perf_counter()
    async with Client(path) as client:
        for _ in range(max(1, jobs // size)):
            await client.ask("POST", "/v1/jobs:batch", body, kind="x-ndjson")
    seconds = time.perf_counter() - began
    done = max(1, jobs // size) * size
    return {"jobs": done, "per_s": round(done / seconds)}

"""`python -m bench latency`: from a submission to the job's own first instruction."""

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bench._served.load import Client, percentile
from bench._served.service import cluster_of, durability, service


def run(argv: list[str]) -> dict[str, Any]:
    """One job at a time on an idle cluster; each writes its own clock."""
    parser = argparse.ArgumentParser(prog="bench latency")
    parser.add_argument("--jobs", type=int, default=100)
    args = parser.parse_args(argv)
    with service(cluster_of(4, 16), 4) as running, tempfile.TemporaryDirectory() as folder:
        times = asyncio.run(_measure(running.socket_path, args.jobs, Path(folder)))
        read_back = durability(running.socket_path)
    return {
        "name": "latency",
        "figures": {
            "p50_ms": round(percentile(times, 0.5) * 1000, 1),
            "p99_ms": round(percentile(times, 0.99) * 1000, 1),
            "max_ms": round(max(times) * 1000, 1),
        },
        "setting": {"jobs": args.jobs},
        "durability": read_back,
    }


async def _measure(path: str, jobs: int, folder: Path) -> list[float]:
    times = []
    async with Client(path) as client:
        for number in range(jobs):
            mark = folder / str(number)
            job = {
                "command": ["/bin/sh", "-c", f"date +%s.%N > {mark}.new && mv {mark}.new {mark}"],
                "cwd": str(folder),
                "stdout": "/dev/null",
            }
            began = time.time()
            await client.ask("POST", "/v1/jobs", json.dumps(job).encode())
            while not mark.exists():
                await asyncio.sleep(0.001)
            times.append(float(mark.read_text()) - began)
            await asyncio.sleep(0.05)
    return times

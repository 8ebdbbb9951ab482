"""`python -m bench restart`: how long a killed controller takes to be back, and what it weighs."""

import argparse
import asyncio
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from bench._served.load import JOB, Client
from bench._served.service import NOTHING_STARTS, Service, durability, get

_BATCH = 2_000


def run(argv: list[str]) -> dict[str, Any]:
    """Fill the queue, kill -9, start again on the same home; all jobs must be there."""
    parser = argparse.ArgumentParser(prog="bench restart")
    parser.add_argument("--pending", type=int, default=100_000)
    args = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(prefix="xce-bench-"))
    home = folder / "home"
    first = Service(home, NOTHING_STARTS)
    try:
        first.wait_ready()
        asyncio.run(_fill(first.socket_path, args.pending))
        before = first.rss_bytes()
        first.kill()
        began = time.perf_counter()
        second = Service(home, NOTHING_STARTS)
        second.wait_ready()
        seconds = time.perf_counter() - began
        kept = get(second.socket_path, "/v1/jobs?limit=1")["total"]
        figures = {
            "seconds": round(seconds, 2),
            "rss_mb": round(second.rss_bytes() / 1e6, 1),
            "rss_before_mb": round(before / 1e6, 1),
            "kept": kept,
        }
        read_back = durability(second.socket_path)
        second.stop()
    finally:
        first.stop()
        shutil.rmtree(folder, ignore_errors=True)
    if kept != args.pending:
        raise RuntimeError(f"{kept} of {args.pending} jobs are there")
    return {
        "name": "restart",
        "figures": figures,
        "setting": {"pending": args.pending},
        "durability": read_back,
    }


async def _fill(path: str, jobs: int) -> None:
    line = json.dumps(JOB).encode()
    async with Client(path) as client:
        for first in range(0, jobs, _BATCH):
            body = b"\n".join([line] * min(_BATCH, jobs - first))
            await client.ask("POST", "/v1/jobs:batch", body, kind="x-ndjson")

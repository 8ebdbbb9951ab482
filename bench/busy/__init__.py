"""How long a submission waits while a long session and its commit are under way.

`python -m bench busy --jobs N --hosts H --rate R`: a controller on a SQLite log, with a cluster in
memory and N jobs pending; a session places them while R jobs are submitted each second.
`p50_ms` and `p99_ms` are from asking to the durable answer, of those asked while the session ran
(`session_s`); `share` is the session's part of the time; `refused` were told to come back.
"""

import argparse
import asyncio
import gc
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from bench._core.clusters import cluster, need_of, submit
from xce.controller.asking import Overloaded
from xce.controller.clock import Clock
from xce.controller.core.commands import SubmitJob
from xce.controller.core.fold.state import State
from xce.controller.cuts import Cutter
from xce.controller.loop import Controller
from xce.controller.writer import Writer
from xce.model.actor import USER, Actor
from xce.model.job import Spec
from xce.wal.anchor import Anchor
from xce.wal.open import open_log

TTL_US = 3_600_000_000


def run(argv: Sequence[str]) -> dict[str, Any]:
    """The figures of this benchmark."""
    parser = argparse.ArgumentParser(prog="bench busy")
    parser.add_argument("--jobs", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=200)
    parser.add_argument("--hosts", type=int, default=5_000)
    parser.add_argument("--rate", type=int, default=1_000)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as home:
        figures, about = asyncio.run(_measured(args, Path(home)))
    return {"figures": figures, "setting": vars(args), "durability": about}


async def _measured(args: argparse.Namespace, home: Path) -> tuple[dict[str, Any], Any]:
    log = open_log("sqlite", home)
    state = cluster(args.hosts)
    state.epoch = log.lead("bench", time.time_ns() // 1000, TTL_US)
    for name, host in list(state.hosts.items()):
        state.put("host", name, structs.replace(host, reconciled_epoch=state.epoch))
    state.index.settle()
    submit(state, args.jobs, args.classes)
    state.changed.clear()
    gc.collect()
    gc.freeze()
    anchor = Anchor(home / "anchor")
    cutter = Cutter(state)
    writer = Writer(state, log, anchor, cutter)
    controller = Controller(state, cutter, writer, Clock(state.at_us))
    controller.sessions._viewer.table()
    running = asyncio.create_task(controller.run())
    try:
        figures, about = await _submitting(controller, state, args), log.about()
    finally:
        controller._failure = RuntimeError("the benchmark is over")
        controller.stop()
        await asyncio.gather(running, return_exceptions=True)
        log.close()
    return figures, {"name": about.name, **about.durability}


async def _submitting(
    controller: Controller, state: State, args: argparse.Namespace
) -> dict[str, Any]:
    waits: list[float] = []
    refused = 0
    actor = Actor(kind=USER, name="bench", uid=1000)

    async def one(number: int) -> None:
        nonlocal refused
        spec = Spec(command=("true",), need=need_of(number % args.classes))
        began = time.perf_counter()
        try:
            await controller.ask(SubmitJob(actor=actor, spec=spec))
        except Overloaded:
            refused += 1
            return
        waits.append(time.perf_counter() - began)

    tasks: list[asyncio.Task[None]] = []
    began, asked = time.perf_counter(), 0
    while controller.sessions._seen == (-1, -1):
        await asyncio.sleep(0)
    turns = None
    while state.last("session") < 1 or controller._turns is not None:
        turns = controller._turns or turns
        due = int((time.perf_counter() - began) * args.rate)
        tasks += [asyncio.create_task(one(number)) for number in range(asked, due)]
        asked = max(asked, due)
        await asyncio.sleep(0.001)
        if state.last("session") > 1:
            break
    session_s = time.perf_counter() - began
    await asyncio.gather(*tasks)
    waits.sort()
    assert turns is not None
    whole = turns.session_s + turns.steps_s
    return {
        "p50_ms": round(waits[len(waits) // 2] * 1000, 1),
        "p99_ms": round(waits[len(waits) * 99 // 100] * 1000, 1),
        "max_ms": round(waits[-1] * 1000, 1),
        "submitted": len(waits),
        "refused": refused,
        "session_s": round(session_s, 2),
        "share": round(turns.session_s / whole, 2),
        "placed": len(state.allocations),
    }

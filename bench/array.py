"""`python -m bench array`: what a big job array costs.

`accept_ms` is a submission of that many elements over the socket, durable; `bytes_per_element` the
memory that pending elements take, of several such arrays; `restart_s` how long a killed controller
takes to be back with them. Then in one process, on a log in memory: how long it takes to plan and
to commit `--placed` elements of an array on hosts of eight slots, and as many plain jobs.
"""

import argparse
import asyncio
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench._served.load import JOB, Client
from bench._served.service import NOTHING_STARTS, Service, durability, get
from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.controller.sessions import Sessions
from xce.controller.step import Step, decide_all
from xce.model.actor import CONTROLLER, HOST, USER, Actor
from xce.model.config import SECOND_US, Config
from xce.model.host import HostFacts
from xce.model.job import Spec

ANNA = Actor(kind=USER, uid=1000)
SLOTS = 8
BEGAN_US = 1_700_000_000 * SECOND_US


def run(argv: list[str]) -> dict[str, Any]:
    """The figures of this benchmark."""
    parser = argparse.ArgumentParser(prog="bench array")
    parser.add_argument("--elements", type=int, default=1_000_000)
    parser.add_argument("--arrays", type=int, default=10)
    parser.add_argument("--placed", type=int, default=10_000)
    args = parser.parse_args(argv)
    figures, read_back = _served(args)
    for kind in ("array", "plain"):
        session_s, commit_s = _placed(args.placed, kind == "array")
        figures |= {f"{kind}_session_s": session_s, f"{kind}_commit_s": commit_s}
    return {
        "name": "array",
        "figures": figures,
        "setting": vars(args),
        "durability": read_back,
    }


# -- over the socket -----------------------------------------------------------------------------


def _served(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = Path(tempfile.mkdtemp(prefix="xce-bench-"))
    first = Service(folder / "home", NOTHING_STARTS)
    try:
        first.wait_ready()
        asyncio.run(_submit(first.socket_path, "warm[1-2000]", 1))
        before = first.rss_bytes()
        times = asyncio.run(_submit(first.socket_path, f"big[1-{args.elements}]", args.arrays))
        grown = first.rss_bytes() - before
        first.kill()
        began = time.perf_counter()
        second = Service(folder / "home", NOTHING_STARTS)
        try:
            second.wait_ready()
            back_s = time.perf_counter() - began
            kept = get(second.socket_path, "/v1/jobs?limit=1")["total"]
            read_back = durability(second.socket_path)
        finally:
            second.stop()
    finally:
        first.stop()
        shutil.rmtree(folder, ignore_errors=True)
    if kept != args.elements * args.arrays + 2000:
        raise RuntimeError(f"{kept} elements are there")
    figures = {
        "accept_ms": round(statistics.median(times) * 1e3, 2),
        "accept_worst_ms": round(max(times) * 1e3, 2),
        "bytes_per_element": round(max(0, grown) / (args.elements * args.arrays), 3),
        "restart_s": round(back_s, 2),
    }
    return figures, read_back


async def _submit(path: str, name: str, times: int) -> list[float]:
    body = json.dumps({**JOB, "name": name}).encode()
    found = []
    async with Client(path) as client:
        for _ in range(times):
            began = time.perf_counter()
            await client.ask("POST", "/v1/jobs", body)
            found.append(time.perf_counter() - began)
    return found


# -- in one process --------------------------------------------------------------------------------


def _placed(count: int, as_array: bool) -> tuple[float, float]:
    """Seconds to plan, and to commit, so many on as many slots."""
    state = State()
    state.epoch = 1
    _begin(state, -(-count // SLOTS))
    spec = Spec(command=("true",), name="bench")
    if as_array:
        job = c.SubmitJob(actor=ANNA, spec=spec, array=f"[1-{count}]", indices=((1, count, 1),))
        _step(state, job)
    else:
        decide_all(state, [c.SubmitJob(actor=ANNA, spec=spec)] * count, BEGAN_US)
    sessions = Sessions(state)
    began = time.perf_counter()
    work = sessions.begin(BEGAN_US)
    while not sessions.advance(work):
        pass
    planned = time.perf_counter()
    for slice_ in sessions.slices(work):
        sessions.committed(work, _step(state, slice_))
    committed = time.perf_counter()
    if work.planned != count:
        raise RuntimeError(f"{work.planned} of {count} were placed")
    return round(planned - began, 3), round(committed - planned, 3)


def _begin(state: State, hosts: int) -> None:
    facts = HostFacts(counters=(("mem", 64 << 30), ("slots", SLOTS)))
    _step(state, c.LoadConfig(actor=CONTROLLER, config=Config(), digest="bench"))
    for number in range(hosts):
        name = f"h{number:05d}"
        actor = Actor(kind=HOST, name=name)
        _step(state, c.RegisterHost(actor=actor, host=name, boot_id="b", facts=facts))
        told = state.hosts[name]
        up = {"liveness": "UP", "reconciled_epoch": state.epoch}
        fields = {field: getattr(told, field) for field in told.__struct_fields__} | up
        state.put("host", name, type(told)(**fields))


def _step(state: State, command: c.Command) -> Step:
    return decide_all(state, [command], BEGAN_US)

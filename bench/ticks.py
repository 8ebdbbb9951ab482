"""`python -m bench ticks`: what ticks cost in the log, and the controller, for many hosts.

Hosts are played: work comes and goes on each (every ten minutes on average), load follows it with
noise of some percent, memory follows in steps. Each sample goes the way of a real one: read onto
its grid, decided, folded, and appended to a SQLite log with full durability.
"""

import argparse
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from xce.controller.core import commands as c
from xce.controller.cuts import Cutter
from xce.controller.observing import Observing
from xce.controller.recover import recover
from xce.controller.step import decide_all
from xce.controller.writer import Writer
from xce.dispatch.protocol import PROTOCOL, Observed, Poll
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US, Config
from xce.model.host import HostFacts
from xce.wal import codec
from xce.wal.open import open_sqlite

DAY_S = 86_400
BEGAN_US = 1_700_000_000 * SECOND_US
WORK_S = 600


class PlayedHost:
    """One host: how much work it has, and what it tells of itself."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.work = chance.randrange(0, 32)

    def tell(self, every_s: float) -> tuple[tuple[str, float, int], ...]:
        """Values as an agent tells them."""
        chance = self._chance
        if chance.random() < every_s / WORK_S:
            self.work = max(0, min(32, self.work + chance.choice((-8, -4, -1, 1, 4, 8))))
        noise = 1 + chance.gauss(0, 0.02)
        load = self.work * noise + abs(chance.gauss(0, 0.05))
        return (
            ("r1m", load, 0),
            ("swp", 8192.0, 0),
            ("tmp", 100_000.0 - 1000 * self.work + chance.gauss(0, 5), 0),
            ("ut", min(1.0, load / 32), 0),
        )


def run(argv: list[str]) -> dict[str, Any]:
    """Ticks for a while, and what a day of them comes to."""
    parser = argparse.ArgumentParser(prog="bench ticks")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--ticks", type=int, default=240)
    parser.add_argument("--every-s", type=int, default=5)
    parser.add_argument("--sample-s", type=int, default=15, help="between samples of a host")
    parser.add_argument("--columns", default="r1m,ut,swp,tmp")
    args = parser.parse_args(argv)
    folder = Path(tempfile.mkdtemp(prefix="xce-bench-"))
    try:
        return _measure(args, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    log = open_sqlite(folder / "xce.db")
    epoch = log.lead("bench", BEGAN_US, DAY_S * SECOND_US)
    state, _ = recover(log)
    state.epoch = epoch
    writer = Writer(state, log, None, Cutter(state), lambda name: None)
    for command in _begin(args):
        _write(writer, decide_all(state, [command], BEGAN_US), [command])
    chance = random.Random(1)
    hosts = {f"h{i:05}": PlayedHost(chance) for i in range(args.hosts)}
    observing = Observing(state)
    samples_apart = max(1, args.sample_s // args.every_s)
    head, body_bytes, told = state.lsn, 0, 0
    spent: list[float] = []
    for number in range(1, args.ticks + 1):
        now_us = BEGAN_US + number * args.every_s * SECOND_US
        for place, (name, host) in enumerate(hosts.items()):
            if place % samples_apart != number % samples_apart:
                continue
            observed = Observed(values=host.tell(args.sample_s))
            poll = Poll(
                protocol=PROTOCOL, host=name, incarnation=state.hosts[name].incarnation,
                epoch=epoch, stamp=0, observed=observed,
            )  # fmt: skip
            observing.hear(poll, now_us)
        began = time.perf_counter()
        commands = observing.due(now_us)
        done = decide_all(state, commands, now_us)
        spent.append(time.perf_counter() - began)
        _write(writer, done, list(commands))
        for record in done.records:
            body_bytes += len(codec.encode(record, bytes(16)).body)
            told += sum(len(one.moves) for one in record.body.changes)  # type: ignore[attr-defined]
    durability = dict(log.about().durability)
    seconds = args.ticks * args.every_s
    size = sum(one.stat().st_size for one in folder.iterdir())
    log.close()
    return {
        "figures": {
            "log_bytes_per_host_day": round(body_bytes / args.hosts * DAY_S / seconds),
            "values_told_of_sampled": round(
                told * samples_apart / (args.hosts * args.ticks * len(args.columns.split(","))), 4
            ),
            "records_per_day": round((state.lsn - head) * DAY_S / seconds),
            "decide_and_apply_ms_median": round(sorted(spent)[len(spent) // 2] * 1000, 2),
            "decide_and_apply_ms_max": round(max(spent) * 1000, 2),
            "database_bytes": size,
        },
        "setting": {
            "hosts": args.hosts, "ticks": args.ticks, "every_s": args.every_s,
            "sample_s": args.sample_s, "columns": args.columns,
        },
        "durability": durability,
    }  # fmt: skip


def _begin(args: argparse.Namespace) -> list[c.Command]:
    config = Config(
        observe=tuple(args.columns.split(",")), tick_interval_us=args.every_s * SECOND_US
    )
    registrations = [
        c.RegisterHost(actor=CONTROLLER, host=f"h{i:05}", boot_id="b", facts=HostFacts())
        for i in range(args.hosts)
    ]
    leading = c.StartLeading(
        actor=CONTROLLER, holder="bench", version="0", database="sqlite", boot_id="b",
        resumed_lsn=0,
    )  # fmt: skip
    return [leading, c.LoadConfig(actor=CONTROLLER, config=config, digest="bench"), *registrations]


def _write(writer: Writer, done: Any, commands: list[c.Command]) -> None:
    if done.records:
        writer.commit(writer.batch(done, commands))

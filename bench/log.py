"""How fast the log takes records: appends by batch size, on SQLite and on PostgreSQL.

`python -m bench log [--seconds S] [--batches 1,10,100,256] [--postgres URL] [--no-anchor]`. Each
figure is records per second with everything that a real append does: hashing, the story index,
the commit's sync, and then the anchor's. Reading back and verifying follow. The durability is
what the database says of itself, and syncs and anchor writes are counted. Without `--postgres` the
PostgreSQL of the tests is started where there is one.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xce.model.records import JobSubmitted, Record
from xce.wal.anchor import Anchor
from xce.wal.open import open_sqlite
from xce.wal.port import Answer, Batch
from xce.wal.postgres import open_postgres
from xce.wal.verify import verify
from xce.wal.write import SqlLog

SPEC = "0" * 32
SAMPLE = "job submissions: one record, one story row and one answer each"


def run(argv: list[str]) -> dict[str, Any]:
    """Measures both databases; gives figures, setting and durability."""
    options = _options(argv)
    with tempfile.TemporaryDirectory(prefix="xce-bench-", dir=options.dir) as folder:
        home = Path(folder)
        logs: dict[str, Callable[[], SqlLog]] = {"sqlite": lambda: open_sqlite(home / "xce.db")}
        stop = _postgres(options, logs)
        try:
            found = {
                name: _measure(make, home / f"{name}.anchor", options)
                for name, make in logs.items()
            }
        finally:
            stop()
    return {
        "figures": {name: figures for name, (figures, _durability) in found.items()},
        "setting": {
            "seconds": options.seconds,
            "batches": options.batches,
            "anchor": options.anchor,
            "sample": SAMPLE,
        },
        "durability": {name: durability for name, (_figures, durability) in found.items()},
    }


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench log")
    parser.add_argument("--seconds", type=float, default=2.0, help="per batch size")
    parser.add_argument("--batches", default="1,10,100,256", help="records per append")
    parser.add_argument("--postgres", default="", help="address of an empty database")
    parser.add_argument("--dir", default=None, help="where the files go (the disk to measure)")
    parser.add_argument("--no-anchor", dest="anchor", action="store_false")
    options = parser.parse_args(argv)
    options.batches = [int(size) for size in options.batches.split(",")]
    return options


def _postgres(
    options: argparse.Namespace, logs: dict[str, Callable[[], SqlLog]]
) -> Callable[[], None]:
    """Adds PostgreSQL where there is one; gives what stops it."""
    if options.postgres:
        logs["postgresql"] = lambda: open_postgres(options.postgres)
        return lambda: None
    from tests.kit.postgres import PostgresServer, find_binaries

    binaries = find_binaries()
    if binaries is None:
        print("no PostgreSQL binaries: SQLite only", file=sys.stderr)
        return lambda: None
    server = PostgresServer(binaries, disk=True)
    server.start()
    server.execute("CREATE DATABASE bench")
    logs["postgresql"] = lambda: open_postgres(server.url("bench"))
    return server.remove


def _measure(
    make: Callable[[], SqlLog], anchor_path: Path, options: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The figures of one database and what it says of its durability."""
    log, anchor = make(), Anchor(anchor_path)
    try:
        epoch = log.lead("bench", 0, 3_600_000_000)
        figures: dict[str, Any] = {}
        appends = 0
        for size in options.batches:
            figures[f"batch_{size}"], count = _append(log, anchor, (epoch, size), options)
            appends += count
        figures |= _reading(log)
        about = log.about()
        durability = {
            **about.durability,
            "version": about.version,
            "appends": appends,
            "anchor_writes": anchor.writes,
        }
        return figures, durability
    finally:
        log.close()
        anchor.close()


def _append(
    log: SqlLog, anchor: Anchor, how: tuple[int, int], options: argparse.Namespace
) -> tuple[dict[str, Any], int]:
    """Appends batches of one size for a while; gives the rate, the latencies, the count."""
    epoch, size = how
    took_us: list[int] = []
    head = log.head()
    until = time.monotonic() + options.seconds
    while time.monotonic() < until:
        batch = _batch(epoch, head.lsn + 1, size)
        began = time.perf_counter_ns()
        head = log.append(batch)
        if options.anchor:
            anchor.write(head)
        took_us.append((time.perf_counter_ns() - began) // 1000)
    took_us.sort()
    return {
        "records_per_s": round(len(took_us) * size * 1e6 / max(1, sum(took_us))),
        "p50_us": took_us[len(took_us) // 2],
        "p99_us": took_us[len(took_us) * 99 // 100],
    }, len(took_us)


def _batch(epoch: int, first: int, size: int) -> Batch:
    records = tuple(
        Record(
            lsn=lsn,
            epoch=epoch,
            at_us=1_790_000_000_000_000 + lsn,
            kind="JobSubmitted",
            v=1,
            cause=f"submit-{lsn}",
            actor="user:1000",
            entities=(str(lsn),),
            body=JobSubmitted(
                job=lsn, spec=SPEC, owner=1000, queue="normal", priority=50, name="bench"
            ),
        )
        for lsn in range(first, first + size)
    )
    answers = tuple(
        Answer(owner=1000, key=f"key-{record.lsn}", digest=SPEC, lsn=record.lsn, body=b'{"job":1}')
        for record in records
    )
    return Batch(epoch=epoch, records=records, answers=answers)


def _reading(log: SqlLog) -> dict[str, int]:
    """How fast the log is read back, and checked whole."""
    began = time.perf_counter()
    count = sum(1 for _record in log.read(1))
    read_s = time.perf_counter() - began
    began = time.perf_counter()
    verify(log)
    verify_s = time.perf_counter() - began
    return {
        "records": count,
        "read_per_s": round(count / read_s),
        "verify_per_s": round(count / verify_s),
    }

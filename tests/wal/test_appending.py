"""Appends as other threads and SQLite's own log see them."""

import threading
from itertools import pairwise
from pathlib import Path

import pytest

from tests.wal import kit
from xce.wal import sqlite
from xce.wal.memory import MemoryLog, MemoryStore
from xce.wal.open import open_sqlite
from xce.wal.port import Batch, Head, LogMisuse


def test_a_reader_never_sees_a_transaction_that_is_under_way(tmp_path: Path) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def at_point(name: str) -> None:
        if name == "log.written":
            reached.set()
            go_on.wait(10)

    log = open_sqlite(tmp_path / "xce.db", at_point=at_point)
    epoch = log.lead("home-a", 0, 1)
    heads: list[Head] = []
    appending = threading.Thread(target=lambda: heads.append(log.append(kit.batch(epoch, 1))))
    appending.start()
    assert reached.wait(10)
    found: list[Head] = []
    reading = threading.Thread(target=lambda: found.append(log.head()))
    reading.start()
    reading.join(0.05)
    assert found == []
    go_on.set()
    for thread in (appending, reading):
        thread.join(10)
    assert found == heads
    assert found[0].lsn == 1
    log.close()


def test_the_log_of_sqlite_is_emptied_between_two_appends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_BYTES", 200_000)
    log = open_sqlite(tmp_path / "xce.db")
    epoch = log.lead("home-a", 0, 1)
    sizes = []
    for lsn in range(1, 41):
        blob = {f"{lsn:02x}": bytes([lsn]) * 20_000}
        log.append(Batch(epoch=epoch, records=kit.batch(epoch, lsn).records, blobs=blob))
        sizes.append((tmp_path / "xce.db-wal").stat().st_size)
    assert max(sizes) < 200_000 + 100_000
    assert sum(after < before for before, after in pairwise(sizes)) >= 3
    log.close()
    again = open_sqlite(tmp_path / "xce.db")
    assert again.head().lsn == 40
    assert again.blobs(["28"]) == {"28": b"\x28" * 20_000}
    again.close()


def test_a_handle_in_memory_that_dies_at_a_point_leaves_all_or_nothing() -> None:
    class Killed(Exception):
        pass

    for point, expected in (("log.begun", 0), ("log.written", 0), ("log.committed", 2)):
        store = MemoryStore()
        points: list[str] = []

        def at_point(name: str, point: str = point, points: list[str] = points) -> None:
            points.append(name)
            if name == point:
                raise Killed

        log = MemoryLog(store, at_point)
        epoch = log.lead("home-a", 0, 1)
        with pytest.raises(Killed):
            log.append(kit.batch(epoch, 1, 2))
        assert points[-1] == point
        assert MemoryLog(store).head().lsn == expected


def test_a_batch_that_is_refused_leaves_the_log_usable(tmp_path: Path) -> None:
    log = open_sqlite(tmp_path / "xce.db")
    epoch = log.lead("home-a", 0, 1)
    with pytest.raises(LogMisuse):
        log.append(kit.batch(epoch, 5))
    assert log.append(kit.batch(epoch, 1)).lsn == 1
    log.close()

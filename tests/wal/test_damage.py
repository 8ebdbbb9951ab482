"""Damaged databases and failing writes: found, named, never skipped or guessed."""

import sqlite3
from pathlib import Path

import pytest

from tests.wal import kit
from xce.wal.anchor import Anchor
from xce.wal.export import backup
from xce.wal.open import open_sqlite
from xce.wal.port import Batch, Log, LogBroken, LogCorrupt, LogError, RecordsMissing
from xce.wal.verify import verify

PLACE = "xce.db"


def written(tmp_path: Path, records: int) -> Anchor:
    """A log of that many records in a file, checkpointed, and its anchor."""
    log = open_sqlite(tmp_path / PLACE)
    epoch = log.lead("home-a", 0, 1)
    anchor = Anchor(tmp_path / "anchor")
    anchor.write(log.append(kit.batch(epoch, 1, records)))
    log.close()
    return anchor


def change(tmp_path: Path, statement: str, *values: object) -> None:
    """Changes the file behind the log's back."""
    raw = sqlite3.connect(tmp_path / PLACE)
    raw.execute(statement, values)
    raw.commit()
    raw.close()


@pytest.mark.parametrize(
    "column", ["epoch", "at_us", "kind", "v", "cause", "actor", "entities", "body", "hash"]
)
def test_a_changed_field_of_any_record_is_found_when_it_is_read(
    tmp_path: Path, column: str
) -> None:
    written(tmp_path, 5)
    numbers = {"epoch", "at_us", "v"}
    new: object = 9 if column in numbers else "x" * 16
    if column in {"body", "hash"}:
        new = b"x" * 16
    change(tmp_path, f"UPDATE record SET {column} = ? WHERE lsn = 3", new)
    log = open_sqlite(tmp_path / PLACE)
    reading = log.read(1)
    assert [next(reading).lsn, next(reading).lsn] == [1, 2]
    with pytest.raises(LogCorrupt, match="record 3 does not fit the hash chain"):
        next(reading)
    log.close()


def test_a_record_taken_out_of_the_middle_is_missed(tmp_path: Path) -> None:
    written(tmp_path, 5)
    change(tmp_path, "DELETE FROM record WHERE lsn = 3")
    log = open_sqlite(tmp_path / PLACE)
    with pytest.raises(LogCorrupt, match="record 3 is missing"):
        list(log.read(1))
    log.close()


def test_one_flipped_byte_anywhere_in_a_page_of_records_is_found(tmp_path: Path) -> None:
    anchor = written(tmp_path, 40)
    whole = (tmp_path / PLACE).read_bytes()
    start = whole.index(b"seal-20")
    for place in range(start - 12, start + 40, 3):
        damaged = bytearray(whole)
        damaged[place] ^= 0x04
        (tmp_path / PLACE).write_bytes(bytes(damaged))
        with pytest.raises(LogError):
            recover(tmp_path, anchor)
    (tmp_path / PLACE).write_bytes(whole)
    assert recover(tmp_path, anchor) == 40


def recover(tmp_path: Path, anchor: Anchor) -> int:
    """What a start does with the log: opens it, asks the anchor, reads it all, verifies."""
    log = open_sqlite(tmp_path / PLACE, fresh=False)
    try:
        anchor.check(log)
        count = sum(1 for _record in log.read(1))
        verify(log)
        return count
    finally:
        log.close()


@pytest.mark.parametrize("kept", [0, 50, 4096, 20_000, -1])
def test_a_truncated_file_is_refused(tmp_path: Path, kept: int) -> None:
    anchor = written(tmp_path, 300)
    data = (tmp_path / PLACE).read_bytes()
    (tmp_path / PLACE).write_bytes(data[:kept])
    with pytest.raises(LogError) as refusal:
        recover(tmp_path, anchor)
    if kept == 0:
        assert "acknowledged records missing: 300 (head 0, anchor 300)" in str(refusal.value)


def test_a_lost_tail_is_refused_with_how_much_is_missing(tmp_path: Path) -> None:
    anchor = written(tmp_path, 130)
    change(tmp_path, "DELETE FROM record WHERE lsn > 120")
    with pytest.raises(
        RecordsMissing, match=r"acknowledged records missing: 10 \(head 120, anchor 130\)"
    ):
        recover(tmp_path, anchor)


def test_a_restored_older_copy_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    written(tmp_path, 20).close()
    log = open_sqlite(tmp_path / PLACE)
    assert backup(log, tmp_path / "copy.db").last_lsn == 20
    anchor, epoch = Anchor(tmp_path / "anchor"), log.lead("home-a", 0, 1)
    anchor.write(log.append(kit.batch(epoch, 21, 5)))
    log.close()
    (tmp_path / "copy.db").rename(tmp_path / PLACE)
    (tmp_path / f"{PLACE}-wal").unlink(missing_ok=True)
    with pytest.raises(RecordsMissing, match=r"missing: 5 \(head 20, anchor 25\)"):
        recover(tmp_path, anchor)


def test_an_older_copy_that_went_on_is_refused_as_another_history(tmp_path: Path) -> None:
    written(tmp_path, 20).close()
    log = open_sqlite(tmp_path / PLACE)
    backup(log, tmp_path / "copy.db")
    anchor, epoch = Anchor(tmp_path / "anchor"), log.lead("home-a", 0, 1)
    anchor.write(log.append(kit.batch(epoch, 21, 2)))
    log.close()
    other = open_sqlite(tmp_path / "copy.db")
    epoch = other.lead("home-b", 0, 1)
    other.append(Batch(epoch=epoch, records=(kit.host_changed(21, epoch, "n1"),)))
    other.append(kit.batch(epoch, 22, 3))
    with pytest.raises(RecordsMissing, match="record 22 is not the one that was acknowledged"):
        anchor.check(other)
    other.close()


@pytest.mark.parametrize("dropped", [1, 3])
def test_the_log_of_sqlite_that_loses_its_end_silently_is_caught_by_the_anchor(
    tmp_path: Path, dropped: int
) -> None:
    log = open_sqlite(tmp_path / PLACE)
    anchor, epoch = Anchor(tmp_path / "anchor"), log.lead("home-a", 0, 1)
    for lsn in range(1, 11):
        anchor.write(log.append(kit.batch(epoch, lsn)))
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in (PLACE, f"{PLACE}-wal"):
        (crashed / name).write_bytes((tmp_path / name).read_bytes())
    log.close()
    data = bytearray((crashed / f"{PLACE}-wal").read_bytes())
    data[-(4096 + 24) * 3 * dropped + 100] ^= 1
    (crashed / f"{PLACE}-wal").write_bytes(bytes(data))
    with pytest.raises(RecordsMissing, match="acknowledged records missing"):
        recover(crashed, anchor)


class FailingCommit:
    """A connection whose next COMMIT says that it failed; it may have been done all the same."""

    def __init__(self, raw: sqlite3.Connection, done: bool) -> None:
        self._raw, self._done = raw, done

    def execute(self, text: str, *rest: object) -> sqlite3.Cursor:
        if text == "COMMIT":
            if self._done:
                self._raw.execute("COMMIT")
            raise sqlite3.OperationalError("disk I/O error")
        return self._raw.execute(text, *rest)

    def __getattr__(self, name: str) -> object:
        return getattr(self._raw, name)


@pytest.mark.parametrize("done", [False, True])
def test_a_commit_that_fails_is_unknown_and_nothing_follows_it(tmp_path: Path, done: bool) -> None:
    log = open_sqlite(tmp_path / PLACE)
    epoch = log.lead("home-a", 0, 1)
    log.append(kit.batch(epoch, 1))
    raw = log._raw
    log._raw = FailingCommit(raw, done)  # type: ignore[assignment]
    with pytest.raises(LogBroken, match=r"disk I/O error \(while appending\)"):
        log.append(kit.batch(epoch, 2))
    log._raw = raw
    for lsn in (2, 3):
        with pytest.raises(LogBroken, match="nothing may follow it"):
            log.append(kit.batch(epoch, lsn))
    with pytest.raises(LogBroken, match="nothing may follow it"):
        log.lead("home-a", 0, 1)
    log.close()
    again = open_sqlite(tmp_path / PLACE)
    assert again.head().lsn == (2 if done else 1)
    again.close()


def test_a_full_disk_breaks_the_log_and_keeps_what_was_appended(tmp_path: Path) -> None:
    log = open_sqlite(tmp_path / PLACE)
    epoch = log.lead("home-a", 0, 1)
    log.append(kit.batch(epoch, 1))
    pages = log._raw.execute("PRAGMA page_count").fetchone()[0]
    log._raw.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(LogBroken, match="full"):
        log.append(Batch(epoch=epoch, blobs={"aa": bytes(100_000)}))
    log.close()
    again = open_sqlite(tmp_path / PLACE)
    assert again.head().lsn == 1
    again.close()


def test_an_append_that_is_cut_short_at_a_named_point_leaves_all_or_nothing(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    for number, (point, expected) in enumerate(
        [("log.begun", 1), ("log.written", 1), ("log.committed", 2)]
    ):
        path = tmp_path / f"{number}.db"
        armed: list[str] = []

        def at_point(name: str, armed: list[str] = armed) -> None:
            if name in armed:
                raise Killed(name)

        log = open_sqlite(path, at_point=at_point)
        epoch = log.lead("home-a", 0, 1)
        log.append(kit.batch(epoch, 1))
        armed.append(point)
        with pytest.raises(Killed):
            log.append(kit.batch(epoch, 2))
        log.close()
        again: Log = open_sqlite(path)
        assert again.head().lsn == expected
        again.close()

"""Verify and export, on every log."""

import io
from pathlib import Path

import pytest

from tests.wal import kit
from tests.wal.conftest import Place
from tests.wal.test_damage import change
from xce.wal import codec
from xce.wal.export import backup, export, export_lines, import_lines
from xce.wal.memory import MemoryLog
from xce.wal.open import open_sqlite
from xce.wal.port import Batch, Log, LogCorrupt, LogTooNew, LogUnfit
from xce.wal.verify import Verified, verify

SCRIPT = b"#!/bin/sh\necho \xff\n"
NAME = codec.blob_name(SCRIPT)


def fill(log: Log) -> Log:
    """Three records, a blob, a closed cut of one row."""
    epoch = log.lead("home-a", 0, 10 * kit.SECOND_US)
    records = (kit.sealed(1, epoch), kit.host_changed(2, epoch, "n1", "ü"), kit.sealed(3, epoch, 8))
    row = kit.cut_row("job", "1", 2, b'{"key":1}')
    total = codec.row_digest("job", "1", b'{"key":1}')
    log.append(Batch(epoch=epoch, records=records, blobs={NAME: SCRIPT}, cut_rows=(row,)))
    log.append(Batch(epoch=epoch, cut_close=kit.close_cut(2, 1, codec.digest_text(total))))
    return log


def test_a_whole_log_is_found_whole(place: Place) -> None:
    assert verify(fill(place.log())) == Verified(  # type: ignore[arg-type]
        first_lsn=1, last_lsn=3, records=3, stories=3, blobs=1, cut_lsn=2, cut_rows=1
    )


def test_an_export_comes_back_as_the_same_log(place: Place) -> None:
    log = fill(place.log())
    out = io.BytesIO()
    assert export(log, out) == 5  # type: ignore[arg-type]
    copy = MemoryLog(import_lines(out.getvalue().splitlines(keepends=True)))
    assert copy.head() == log.head()
    assert list(copy.read(1)) == list(log.read(1))
    assert copy.story("host:n1") == log.story("host:n1")
    assert copy.blobs([NAME]) == {NAME: SCRIPT}
    assert b"".join(export_lines(copy)) == out.getvalue()


def test_an_export_holds_bodies_as_plain_json(place: Place) -> None:
    lines = list(export_lines(fill(place.log()), upto_lsn=1))  # type: ignore[arg-type]
    assert len(lines) == 3
    assert lines[0].startswith(b'{"line":"log","format":1,"floor":0,')
    assert b'"entities":["g7"],"body":{"then":[],"group":7},"hash":"' in lines[2]


def test_a_changed_export_is_refused_at_its_line() -> None:
    lines = list(export_lines(fill(MemoryLog())))  # type: ignore[arg-type]
    for number, old, new, said in (
        (2, b'"group":7', b'"group":9', "record 1 does not fit the hash chain"),
        (3, b'"line":"record"', b'"line":"recrd"', "line 4 of the export cannot be read"),
        (0, b'"last_lsn":3', b'"last_lsn":4', "the export ends at lsn 3, not at 4"),
    ):
        changed = list(lines)
        changed[number] = changed[number].replace(old, new)
        with pytest.raises(LogCorrupt, match=said):
            import_lines(changed)
    with pytest.raises(LogCorrupt, match="record 2 where 1 is due"):
        import_lines(lines[:2] + lines[3:])
    with pytest.raises(LogCorrupt, match="no first line"):
        import_lines([])
    with pytest.raises(LogTooNew, match="format 2"):
        import_lines([lines[0].replace(b'"format":1', b'"format":2')])


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE record SET at_us = 1 WHERE lsn = 2", "record 2 does not fit the hash chain"),
        ("DELETE FROM story WHERE lsn = 2", "has g8 at lsn 3 where record 2 names host:n1"),
        ("DELETE FROM story WHERE lsn = 3", "has nothing where record 3 names g8"),
        ("INSERT INTO story VALUES ('z9', 3)", "has z9 at lsn 3, which no record names"),
        ("UPDATE blob SET body = x'00'", "does not have the content that its name says"),
        ("UPDATE job SET body = x'00'", "the cut at lsn 2 has 1 rows with digest"),
        ("DELETE FROM job", "the cut at lsn 2 has 0 rows"),
        ("UPDATE cut SET hash = x'00'", "the cut at lsn 2 belongs to another history"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, statement: str, said: str) -> None:
    fill(open_sqlite(tmp_path / "xce.db")).close()
    change(tmp_path, statement)
    log = open_sqlite(tmp_path / "xce.db")
    with pytest.raises(LogCorrupt, match=said):
        verify(log)
    log.close()


def test_a_backup_is_a_whole_log_and_never_overwrites(tmp_path: Path) -> None:
    log = open_sqlite(tmp_path / "xce.db")
    fill(log)
    assert backup(log, tmp_path / "copy.db").records == 3
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "xce.db", "xce.db-wal"]
    with pytest.raises(LogUnfit, match="is there already"):
        backup(log, tmp_path / "copy.db")
    epoch = log.lead("home-a", 0, 1)
    assert log.append(kit.batch(epoch, 4)).lsn == 4
    log.close()
    copy = open_sqlite(tmp_path / "copy.db")
    assert copy.head().lsn == 3
    copy.close()

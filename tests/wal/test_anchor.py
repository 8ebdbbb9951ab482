"""The anchor, and what a start refuses because of it."""

from pathlib import Path

import pytest

from tests.wal import kit
from xce.wal.anchor import SLOT_BYTES, Anchor
from xce.wal.memory import MemoryLog
from xce.wal.port import Head, LogBroken, LogCorrupt, LogUnfit, RecordsMissing


def head(lsn: int) -> Head:
    return Head(lsn=lsn, hash=bytes([lsn % 256]) * 16, epoch=3)


def filled(records: int) -> MemoryLog:
    log = MemoryLog()
    log.append(kit.batch(log.lead("home-a", 0, 10), 1, records))
    return log


def test_a_new_anchor_is_empty_and_full_length(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "anchor")
    assert anchor.head is None
    assert (tmp_path / "anchor").stat().st_size == 4096
    assert (tmp_path / "anchor").stat().st_mode & 0o777 == 0o600
    anchor.check(filled(5))
    anchor.close()
    assert Anchor(tmp_path / "anchor").head is None


def test_what_was_written_last_is_read_back(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "anchor")
    for lsn in (1, 2, 7):
        anchor.write(head(lsn))
    assert anchor.writes == 3
    anchor.close()
    again = Anchor(tmp_path / "anchor")
    assert again.head == head(7)
    again.write(head(8))
    assert Anchor(tmp_path / "anchor").head == head(8)


@pytest.mark.parametrize("torn", range(48))
def test_a_torn_write_leaves_the_one_before(tmp_path: Path, torn: int) -> None:
    path = tmp_path / "anchor"
    anchor = Anchor(path)
    for lsn in (1, 2, 3):
        anchor.write(head(lsn))
    data = bytearray(path.read_bytes())
    data[SLOT_BYTES + torn] ^= 0x40
    path.write_bytes(bytes(data))
    assert Anchor(path).head == head(2)


def test_an_anchor_with_no_whole_slot_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "anchor"
    anchor = Anchor(path)
    anchor.write(head(1))
    data = bytearray(path.read_bytes())
    data[SLOT_BYTES + 20] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(LogCorrupt, match="neither of its slots is whole"):
        Anchor(path)


def test_a_log_that_ends_before_the_anchor_is_refused_with_the_count(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "anchor")
    anchor.write(filled(130).head())
    with pytest.raises(
        RecordsMissing, match=r"acknowledged records missing: 10 \(head 120, anchor 130\)"
    ):
        anchor.check(filled(120))


def test_a_log_with_another_history_is_refused(tmp_path: Path) -> None:
    anchor, log = Anchor(tmp_path / "anchor"), filled(5)
    anchor.write(Head(lsn=5, hash=b"x" * 16, epoch=1))
    with pytest.raises(RecordsMissing, match="record 5 is not the one that was acknowledged"):
        anchor.check(log)


def test_a_log_beyond_the_anchor_is_taken(tmp_path: Path) -> None:
    anchor, log = Anchor(tmp_path / "anchor"), filled(5)
    anchor.write(log.head())
    log.append(kit.batch(1, 6, 2))
    anchor.check(log)
    assert log.head().lsn == 7


def test_a_write_that_fails_is_broken_and_not_refused(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "anchor")
    anchor.close()
    with pytest.raises(LogBroken, match="anchor"):
        anchor.write(head(1))
    assert anchor.writes == 0


def test_an_anchor_that_cannot_be_opened_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(LogUnfit, match=r"cannot use the anchor .*: Is a directory"):
        Anchor(tmp_path)

"""Cuts and truncation on every log."""

import pytest

from tests.wal import kit
from tests.wal.conftest import Place
from xce.wal import codec
from xce.wal.port import Batch, Cut, LiveRow, Log, LogCorrupt, LogMisuse
from xce.wal.verify import verify

TTL = 10 * kit.SECOND_US


def live(kind: str, entity: str, body: bytes) -> LiveRow:
    return LiveRow(kind=kind, id=entity, body=body)


def led(place: Place, records: int) -> tuple[Log, int]:
    log = place.log()
    epoch = log.lead("home-a", 0, TTL)
    if records:
        log.append(kit.batch(epoch, 1, records))
    return log, epoch


def close(log: Log, epoch: int, lsn: int, rows: list[LiveRow]) -> None:
    """Closes a cut that holds exactly `rows`."""
    closing = kit.close_cut(lsn, len(rows), codec.rows_digest(rows))
    log.append(Batch(epoch=epoch, cut_close=closing))


def test_a_cut_is_seen_only_when_it_is_closed(place: Place) -> None:
    log, epoch = led(place, 3)
    first = (kit.cut_row("job", "1", 2, b'{"a":1}'), kit.cut_row("host", "n1", 2, b'{"h":1}'))
    log.append(Batch(epoch=epoch, cut_rows=first))
    assert log.newest_cut() is None
    rows = [live("host", "n1", b'{"h":1}'), live("job", "1", b'{"a":1}')]
    close(log, epoch, 2, rows)
    cut = place.log().newest_cut()
    assert cut == Cut(
        lsn=2, count=2, digest=codec.rows_digest(rows), hash=place.log().hash_at(2) or b""
    )


def test_a_cut_holds_the_newest_row_of_each_entity_without_tombstones(place: Place) -> None:
    log, epoch = led(place, 6)
    for lsn, jobs in ((2, {"1": b"a", "2": b"b", "10": b"c"}), (4, {"1": b"A", "2": None})):
        rows = tuple(kit.cut_row("job", job, lsn, body) for job, body in jobs.items())
        log.append(Batch(epoch=epoch, cut_rows=rows))
        log.append(Batch(epoch=epoch, cut_close=kit.close_cut(lsn, 0)))
    unclosed = (kit.cut_row("job", "1", 6, b"later"), kit.cut_row("job", "3", 6, b"new"))
    log.append(Batch(epoch=epoch, cut_rows=unclosed))
    cut = log.newest_cut()
    assert cut is not None
    assert list(log.cut_rows(cut)) == [live("job", "1", b"A"), live("job", "10", b"c")]


def test_kinds_come_in_their_order_and_ids_by_code_point(place: Place) -> None:
    log, epoch = led(place, 1)
    names = ["b", "B", "a/1", "é", "a-1", "10", "9"]
    rows = tuple(kit.cut_row("instance", name, 1, b"x") for name in names)
    rows += (kit.cut_row("launch", "1", 1, b"x"), kit.cut_row("spec", "s", 1, b"x"))
    log.append(Batch(epoch=epoch, cut_rows=rows, cut_close=kit.close_cut(1, 9)))
    cut = log.newest_cut()
    assert cut is not None
    found = [(row.kind, row.id) for row in log.cut_rows(cut)]
    ids = ["10", "9", "B", "a-1", "a/1", "b", "é"]
    assert found == [("spec", "s"), *(("instance", name) for name in ids), ("launch", "1")]


def test_a_cut_row_written_twice_is_replaced(place: Place) -> None:
    log, epoch = led(place, 1)
    log.append(Batch(epoch=epoch, cut_rows=(kit.cut_row("job", "1", 1, b"old"),)))
    log.append(Batch(epoch=epoch, cut_rows=(kit.cut_row("job", "1", 1, b"new"),)))
    close(log, epoch, 1, [live("job", "1", b"new")])
    cut = log.newest_cut()
    assert cut is not None
    assert [row.body for row in log.cut_rows(cut)] == [b"new"]


def test_the_last_of_equal_keys_in_one_batch_wins(place: Place) -> None:
    log, epoch = led(place, 1)
    rows = tuple(kit.cut_row("job", "1", 1, body) for body in (b"old", None, b"new"))
    answers = (kit.answer("k1", 1, b"1"), kit.answer("k1", 1, b"2"))
    log.append(Batch(epoch=epoch, cut_rows=rows, answers=answers, cut_close=kit.close_cut(1, 1)))
    cut = log.newest_cut()
    assert cut is not None
    assert [row.body for row in log.cut_rows(cut)] == [b"new"]
    assert log.answer(1000, "k1") == answers[1]


def test_a_batch_may_hold_nothing_but_tombstones(place: Place) -> None:
    log, epoch = led(place, 1)
    log.append(Batch(epoch=epoch, cut_rows=(kit.cut_row("job", "1", 1, None),)))
    log.append(Batch(epoch=epoch, cut_close=kit.close_cut(1, 0)))
    cut = log.newest_cut()
    assert cut is not None
    assert list(log.cut_rows(cut)) == []


def test_a_cut_can_be_closed_at_a_record_of_its_own_batch(place: Place) -> None:
    log, epoch = led(place, 0)
    batch = Batch(
        epoch=epoch, records=kit.batch(epoch, 1, 2).records, cut_close=kit.close_cut(2, 0)
    )
    head = log.append(batch)
    cut = log.newest_cut()
    assert cut is not None
    assert (cut.lsn, cut.hash) == (2, head.hash)


def test_a_cut_of_an_unknown_kind_or_place_is_refused_whole(place: Place) -> None:
    log, epoch = led(place, 1)
    records = kit.batch(epoch, 2).records
    with pytest.raises(LogMisuse, match="no table for 'group'"):
        log.append(
            Batch(epoch=epoch, records=records, cut_rows=(kit.cut_row("group", "7", 1, b""),))
        )
    with pytest.raises(LogMisuse, match="lsn 9, where there is no record"):
        log.append(Batch(epoch=epoch, records=records, cut_close=kit.close_cut(9, 0)))
    assert log.head().lsn == 1


def test_truncation_needs_two_cuts_beyond(place: Place) -> None:
    log, epoch = led(place, 10)
    close(log, epoch, 4, [])
    with pytest.raises(LogMisuse, match="fewer than two closed cuts"):
        log.truncate(3)
    close(log, epoch, 8, [])
    with pytest.raises(LogMisuse, match="fewer than two closed cuts"):
        log.truncate(5)
    assert log.truncate(4) == 4


def test_after_truncation_the_rest_still_chains_and_verifies(place: Place) -> None:
    log, epoch = led(place, 10)
    rows = (kit.cut_row("job", "1", 4, b"a"), kit.cut_row("job", "2", 4, b"b"))
    log.append(Batch(epoch=epoch, cut_rows=rows))
    close(log, epoch, 4, [live("job", "1", b"a"), live("job", "2", b"b")])
    rows = (kit.cut_row("job", "1", 8, b"A"), kit.cut_row("job", "2", 8, None))
    log.append(Batch(epoch=epoch, cut_rows=rows))
    close(log, epoch, 8, [live("job", "1", b"A")])
    hash_four = log.hash_at(4)
    assert log.truncate(4, limit=3) == 3
    assert log.truncate(4, limit=3) == 1
    assert log.truncate(4, limit=3) == 0
    again = place.log()
    assert again.floor() == 4
    assert again.hash_at(4) == hash_four
    assert [record.lsn for record in again.read(5)] == [5, 6, 7, 8, 9, 10]
    assert [record.lsn for record in again.story("g7")] == [5, 6, 7, 8, 9, 10]
    with pytest.raises(LogCorrupt):
        list(again.read(1))
    checked = verify(again)  # type: ignore[arg-type]
    assert (checked.first_lsn, checked.records, checked.cut_lsn, checked.cut_rows) == (5, 6, 8, 1)


def test_a_changed_row_of_a_cut_changes_its_digest() -> None:
    rows = [live("job", "1", b"a"), live("job", "2", b"b")]
    digest = codec.rows_digest(rows)
    assert digest == codec.rows_digest(rows[::-1])
    others = [
        [live("job", "1", b"a")],
        [live("job", "1", b"b"), live("job", "2", b"a")],
        [live("host", "1", b"a"), live("job", "2", b"b")],
        [live("job", "1", b"a"), live("job", "3", b"b")],
    ]
    assert digest not in [codec.rows_digest(other) for other in others]
    total = sum(codec.row_digest(row.kind, row.id, row.body) for row in rows)
    total -= codec.row_digest("job", "2", b"b")
    assert codec.digest_text(total) == codec.rows_digest(rows[:1])

"""What every log does: the same tests on memory, SQLite and PostgreSQL."""

from hashlib import blake2b

import pytest

from tests.wal import kit
from tests.wal.conftest import Place
from xce.wal.port import GENESIS, Batch, Fenced, Head, Log, LogMisuse

TTL = 10 * kit.SECOND_US


def led(place: Place) -> tuple[Log, int]:
    """A log and the epoch in which this test leads it."""
    log = place.log()
    return log, log.lead("home-a", 0, TTL)


def test_an_empty_log_ends_at_genesis(place: Place) -> None:
    log = place.log()
    assert log.head() == Head(lsn=0, hash=GENESIS, epoch=0)
    assert log.floor() == 0
    assert list(log.read(1)) == []
    assert log.newest_cut() is None
    assert log.leader().epoch == 0
    assert log.about().name == place.name


def test_what_was_appended_is_read_back_by_another_handle(place: Place) -> None:
    log, epoch = led(place)
    head = log.append(kit.batch(epoch, 1, 3))
    assert (head.lsn, head.epoch, len(head.hash)) == (3, 1, 16)
    again = place.log()
    assert again.head() == head
    assert list(again.read(1)) == [kit.sealed(lsn, 1) for lsn in (1, 2, 3)]
    assert [record.lsn for record in again.read(2, 2)] == [2]
    assert again.hash_at(3) == head.hash
    assert again.hash_at(0) == GENESIS
    assert again.hash_at(4) is None


def test_all_logs_give_the_same_hashes(place: Place) -> None:
    log, epoch = led(place)
    head = log.append(Batch(epoch=epoch, records=(kit.host_changed(1, epoch, "n1", "größer"),)))
    fields = '[1,1,1001,"HostChanged",1,"report","host:n1","[\\"host:n1\\",\\"host:n1\\"]"]'
    body = '{"then":[],"host":"n1","event":"miss","why":"größer","quiet_us":0}'
    assert head.hash == blake2b(bytes(16) + (fields + body).encode(), digest_size=16).digest()


def test_a_gap_in_the_lsns_is_refused_and_nothing_is_written(place: Place) -> None:
    log, epoch = led(place)
    log.append(kit.batch(epoch, 1))
    with pytest.raises(LogMisuse, match="record 3 of epoch 1 comes where 2"):
        log.append(kit.batch(epoch, 3))
    with pytest.raises(LogMisuse, match="comes where 2"):
        log.append(kit.batch(epoch, 1))
    assert log.append(kit.batch(epoch, 2)).lsn == 2


def test_a_record_whose_kind_is_not_its_bodys_is_refused(place: Place) -> None:
    log, epoch = led(place)
    record = kit.sealed(1, epoch)
    wrong = type(record)(**{**{f: getattr(record, f) for f in record.__struct_fields__}, "v": 2})
    with pytest.raises(LogMisuse, match="does not fit a body of GroupSealed v1"):
        log.append(Batch(epoch=epoch, records=(wrong,)))
    assert log.head().lsn == 0


def test_every_takeover_is_a_new_epoch_and_fences_the_old_one(place: Place) -> None:
    log, first = led(place)
    log.append(kit.batch(first, 1))
    second = log.lead("home-a", 1, TTL)
    assert (first, second) == (1, 2)
    with pytest.raises(Fenced):
        log.append(kit.batch(first, 2))
    with pytest.raises(Fenced):
        log.renew(first, 2, TTL)
    with pytest.raises(Fenced):
        log.confirm(first)
    with pytest.raises(Fenced):
        log.resign(first)
    log.renew(second, 2, TTL)
    log.confirm(second)
    assert log.append(kit.batch(second, 2)).epoch == 2
    assert [record.epoch for record in log.read(1)] == [1, 2]


def test_the_epoch_outlives_the_handle(place: Place) -> None:
    log, epoch = led(place)
    log.resign(epoch)
    again = place.log()
    assert again.lead("home-b", 0, TTL) == 2
    assert again.leader().holder == "home-b"


def test_nothing_is_appended_before_anybody_leads(place: Place) -> None:
    log = place.log()
    with pytest.raises(Fenced):
        log.append(kit.batch(1, 1))


def test_a_batch_without_records_is_fenced_too(place: Place) -> None:
    log, epoch = led(place)
    rows = (kit.cut_row("job", "1", 0, b"{}"),)
    with pytest.raises(Fenced):
        log.append(Batch(epoch=epoch + 1, cut_rows=rows))
    assert log.append(Batch(epoch=epoch, cut_rows=rows)).lsn == 0


def test_a_story_holds_the_records_that_name_its_entity_once_each(place: Place) -> None:
    log, epoch = led(place)
    records = (
        kit.sealed(1, epoch, group=7),
        kit.host_changed(2, epoch, "n1"),
        kit.sealed(3, epoch, group=8),
        kit.sealed(4, epoch, group=7),
    )
    log.append(Batch(epoch=epoch, records=records))
    assert [record.lsn for record in log.story("g7")] == [1, 4]
    assert [record.lsn for record in log.story("g7", after_lsn=1)] == [4]
    assert [record.lsn for record in log.story("g7", limit=1)] == [1]
    assert log.story("host:n1") == [records[1]]
    assert log.story("g9") == []


def test_blobs_are_kept_once_by_name(place: Place) -> None:
    log, epoch = led(place)
    log.append(Batch(epoch=epoch, blobs={"aa": b"one", "bb": b"\x00two"}))
    log.append(Batch(epoch=epoch, blobs={"aa": b"one"}))
    assert log.blobs(["bb", "aa", "cc"]) == {"aa": b"one", "bb": b"\x00two"}
    assert log.blobs([]) == {}


def test_an_answer_is_found_by_owner_and_key(place: Place) -> None:
    log, epoch = led(place)
    mine, other = kit.answer("k1", 1, b'{"job":1}'), kit.answer("k1", 1, b"{}", owner=1001)
    log.append(Batch(epoch=epoch, records=kit.batch(epoch, 1).records, answers=(mine, other)))
    assert log.answer(1000, "k1") == mine
    assert log.answer(1001, "k1") == other
    assert log.answer(1000, "k2") is None
    newer = kit.answer("k1", 2, b'{"job":2}')
    log.append(Batch(epoch=epoch, records=kit.batch(epoch, 2).records, answers=(newer,)))
    assert log.answer(1000, "k1") == newer
    assert log.forget_answers(1) == 1
    assert log.answer(1001, "k1") is None
    assert log.answer(1000, "k1") == newer


def test_history_is_listed_latest_first(place: Place) -> None:
    log, epoch = led(place)
    rows = (kit.finished("1", 10), kit.finished("2", 30, owner=7), kit.finished("3", 20))
    log.append(Batch(epoch=epoch, history=rows))
    log.append(Batch(epoch=epoch, history=(kit.finished("1", 15),)))
    assert log.history("1") == kit.finished("1", 15), "what ended again ended so"
    assert log.history("4") is None
    assert [row.entity for row in log.histories()] == ["2", "3", "1"]
    assert [row.entity for row in log.histories(owner=1000)] == ["3", "1"]
    assert [row.entity for row in log.histories(before_us=30)] == ["3", "1"]
    assert [row.entity for row in log.histories(limit=1)] == ["2"]


def test_a_closed_log_takes_nothing(place: Place) -> None:
    log, epoch = led(place)
    log.close()
    with pytest.raises(LogMisuse, match="closed"):
        log.append(kit.batch(epoch, 1))


def test_a_long_log_is_read_over_many_pages(place: Place) -> None:
    log, epoch = led(place)
    for first in range(1, 2301, 230):
        log.append(kit.batch(epoch, first, 230))
    assert [record.lsn for record in log.read(1)] == list(range(1, 2301))
    assert [record.lsn for record in log.read(995, 2005)] == list(range(995, 2006))

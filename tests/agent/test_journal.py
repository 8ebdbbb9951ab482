"""The host journal: what was committed is there, whatever was torn or flipped."""

import os
from pathlib import Path

import pytest

from xce.agent.supervisor.journal import Journal, JournalDamaged, JournalFull
from xce.agent.supervisor.ledger import KEEP_US, Ledger

OUTCOME = {"how": "exited", "code": 0}


def filled(path: Path, *batches: list[int]) -> list[int]:
    """A journal with these batches; the file's size after each."""
    journal = Journal(str(path))
    sizes = []
    for batch in batches:
        for number in batch:
            journal.add({"n": number})
        journal.commit()
        sizes.append(path.stat().st_size)
    journal.close()
    return sizes


def numbers(path: Path) -> list[int]:
    journal = Journal(str(path))
    journal.close()
    return [entry["n"] for entry in journal.entries]


def test_every_torn_tail_is_cut_to_the_last_whole_commit(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    first, second = filled(path, [1, 2], [3])
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        expected = [1, 2] if first <= length < second else []
        assert numbers(path) == expected, length
        assert path.stat().st_size == (first if expected else 0)


def test_a_flipped_byte_in_the_last_commit_cuts_it(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    first, second = filled(path, [1], [2])
    whole = path.read_bytes()
    for place in range(first, second):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x20]) + whole[place + 1 :])
        assert numbers(path) == [1]


def test_damage_before_good_entries_is_refused_and_the_file_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    first, _, _ = filled(path, [1], [2], [3])
    whole = bytearray(path.read_bytes())
    whole[first + 20] ^= 1
    path.write_bytes(whole)
    with pytest.raises(JournalDamaged, match=f"damaged at byte {first}, with good entries"):
        Journal(str(path))
    assert path.read_bytes() == whole


def test_nothing_is_written_before_the_commit(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(str(path))
    journal.add({"n": 1})
    assert path.read_bytes() == b""
    journal.close()
    assert numbers(path) == []


def test_a_full_disk_leaves_the_entries_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    filled(path, [1])
    journal = Journal(str(path))
    journal.add({"n": 2})
    write = os.write

    def full(handle: int, data: bytes) -> int:
        write(handle, data[:7])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(JournalFull, match="No space left on device"):
        journal.commit()
    monkeypatch.undo()
    assert journal.is_dirty
    journal.commit()
    journal.close()
    assert numbers(path) == [1, 2]


def test_a_rewrite_replaces_all_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    filled(path, [1, 2, 3])
    journal = Journal(str(path))
    journal.rewrite([{"n": 3}])
    journal.add({"n": 4})
    journal.commit()
    journal.close()
    assert numbers(path) == [3, 4]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["journal"]


def ledger(path: Path) -> Ledger:
    return Ledger(Journal(str(path)))


def test_a_ledger_is_the_fold_of_its_journal(tmp_path: Path) -> None:
    book = ledger(tmp_path / "journal")
    book.note_boot("b")
    book.note_epoch(4)
    book.note_epoch(3)
    book.note_anchor(90, "h")
    book.note_intent(1, 5)
    book.note_started(1, 1000)
    assert book.note_signal(1, 1)
    assert not book.note_signal(1, 1)
    book.note_exited(1, 5, OUTCOME)
    book.note_exited(2, 6, OUTCOME)
    book.note_acked(2, 2000)
    book.note_acked(3, 2000)
    book.commit()
    again = ledger(tmp_path / "journal")
    assert (again.epoch, again.boot_id, again.anchor) == (4, "b", (90, "h"))
    assert again.host_key == book.host_key
    one, two = again.pages[1], again.pages[2]
    assert (one.generation, one.started_us, one.outcome, one.signals) == (5, 1000, OUTCOME, {1})
    assert (one.acked_us, two.acked_us) == (0, 2000)
    assert [page.launch for page in again.unacked()] == [1]
    assert not again.note_signal(1, 1)


def test_an_acknowledgement_is_of_one_generation(tmp_path: Path) -> None:
    book = ledger(tmp_path / "journal")
    book.note_intent(1, 7)
    book.note_exited(1, 7, {"how": "exited"})
    book.note_acked(1, 1000, 90)
    assert [page.launch for page in book.unacked()] == [1]
    book.note_acked(1, 1000, 7)
    assert book.unacked() == []


def test_old_acknowledged_outcomes_go_and_all_else_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xce.agent.supervisor.ledger.REWRITE_BYTES", 0)
    book = ledger(tmp_path / "journal")
    book.note_epoch(7)
    for launch in range(1, 40):
        book.note_intent(launch, 1)
        book.note_exited(launch, 1, OUTCOME)
        book.note_acked(launch, 1000 if launch < 30 else KEEP_US)
    book.note_intent(50, 1)
    book.note_started(50, 9)
    book.note_signal(50, 3)
    book.note_exited(51, 1, OUTCOME)
    book.commit()
    size = book.journal.size_bytes
    book.tidy(KEEP_US + 1001)
    assert book.journal.size_bytes < size / 2
    again = ledger(tmp_path / "journal")
    assert sorted(again.pages) == [*range(30, 40), 50, 51]
    assert (again.epoch, again.host_key) == (7, book.host_key)
    assert (again.pages[50].started_us, again.pages[50].signals) == (9, {3})
    assert again.pages[51].outcome == OUTCOME

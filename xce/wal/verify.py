"""Checks a whole log: its files, its chain, its story index, its blobs, its newest cut.

Reads only, and holds a few numbers per entity; a log of a million records takes seconds. What is
wrong is one `LogCorrupt` that names the first record or row that does not fit. What the records
mean is not looked at: that the state folds from them is the controller's check.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Protocol

from msgspec import Struct, json

from xce.wal import codec
from xce.wal.codec import Row
from xce.wal.port import LogCorrupt, LogReader


class LogAudit(LogReader, Protocol):
    """What checking and exporting read besides."""

    def rows(self, from_lsn: int, to_lsn: int | None = None) -> Iterator[Row]:
        """Rows in order, both ends included, each checked against the chain."""

    def story_index(self) -> Iterator[tuple[int, str]]:
        """Every (lsn, entity) of the story index, in order."""

    def every_blob(self) -> Iterator[tuple[str, bytes]]:
        """Every blob, by name."""

    def check_storage(self) -> list[str]:
        """What the database finds wrong with its own files."""


class Verified(Struct, frozen=True, gc=False, kw_only=True):
    """What was checked and found whole. `cut_lsn` is 0 when there is no cut."""

    first_lsn: int
    last_lsn: int
    records: int
    stories: int
    blobs: int
    cut_lsn: int
    cut_rows: int


def verify(log: LogAudit) -> Verified:
    """Checks everything; gives the counts, or raises `LogCorrupt` at the first misfit."""
    wrong = log.check_storage()
    if wrong:
        raise LogCorrupt(f"the database's own check found: {'; '.join(wrong[:5])}")
    first = log.floor() + 1
    records, stories = _check_records(log, first)
    blobs = _check_blobs(log)
    cut_lsn, cut_rows = _check_cut(log)
    return Verified(
        first_lsn=first,
        last_lsn=log.head().lsn,
        records=records,
        stories=stories,
        blobs=blobs,
        cut_lsn=cut_lsn,
        cut_rows=cut_rows,
    )


def _check_records(log: LogAudit, first: int) -> tuple[int, int]:
    """Walks the chain and the story index side by side; gives how many rows each has."""
    index = log.story_index()
    records = stories = 0
    for row in log.rows(first):
        codec.decode(row)
        records += 1
        for entity in sorted(set(json.decode(row.entities, type=list[str]))):
            stories += 1
            found = next(index, None)
            if found != (row.lsn, entity):
                raise LogCorrupt(
                    f"the story index has {_index_text(found)} where record {row.lsn} names "
                    f"{entity}"
                )
    extra = next(index, None)
    if extra is not None:
        raise LogCorrupt(f"the story index has {_index_text(extra)}, which no record names")
    return records, stories


def _index_text(found: tuple[int, str] | None) -> str:
    return f"{found[1]} at lsn {found[0]}" if found else "nothing"


def _check_blobs(log: LogAudit) -> int:
    count = 0
    for name, body in log.every_blob():
        count += 1
        if blake2b(body, digest_size=len(name) // 2).hexdigest() != name:
            raise LogCorrupt(f"blob {name} does not have the content that its name says")
    return count


def _check_cut(log: LogAudit) -> tuple[int, int]:
    """Compares the newest cut with its closing row; gives its lsn and how many rows it has."""
    cut = log.newest_cut()
    if cut is None:
        return 0, 0
    stored = log.hash_at(cut.lsn)
    if stored is not None and stored != cut.hash:
        raise LogCorrupt(f"the cut at lsn {cut.lsn} belongs to another history")
    count = total = 0
    for row in log.cut_rows(cut):
        count += 1
        total += codec.row_digest(row.kind, row.id, row.body)
    if count != cut.count or codec.digest_text(total) != cut.digest:
        raise LogCorrupt(
            f"the cut at lsn {cut.lsn} has {count} rows with digest {codec.digest_text(total)}; it "
            f"was closed with {cut.count} and {cut.digest}"
        )
    return cut.lsn, count

"""What the two SQL logs share: every query, leadership aside, and what a batch becomes as rows.

Queries are SQLAlchemy Core and the same on both databases. Each one runs in a short transaction
of its own and fetches pages, so that a long read never holds up an append. On SQLite all calls
share one connection behind `lock`; on PostgreSQL reads have their own. Errors of the drivers
never leave this room: they become the log's own (`guard`).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, Select, select, tuple_
from sqlalchemy.exc import DBAPIError

from xce.model.records import Record
from xce.wal import codec, schema
from xce.wal.codec import Row
from xce.wal.port import (
    GENESIS,
    Answer,
    Cut,
    Head,
    HistoryRow,
    Leader,
    LiveRow,
    LogBroken,
    LogCorrupt,
)

PAGE = 1000

AtPoint = Callable[[str], None]
"""Called at the named points of an append: `log.begun`, `log.written`, `log.committed`. Kill runs
end the process there."""

_CORRUPT = ("malformed", "not a database", "decode to utf-8", "corrupt")


def no_point(_name: str) -> None:
    """Nothing happens at a named point."""


@contextmanager
def guard(doing: str, *driver_errors: type[Exception]) -> Iterator[None]:
    """Turns an error of SQLAlchemy, or of the driver where it is used itself, into the log's own.
    (The drivers are not imported here: a start on SQLite does not wait for psycopg.)"""
    try:
        yield
    except DBAPIError as error:
        raise _translated(doing, error.orig or error) from error
    except driver_errors as error:
        raise _translated(doing, error) from error


def _translated(doing: str, error: BaseException) -> LogCorrupt | LogBroken:
    text = " ".join(str(error).split()) or type(error).__name__
    if any(mark in text.lower() for mark in _CORRUPT):
        return LogCorrupt(f"the database is damaged: {text} (while {doing})")
    return LogBroken(f"the database failed: {text} (while {doing})")


class SqlReader:
    """What can be read of a log in a database. Keeps the contract of `port.LogReader`."""

    def __init__(self, engine: Engine, reading: AbstractContextManager[Any]) -> None:
        self._engine = engine
        self._lock = reading

    @contextmanager
    def _reading(self, doing: str) -> Iterator[Connection]:
        with self._lock, guard(doing), self._engine.connect() as connection:
            yield connection

    def head(self) -> Head:
        """The end of the log."""
        record = schema.RECORD.c
        query = select(record.lsn, record.hash, record.epoch).order_by(record.lsn.desc()).limit(1)
        with self._reading("reading the head") as connection:
            found = connection.execute(query).first()
            if found is not None:
                return Head(lsn=found[0], hash=bytes(found[1]), epoch=found[2])
            lsn, digest = _floor(connection)
            return Head(lsn=lsn, hash=digest, epoch=0)

    def floor(self) -> int:
        """The lsn up to which records were deleted."""
        with self._reading("reading the floor") as connection:
            return _floor(connection)[0]

    def hash_at(self, lsn: int) -> bytes | None:
        """The hash of a record as stored, also of the floor."""
        with self._reading("reading a hash") as connection:
            return hash_at(connection, lsn)

    def rows(self, from_lsn: int, to_lsn: int | None = None) -> Iterator[Row]:
        """Rows in order, each checked against the chain."""
        last = self.head().lsn if to_lsn is None else min(to_lsn, self.head().lsn)
        if from_lsn > last:
            return
        before = self.hash_at(from_lsn - 1)
        if before is None:
            raise LogCorrupt(f"record {from_lsn - 1} is not there, so {from_lsn} cannot be checked")
        due = from_lsn
        while due <= last:
            page = self._page(due, last)
            if not page or page[0].lsn != due:
                raise LogCorrupt(f"record {due} is missing; the log goes on to {last}")
            for row in page:
                if row.lsn != due:
                    raise LogCorrupt(f"record {due} is missing; the log goes on to {last}")
                codec.check_chain(before, row)
                before, due = row.hash, due + 1
                yield row

    def _page(self, from_lsn: int, to_lsn: int) -> list[Row]:
        record = schema.RECORD
        query = (
            select(record)
            .where(record.c.lsn >= from_lsn, record.c.lsn <= to_lsn)
            .order_by(record.c.lsn)
            .limit(PAGE)
        )
        with self._reading("reading records") as connection:
            return [_row(found) for found in connection.execute(query)]

    def read(self, from_lsn: int, to_lsn: int | None = None) -> Iterator[Record]:
        """Records in order, each checked against the chain."""
        return map(codec.decode, self.rows(from_lsn, to_lsn))

    def story(self, entity: str, after_lsn: int = 0, limit: int = 1000) -> list[Record]:
        """Records that name `entity`, in order."""
        record, index = schema.RECORD, schema.STORY.c
        query = (
            select(record)
            .join(schema.STORY, record.c.lsn == index.lsn)
            .where(index.entity == entity, index.lsn > after_lsn)
            .order_by(index.lsn)
            .limit(limit)
        )
        with self._reading("reading a story") as connection:
            return [codec.decode(_row(found)) for found in connection.execute(query)]

    def blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        """The blobs of those names that are there."""
        wanted = list(dict.fromkeys(names))
        found: dict[str, bytes] = {}
        blob = schema.BLOB.c
        for first in range(0, len(wanted), PAGE):
            some = wanted[first : first + PAGE]
            query = select(blob.name, blob.body).where(blob.name.in_(some))
            with self._reading("reading blobs") as connection:
                found |= {name: bytes(body) for name, body in connection.execute(query)}
        return found

    def answer(self, owner: int, key: str) -> Answer | None:
        """What was answered under that key."""
        table = schema.ANSWER
        query = select(table).where(table.c.owner == owner, table.c.key == key)
        with self._reading("reading an answer") as connection:
            found = connection.execute(query).first()
        if found is None:
            return None
        return Answer(
            owner=found.owner,
            key=found.key,
            digest=found.digest,
            lsn=found.lsn,
            body=bytes(found.body),
        )

    def newest_cut(self) -> Cut | None:
        """The last closed cut."""
        table = schema.CUT
        query = select(table).order_by(table.c.cut_lsn.desc()).limit(1)
        with self._reading("reading the newest cut") as connection:
            found = connection.execute(query).mappings().first()
        if found is None:
            return None
        return Cut(
            lsn=found["cut_lsn"],
            count=found["count"],
            digest=found["digest"],
            hash=bytes(found["hash"]),
        )

    def cut_rows(self, cut: Cut) -> Iterator[LiveRow]:
        """The newest row of each entity at the cut."""
        for kind in schema.CUT_TABLES:
            newest: tuple[str, bytes | None] | None = None
            for entity, body in self._cut_versions(kind, cut.lsn):
                if newest is not None and newest[0] != entity and newest[1] is not None:
                    yield LiveRow(kind=kind, id=newest[0], body=newest[1])
                newest = entity, body
            if newest is not None and newest[1] is not None:
                yield LiveRow(kind=kind, id=newest[0], body=newest[1])

    def _cut_versions(self, kind: str, cut_lsn: int) -> Iterator[tuple[str, bytes | None]]:
        """All versions up to a cut, by id and then age, in pages along the primary key."""
        table = schema.CUT_TABLES[kind]
        after = ("", 0)
        while True:
            query = (
                select(table.c.id, table.c.cut_lsn, table.c.body)
                .where(tuple_(table.c.id, table.c.cut_lsn) > after, table.c.cut_lsn <= cut_lsn)
                .order_by(table.c.id, table.c.cut_lsn)
                .limit(PAGE * 4)
            )
            with self._reading("reading a cut") as connection:
                page = connection.execute(query).all()
            for entity, _, body in page:
                yield entity, bytes(body) if body is not None else None
            if len(page) < PAGE * 4:
                return
            after = (page[-1][0], page[-1][1])

    def history(self, entity: str) -> HistoryRow | None:
        """Finished work by its id."""
        found = self._histories(select(schema.HISTORY).where(schema.HISTORY.c.entity == entity))
        return found[0] if found else None

    def histories(
        self, owner: int | None = None, before_us: int | None = None, limit: int = 100
    ) -> list[HistoryRow]:
        """Finished work, the latest first."""
        table = schema.HISTORY
        query = select(table).order_by(table.c.finished_us.desc(), table.c.entity).limit(limit)
        if owner is not None:
            query = query.where(table.c.owner == owner)
        if before_us is not None:
            query = query.where(table.c.finished_us < before_us)
        return self._histories(query)

    def _histories(self, query: Select[Any]) -> list[HistoryRow]:
        with self._reading("reading history") as connection:
            return [
                HistoryRow(
                    entity=row.entity,
                    finished_us=row.finished_us,
                    owner=row.owner,
                    lsn=row.lsn,
                    body=bytes(row.body),
                )
                for row in connection.execute(query)
            ]


class SqlAudit(SqlReader):
    """What verify and export read besides."""

    def story_index(self) -> Iterator[tuple[int, str]]:
        """Every (lsn, entity) of the story index, in order."""
        index = schema.STORY.c
        after = (0, "")
        while True:
            query = (
                select(index.lsn, index.entity)
                .where(
                    (index.lsn > after[0]) | ((index.lsn == after[0]) & (index.entity > after[1]))
                )
                .order_by(index.lsn, index.entity)
                .limit(PAGE * 50)
            )
            with self._reading("reading the story index") as connection:
                page = [(row[0], row[1]) for row in connection.execute(query)]
            if not page:
                return
            yield from page
            after = page[-1]

    def every_blob(self) -> Iterator[tuple[str, bytes]]:
        """Every blob, by name."""
        blob, after = schema.BLOB.c, ""
        while True:
            query = select(blob.name, blob.body).where(blob.name > after).order_by(blob.name)
            with self._reading("reading blobs") as connection:
                page = [(row[0], bytes(row[1])) for row in connection.execute(query.limit(PAGE))]
            if not page:
                return
            yield from page
            after = page[-1][0]

    def check_storage(self) -> list[str]:
        """What the database finds wrong with its own files."""
        return []


def leader(connection: Connection) -> Leader:
    """The leadership row."""
    row = connection.execute(select(schema.LEADER)).one()
    return Leader(epoch=row.epoch, holder=row.holder, expires_us=row.expires_us)


def hash_at(connection: Connection, lsn: int) -> bytes | None:
    """The hash of a record, or of the floor."""
    record = schema.RECORD.c
    found = connection.execute(select(record.hash).where(record.lsn == lsn)).scalar()
    if found is not None:
        return bytes(found)
    floor_lsn, floor_hash = _floor(connection)
    return floor_hash if lsn == floor_lsn else None


def _floor(connection: Connection) -> tuple[int, bytes]:
    found = connection.execute(select(schema.FLOOR.c.lsn, schema.FLOOR.c.hash)).first()
    return (found[0], bytes(found[1])) if found else (0, GENESIS)


def _row(found: Iterable[object]) -> Row:
    row = Row(*found)  # type: ignore[arg-type]
    return row._replace(body=bytes(row.body), hash=bytes(row.hash))

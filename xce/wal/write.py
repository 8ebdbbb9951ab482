"""How the two SQL logs write: the append, leadership and truncation, drivers aside.

A batch becomes rows per table; a subclass puts them into one transaction that is conditional on
the epoch (`_transact`). A log object that saw a write fail is broken: the outcome is unknown, so
it takes nothing more, and whoever owns it recovers from what the database then holds. Fencing is
no such failure: nothing was written. The head is kept here, and read again at each `lead`.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import RLock
from typing import Any

from msgspec import json
from sqlalchemy import ColumnElement, Connection, Engine, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError

from xce.wal import codec, schema, sql
from xce.wal.codec import Row
from xce.wal.port import (
    Batch,
    CutClose,
    Fenced,
    Head,
    Leader,
    LogBroken,
    LogHeld,
    LogMisuse,
    fenced,
)
from xce.wal.sql import AtPoint, SqlAudit, guard

Work = list[tuple[str, Sequence[tuple[Any, ...]]]]
"""Rows to insert, by table, in the order of writing; records come first."""


class SqlLog(SqlAudit):
    """A log in a database. Keeps the contract of `port.Log`; a subclass knows its driver."""

    driver_error: type[Exception] = DBAPIError
    change_poisons = True
    """Whether a failed change beside the records (a renewal, a truncation) breaks the log, too."""

    def __init__(
        self,
        engine: Engine,
        at_point: AtPoint,
        reading: AbstractContextManager[Any] | None = None,
    ) -> None:
        self._writing = RLock()
        super().__init__(engine, reading or self._writing)
        self._at_point = at_point
        self._broken = ""
        self._closed = False
        self._end = self.head()

    # What differs between the databases.

    def _transact(self, epoch: int, work: Work) -> None:
        """One transaction: raises `Fenced` unless `epoch` leads, inserts, commits."""
        raise LogMisuse("a log without a driver")

    def _now(self, now_us: int) -> ColumnElement[int] | int:
        """The clock by which leadership expires."""
        return now_us

    def _may_lead(self, holder: str, now_us: int) -> ColumnElement[bool]:
        """When `holder` may take the leadership."""
        row = schema.LEADER.c
        return row.holder.in_(["", holder]) | (row.expires_us <= self._now(now_us))

    # Leadership.

    def lead(self, holder: str, now_us: int, ttl_us: int) -> int:
        """Takes the leadership; gives the new epoch."""
        row = schema.LEADER
        taking = (
            update(row)
            .where(row.c.id == 1, self._may_lead(holder, now_us))
            .values(epoch=row.c.epoch + 1, holder=holder, expires_us=self._now(now_us) + ttl_us)
            .returning(row.c.epoch)
        )
        with self._changing("taking the leadership") as connection:
            epoch = connection.execute(taking).scalar()
            held = sql.leader(connection)
        if epoch is None:
            raise LogHeld(f"{held.holder} leads in epoch {held.epoch} and is alive")
        self._end = self.head()
        return int(epoch)

    def renew(self, epoch: int, now_us: int, ttl_us: int) -> None:
        """Extends the leadership."""
        row = schema.LEADER
        change = update(row).where(row.c.id == 1, row.c.epoch == epoch)
        with self._changing("renewing the leadership") as connection:
            done = connection.execute(change.values(expires_us=self._now(now_us) + ttl_us))
            if not done.rowcount:
                raise fenced(epoch, sql.leader(connection))

    def confirm(self, epoch: int) -> None:
        """Returns when `epoch` led at some moment during the call."""
        found = self.leader()
        if found.epoch != epoch:
            raise fenced(epoch, found)

    def resign(self, epoch: int) -> None:
        """Lets the next holder lead at once."""
        row = schema.LEADER
        change = update(row).where(row.c.id == 1, row.c.epoch == epoch)
        with self._changing("resigning") as connection:
            done = connection.execute(change.values(holder="", expires_us=0))
            if not done.rowcount:
                raise fenced(epoch, sql.leader(connection))

    def leader(self) -> Leader:
        """The leadership row."""
        with self._reading("reading the leader") as connection:
            return sql.leader(connection)

    # Writing.

    def append(self, batch: Batch) -> Head:
        """Writes the batch durably in one transaction; gives the new head."""
        with self._writing:
            self._check_usable()
            rows = codec.encode_all(batch, self._end)
            work = _work(batch, rows)
            if batch.cut_close is not None:
                work.append(("cut", [self._cut_values(batch.cut_close, rows)]))
            with self._poisoning(), guard("appending", self.driver_error):
                self._transact(batch.epoch, work)
            if rows:
                self._end = Head(lsn=rows[-1].lsn, hash=rows[-1].hash, epoch=batch.epoch)
            return self._end

    def _cut_values(self, close: CutClose, rows: list[Row]) -> tuple[Any, ...]:
        found = next((row.hash for row in rows if row.lsn == close.cut_lsn), None)
        if found is None:
            found = self.hash_at(close.cut_lsn)
        if found is None:
            raise LogMisuse(f"a cut at lsn {close.cut_lsn}, where there is no record")
        return (close.cut_lsn, close.count, close.digest, found)

    def truncate(self, upto_lsn: int, limit: int = 10_000) -> int:
        """Deletes records up to `upto_lsn`, `limit` at a time, and rows that no cut needs."""
        with self._changing("truncating") as connection:
            cut = schema.CUT
            kept = select(func.count(), func.min(cut.c.cut_lsn)).where(cut.c.cut_lsn >= upto_lsn)
            count, oldest = connection.execute(kept).one()
            if count < 2:
                raise LogMisuse(f"fewer than two closed cuts lie at or beyond lsn {upto_lsn}")
            gone = _delete_records(connection, upto_lsn, limit)
            if gone < limit:
                _delete_old_cuts(connection, oldest)
            return gone

    def forget_answers(self, upto_lsn: int, limit: int = 10_000) -> int:
        """Deletes up to `limit` answers whose `lsn` is not beyond `upto_lsn`."""
        answer = schema.ANSWER
        old = select(answer.c.owner, answer.c.key).where(answer.c.lsn <= upto_lsn)
        with self._changing("forgetting answers") as connection:
            keys = connection.execute(old.order_by(answer.c.lsn).limit(limit)).all()
            for owner, key in keys:
                connection.execute(
                    delete(answer).where(answer.c.owner == owner, answer.c.key == key)
                )
            return len(keys)

    def close(self) -> None:
        """Gives the log back."""
        with self._writing:
            self._closed = True
            self._engine.dispose()

    # What guards the writing.

    def _check_usable(self) -> None:
        if self._closed:
            raise LogMisuse("the log is closed")
        if self._broken:
            raise LogBroken(f"a write failed before, so nothing may follow it: {self._broken}")

    @contextmanager
    def _poisoning(self) -> Iterator[None]:
        """Whatever ends a write but a clear no leaves its outcome unknown."""
        try:
            yield
        except (Fenced, LogHeld, LogMisuse):
            raise
        except BaseException as error:
            self._broken = str(error) or type(error).__name__
            raise

    @contextmanager
    def _changing(self, doing: str) -> Iterator[Connection]:
        """A transaction on what is beside the records: leadership, truncation."""
        self._check_usable()
        poisoning = self._poisoning() if self.change_poisons else nullcontext()
        with poisoning, self._reading(doing) as connection, connection.begin():
            yield connection


def _work(batch: Batch, rows: list[Row]) -> Work:
    """The rows of a batch by table, each key once, the last one given; the closing of a cut is
    added by the log."""
    answers = {(a.owner, a.key): (a.owner, a.key, a.digest, a.lsn, a.body) for a in batch.answers}
    history = {h.entity: (h.entity, h.finished_us, h.owner, h.lsn, h.body) for h in batch.history}
    stories = [
        (entity, record.lsn)
        for record in batch.records
        for entity in dict.fromkeys(record.entities)
    ]
    by_kind: dict[str, dict[tuple[str, int], tuple[Any, ...]]] = {}
    for row in batch.cut_rows:
        if row.kind not in schema.CUT_TABLES:
            raise LogMisuse(f"a cut has no table for {row.kind!r}")
        values = (row.id, row.cut_lsn, row.state, row.owner, row.body)
        by_kind.setdefault(row.kind, {})[row.id, row.cut_lsn] = values
    return [
        ("record", [tuple(row) for row in rows]),
        ("story", stories),
        ("blob", list(batch.blobs.items())),
        ("answer", list(answers.values())),
        ("history", list(history.values())),
        *((kind, list(found.values())) for kind, found in by_kind.items()),
    ]


def _delete_records(connection: Connection, upto_lsn: int, limit: int) -> int:
    """Deletes the oldest records and moves the floor; gives how many are gone."""
    record, story, floor = schema.RECORD, schema.STORY, schema.FLOOR
    oldest = (
        select(record.c.lsn, record.c.entities, record.c.hash)
        .where(record.c.lsn <= upto_lsn)
        .order_by(record.c.lsn)
        .limit(limit)
    )
    found = connection.execute(oldest).all()
    if not found:
        return 0
    for lsn, entities, _hash in found:
        names = json.decode(entities, type=list[str])
        connection.execute(delete(story).where(story.c.entity.in_(names), story.c.lsn == lsn))
    connection.execute(delete(record).where(record.c.lsn <= found[-1].lsn))
    connection.execute(delete(floor))
    connection.execute(insert(floor).values(id=1, lsn=found[-1].lsn, hash=found[-1].hash))
    return len(found)


def _delete_old_cuts(connection: Connection, oldest: int) -> None:
    """Deletes cuts before `oldest`, and rows that no cut from it on needs."""
    connection.execute(delete(schema.CUT).where(schema.CUT.c.cut_lsn < oldest))
    for table in schema.CUT_TABLES.values():
        other = table.alias()
        newest = (
            select(func.max(other.c.cut_lsn))
            .where(other.c.id == table.c.id, other.c.cut_lsn <= oldest)
            .scalar_subquery()
        )
        connection.execute(delete(table).where(table.c.cut_lsn < newest))
        connection.execute(delete(table).where(table.c.body.is_(None), table.c.cut_lsn <= oldest))

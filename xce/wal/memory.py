"""A log in memory, for the simulator and for tests.

It keeps rows as bytes, as the databases do, so that what is read back was decoded. The store is
a value of its own: a handle that is dropped is a controller that died, a second handle on the
same store is the next one, and both may be open at once, as on PostgreSQL. Nothing here is
durable. Leadership expires by the `now_us` that its callers pass.
"""

from collections.abc import Callable, Iterable, Iterator
from threading import RLock

from xce.model.records import Record
from xce.wal import codec
from xce.wal.codec import Row
from xce.wal.port import (
    CUT_KINDS,
    GENESIS,
    About,
    Answer,
    Batch,
    Cut,
    CutRow,
    Head,
    HistoryRow,
    Leader,
    LiveRow,
    LogCorrupt,
    LogHeld,
    LogMisuse,
    fenced,
)


class MemoryStore:
    """What survives a controller: the tables of a log."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.floor = 0
        self.floor_hash = GENESIS
        self.stories: dict[str, list[int]] = {}
        self.blobs: dict[str, bytes] = {}
        self.answers: dict[tuple[int, str], Answer] = {}
        self.cut_rows: dict[tuple[str, str], dict[int, CutRow]] = {}
        self.cuts: list[Cut] = []
        self.history: dict[str, HistoryRow] = {}
        self.leader = Leader(epoch=0, holder="", expires_us=0)
        self.lock = RLock()

    def head(self) -> Head:
        """The end of the log."""
        if self.rows:
            return Head(lsn=self.rows[-1].lsn, hash=self.rows[-1].hash, epoch=self.rows[-1].epoch)
        return Head(lsn=self.floor, hash=self.floor_hash, epoch=0)

    def row(self, lsn: int) -> Row | None:
        """The row of a record that is there."""
        index = lsn - self.floor - 1
        return self.rows[index] if 0 <= index < len(self.rows) else None


class MemoryReader:
    """What can be read of a `MemoryStore`. Keeps the contract of `port.LogReader`."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()

    def about(self) -> About:
        """What it is; nothing of it is durable."""
        return About(name="memory", version="", place="memory", durability={"durable": "no"})

    def head(self) -> Head:
        """The end of the log."""
        return self.store.head()

    def floor(self) -> int:
        """The lsn up to which records were deleted."""
        return self.store.floor

    def hash_at(self, lsn: int) -> bytes | None:
        """The hash of a record, as stored."""
        if lsn == self.store.floor:
            return self.store.floor_hash
        row = self.store.row(lsn)
        return row.hash if row else None

    def read(self, from_lsn: int, to_lsn: int | None = None) -> Iterator[Record]:
        """Records in order, each checked against the chain."""
        return map(codec.decode, self.rows(from_lsn, to_lsn))

    def rows(self, from_lsn: int, to_lsn: int | None = None) -> Iterator[Row]:
        """Rows in order, each checked against the chain."""
        last = self.store.head().lsn if to_lsn is None else min(to_lsn, self.store.head().lsn)
        before = self.hash_at(from_lsn - 1)
        if before is None and from_lsn <= last:
            raise LogCorrupt(f"records before lsn {self.store.floor + 1} are not there any more")
        for lsn in range(from_lsn, last + 1):
            row = self.store.row(lsn)
            if row is None or before is None:
                raise LogCorrupt(f"record {lsn} is missing")
            codec.check_chain(before, row)
            before = row.hash
            yield row

    def story(self, entity: str, after_lsn: int = 0, limit: int = 1000) -> list[Record]:
        """Records that name `entity`, in order."""
        lsns = [lsn for lsn in self.store.stories.get(entity, ()) if lsn > after_lsn][:limit]
        return [codec.decode(row) for lsn in lsns if (row := self.store.row(lsn)) is not None]

    def blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        """The blobs of those names that are there."""
        return {name: self.store.blobs[name] for name in names if name in self.store.blobs}

    def answer(self, owner: int, key: str) -> Answer | None:
        """What was answered under that key."""
        return self.store.answers.get((owner, key))

    def newest_cut(self) -> Cut | None:
        """The last closed cut."""
        return self.store.cuts[-1] if self.store.cuts else None

    def cut_rows(self, cut: Cut) -> Iterator[LiveRow]:
        """The newest row of each entity at the cut."""
        rank = {kind: place for place, kind in enumerate(CUT_KINDS)}
        for kind, entity in sorted(self.store.cut_rows, key=lambda key: (rank[key[0]], key[1])):
            versions = self.store.cut_rows[kind, entity]
            newest = max((lsn for lsn in versions if lsn <= cut.lsn), default=None)
            body = None if newest is None else versions[newest].body
            if body is not None:
                yield LiveRow(kind=kind, id=entity, body=body)

    def history(self, entity: str) -> HistoryRow | None:
        """Finished work by its id."""
        return self.store.history.get(entity)

    def histories(
        self, owner: int | None = None, before_us: int | None = None, limit: int = 100
    ) -> list[HistoryRow]:
        """Finished work, the latest first."""
        rows = [
            row
            for row in self.store.history.values()
            if (owner is None or row.owner == owner)
            and (before_us is None or row.finished_us < before_us)
        ]
        rows.sort(key=lambda row: (-row.finished_us, row.entity))
        return rows[:limit]


class MemoryAudit(MemoryReader):
    """What verify and export read besides."""

    def story_index(self) -> Iterator[tuple[int, str]]:
        """Every (lsn, entity) of the story index, in order."""
        pairs = [(lsn, entity) for entity, lsns in self.store.stories.items() for lsn in lsns]
        return iter(sorted(pairs))

    def every_blob(self) -> Iterator[tuple[str, bytes]]:
        """Every blob, by name."""
        return iter(sorted(self.store.blobs.items()))

    def check_storage(self) -> list[str]:
        """Memory has no files."""
        return []


class MemoryLog(MemoryAudit):
    """A handle on a `MemoryStore`. Keeps the contract of `port.Log`."""

    def __init__(
        self, store: MemoryStore | None = None, at_point: Callable[[str], None] | None = None
    ) -> None:
        super().__init__(store)
        self._at_point = at_point or (lambda _name: None)
        self._closed = False

    def lead(self, holder: str, now_us: int, ttl_us: int) -> int:
        """Takes the leadership; gives the new epoch."""
        with self.store.lock:
            old = self.store.leader
            if old.holder not in ("", holder) and old.expires_us > now_us:
                raise LogHeld(f"{old.holder} leads in epoch {old.epoch} and is alive")
            self.store.leader = Leader(
                epoch=old.epoch + 1, holder=holder, expires_us=now_us + ttl_us
            )
            return old.epoch + 1

    def renew(self, epoch: int, now_us: int, ttl_us: int) -> None:
        """Extends the leadership."""
        with self.store.lock:
            self.confirm(epoch)
            holder = self.store.leader.holder
            self.store.leader = Leader(epoch=epoch, holder=holder, expires_us=now_us + ttl_us)

    def confirm(self, epoch: int) -> None:
        """Returns when `epoch` leads."""
        leader = self.store.leader
        if leader.epoch != epoch:
            raise fenced(epoch, leader)

    def resign(self, epoch: int) -> None:
        """Lets the next holder lead at once."""
        with self.store.lock:
            self.confirm(epoch)
            self.store.leader = Leader(epoch=epoch, holder="", expires_us=0)

    def leader(self) -> Leader:
        """The leadership row."""
        return self.store.leader

    def append(self, batch: Batch) -> Head:
        """Writes the batch, all of it or nothing."""
        store = self.store
        with store.lock:
            self._check_open()
            self.confirm(batch.epoch)
            rows = codec.encode_all(batch, store.head())
            cut = self._closing(batch, rows)
            self._at_point("log.begun")
            self._at_point("log.written")
            store.rows.extend(rows)
            for record in batch.records:
                for entity in dict.fromkeys(record.entities):
                    store.stories.setdefault(entity, []).append(record.lsn)
            for name, body in batch.blobs.items():
                store.blobs.setdefault(name, body)
            for answer in batch.answers:
                store.answers[answer.owner, answer.key] = answer
            for row in batch.cut_rows:
                store.cut_rows.setdefault((row.kind, row.id), {})[row.cut_lsn] = row
            for line in batch.history:
                store.history[line.entity] = line
            if cut is not None:
                store.cuts.append(cut)
            self._at_point("log.committed")
            return store.head()

    def _closing(self, batch: Batch, rows: list[Row]) -> Cut | None:
        """The cut that a batch closes, checked before anything is written."""
        close = batch.cut_close
        for row in batch.cut_rows:
            if row.kind not in CUT_KINDS:
                raise LogMisuse(f"a cut has no table for {row.kind!r}")
        if close is None:
            return None
        found = self.hash_at(close.cut_lsn)
        found = next((row.hash for row in rows if row.lsn == close.cut_lsn), found)
        if found is None:
            raise LogMisuse(f"a cut at lsn {close.cut_lsn}, where there is no record")
        return Cut(lsn=close.cut_lsn, count=close.count, digest=close.digest, hash=found)

    def truncate(self, upto_lsn: int, limit: int = 10_000) -> int:
        """Deletes records up to `upto_lsn`, `limit` at a time, and rows that no cut needs."""
        store = self.store
        with store.lock:
            self._check_open()
            if sum(cut.lsn >= upto_lsn for cut in store.cuts) < 2:
                raise LogMisuse(f"fewer than two closed cuts lie at or beyond lsn {upto_lsn}")
            gone = [row for row in store.rows[:limit] if row.lsn <= upto_lsn]
            if gone:
                store.floor, store.floor_hash = gone[-1].lsn, gone[-1].hash
                del store.rows[: len(gone)]
            self._drop_unneeded(upto_lsn)
            return len(gone)

    def _drop_unneeded(self, upto_lsn: int) -> None:
        store = self.store
        for entity in list(store.stories):
            kept = [lsn for lsn in store.stories[entity] if lsn > store.floor]
            store.stories[entity] = kept
            if not kept:
                del store.stories[entity]
        oldest = min(cut.lsn for cut in store.cuts if cut.lsn >= upto_lsn)
        store.cuts = [cut for cut in store.cuts if cut.lsn >= oldest]
        for versions in store.cut_rows.values():
            newest = max((lsn for lsn in versions if lsn <= oldest), default=-1)
            for lsn in [lsn for lsn in versions if lsn < newest]:
                del versions[lsn]
            if newest in versions and versions[newest].body is None:
                del versions[newest]

    def forget_answers(self, upto_lsn: int, limit: int = 10_000) -> int:
        """Deletes up to `limit` answers whose `lsn` is not beyond `upto_lsn`."""
        with self.store.lock:
            self._check_open()
            old = [key for key, answer in self.store.answers.items() if answer.lsn <= upto_lsn]
            for key in old[:limit]:
                del self.store.answers[key]
            return len(old[:limit])

    def _check_open(self) -> None:
        if self._closed:
            raise LogMisuse("the log is closed")

    def close(self) -> None:
        """Gives the log back; the store stays."""
        self._closed = True

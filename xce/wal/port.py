"""The port of the log: what the controller writes to and recovers from.

A log keeps records (the truth), what they name by hash (blobs), answers by idempotency key, cuts
(checkpoints of entities), the history of retired work and the leadership row. SQLite, PostgreSQL
and memory keep this one contract; `tests/wal` runs the same tests on all three.

How it is used, in order:
  1. `open_log` (open.py). Another process on the same home: `LogHeld`. A schema or a kind that is
     newer than the code: `LogTooNew`. Settings that would lose commits: `LogUnfit`. A server that
     does not answer: `LogAway`, try again.
  2. `lead(holder, now_us, ttl_us)` gives the epoch, one higher at every takeover. A holder that
     finds its own name takes over at once. Every append and renewal names its epoch.
  3. `head()`, the anchor's check (anchor.py), `newest_cut()`, `read(cut.lsn + 1)`: recovery.
  4. `append(batch)`: one transaction, all of it or nothing, durable when it returns. After it the
     controller writes the anchor, then publishes. Lsns go on from `head().lsn + 1` without a gap.

What fails, and what may be done then:
  - `Fenced`: another leader took over; nothing of the batch was written. Stop leading.
  - `LogBroken`: the commit failed and its OUTCOME IS UNKNOWN. Nothing may be appended to this log
    object again (it refuses); end the process or open anew and recover.
  - `LogCorrupt`: what was read does not fit the hash chain. Nothing is skipped or guessed.
Any thread may call; calls are serialised, and no call sees a transaction that is under way.
The log knows records only as bytes to chain; what they mean is the controller's business.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from msgspec import Struct

from xce.model.records import Record

GENESIS = bytes(16)
"""The hash before the first record."""

CUT_KINDS = (
    "config",
    "counter",
    "queue",
    "spec",
    "host",
    "instance",
    "job",
    "gang_group",
    "start",
    "allocation",
    "launch",
    "claim",
    "attachment",
    "reservation",
    "timer",
    "observed",
    "job_array",
    "job_group",
    "share",
)
"""Kinds of entities that cuts hold, one table each."""


class Head(Struct, frozen=True, gc=False, kw_only=True):
    """The end of the log: last lsn (0 when empty), its hash, the epoch it was written in."""

    lsn: int
    hash: bytes
    epoch: int


class Answer(Struct, frozen=True, gc=False, kw_only=True):
    """What was answered to `owner` under an idempotency key. `digest` is the request's: the same
    key with another digest is a conflict. `lsn` is the last record of the answered command."""

    owner: int
    key: str
    digest: str
    lsn: int
    body: bytes


class CutRow(Struct, frozen=True, gc=False, kw_only=True):
    """An entity as it was at `cut_lsn`; `body` None says that it left the state (a tombstone).
    `state` and `owner` are copied out of the body to be indexed."""

    kind: str
    id: str
    cut_lsn: int
    body: bytes | None
    state: str = ""
    owner: int = -1


class CutClose(Struct, frozen=True, gc=False, kw_only=True):
    """Closes a cut: `count` live rows, newest of each entity at `cut_lsn`; `digest` is
    `codec.rows_digest` over them."""

    cut_lsn: int
    count: int
    digest: str


class HistoryRow(Struct, frozen=True, gc=False, kw_only=True):
    """Finished work, kept after it left the state; `body` is JSON, its story included."""

    entity: str
    finished_us: int
    owner: int
    lsn: int
    body: bytes


class Batch(Struct, frozen=True, gc=False, kw_only=True):
    """What one transaction writes. Blobs and history rows that are there already are left alone;
    an answer of the same owner and key, and a
    cut row of the same kind, id and cut_lsn, are replaced."""

    epoch: int
    records: tuple[Record, ...] = ()
    blobs: Mapping[str, bytes] = {}
    answers: tuple[Answer, ...] = ()
    cut_rows: tuple[CutRow, ...] = ()
    cut_close: CutClose | None = None
    history: tuple[HistoryRow, ...] = ()


class LiveRow(Struct, frozen=True, gc=False, kw_only=True):
    """An entity that a cut holds."""

    kind: str
    id: str
    body: bytes


class Cut(Struct, frozen=True, gc=False, kw_only=True):
    """A closed cut: read its rows with `Log.cut_rows(cut)`; `hash` is that of record `lsn`."""

    lsn: int
    count: int
    digest: str
    hash: bytes


class Leader(Struct, frozen=True, gc=False, kw_only=True):
    """The leadership row: who leads, in which epoch, until when (the database's clock)."""

    epoch: int
    holder: str
    expires_us: int


class About(Struct, frozen=True, gc=False, kw_only=True):
    """What a log says of itself: `name` sqlite, postgresql or memory; its place without secrets;
    the settings read back from it; warnings for the operator."""

    name: str
    version: str
    place: str
    durability: dict[str, str]
    warnings: tuple[str, ...] = ()


class LogError(Exception):
    """The log cannot do what it was asked; the text is fit for the operator."""


class LogMisuse(LogError):
    """The caller broke the contract: a gap in the lsns, a record whose kind is not its body's."""


class Fenced(LogError):
    """The epoch is not the leader's (any more). Nothing was written."""


def fenced(epoch: int, found: Leader) -> Fenced:
    """The error of an epoch that does not lead."""
    return Fenced(f"epoch {epoch} was taken over: {found.holder or 'nobody'} has {found.epoch}")


class LogHeld(LogError):
    """Somebody else has the log: another process (SQLite) or a leader that is alive."""


class LogCorrupt(LogError):
    """What the log holds does not fit its hash chain, its cut or its index."""


class RecordsMissing(LogCorrupt):
    """The log ends before a record that is known to have been acknowledged."""


class LogBroken(LogError):
    """A write failed and its outcome is unknown; this log object takes no more."""


class LogTooNew(LogError):
    """The log was written by a later version of XCE."""


class LogAway(LogError):
    """The database cannot be reached, or is just starting; the same call may be tried again."""


class LogUnfit(LogError):
    """The database is not set up so that a commit is durable, or is none of XCE's."""


class Leadership(Protocol):
    """Who may append. On PostgreSQL these go by a connection of their own, so that a renewal
    waits for an append under way only at the leader's row."""

    def lead(self, holder: str, now_us: int, ttl_us: int) -> int:
        """Takes the leadership; gives the new epoch. `LogHeld` while another holder's row has not
        expired (on SQLite the file lock decides, so the opener always leads)."""

    def renew(self, epoch: int, now_us: int, ttl_us: int) -> None:
        """Extends the leadership; `Fenced` when `epoch` does not lead."""

    def confirm(self, epoch: int) -> None:
        """Returns when `epoch` led at some moment during the call; else `Fenced`."""

    def resign(self, epoch: int) -> None:
        """Lets the next holder lead at once; called at a clean stop."""

    def leader(self) -> Leader:
        """The leadership row; epoch 0 and no holder before the first."""


class LogReader(Protocol):
    """What can be read of a log, also of one that nobody leads."""

    def about(self) -> About:
        """What it is and which durability it read back."""

    def head(self) -> Head:
        """The end of the log."""

    def floor(self) -> int:
        """The lsn up to which records were deleted; 0 when all are there."""

    def read(self, from_lsn: int, to_lsn: int | None = None) -> Iterator[Record]:
        """Records in order, both ends included, each checked against the chain."""

    def hash_at(self, lsn: int) -> bytes | None:
        """The hash of a record as stored, also of the floor; None when it is not there."""

    def story(self, entity: str, after_lsn: int = 0, limit: int = 1000) -> list[Record]:
        """Records that name `entity`, in order."""

    def blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        """The blobs of those names that are there."""

    def answer(self, owner: int, key: str) -> Answer | None:
        """What was answered under that key."""

    def newest_cut(self) -> Cut | None:
        """The last closed cut."""

    def cut_rows(self, cut: Cut) -> Iterator[LiveRow]:
        """The newest row of each entity at the cut, kinds in the order of `CUT_KINDS`, ids in
        the order of their text; tombstones left out."""

    def history(self, entity: str) -> HistoryRow | None:
        """Finished work by its id."""

    def histories(
        self, owner: int | None = None, before_us: int | None = None, limit: int = 100
    ) -> list[HistoryRow]:
        """Finished work, the latest first."""


class Log(LogReader, Leadership, Protocol):
    """A log. See the module's text for the order of use and for what fails how."""

    def append(self, batch: Batch) -> Head:
        """Writes the batch durably in one transaction; gives the new head."""

    def truncate(self, upto_lsn: int, limit: int = 10_000) -> int:
        """Deletes up to `limit` records with lsn <= `upto_lsn`, and rows that no cut needs; gives
        how many records are gone. Refused unless two closed cuts lie at or beyond `upto_lsn`."""

    def forget_answers(self, upto_lsn: int, limit: int = 10_000) -> int:
        """Deletes up to `limit` answers whose `lsn` is not beyond `upto_lsn`; gives how many."""

    def close(self) -> None:
        """Gives the log back. A log that is closed takes nothing."""

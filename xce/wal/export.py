"""A log as JSON lines, and back into a log in memory for replays.

The first line says what follows; then blobs, then records with the bytes they were hashed as, so
that the chain of an export can be checked by anybody. Cuts, answers and history are not part of
it: a log exported from its first record on is the whole truth. An export of a truncated log says
so in its first line (`floor` > 0) and cannot be folded from nothing.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Raw, Struct, json

from xce.wal import codec
from xce.wal.codec import Row
from xce.wal.memory import MemoryStore
from xce.wal.open import open_sqlite
from xce.wal.port import GENESIS, LogCorrupt, LogTooNew
from xce.wal.sqlite import SqliteLog
from xce.wal.verify import LogAudit, Verified, verify

FORMAT = 1


class _Header(Struct, frozen=True, kw_only=True, tag="log", tag_field="line"):
    format: int
    floor: int
    floor_hash: str
    last_lsn: int


class _Blob(Struct, frozen=True, kw_only=True, tag="blob", tag_field="line"):
    name: str
    base64: bytes


class _Record(Struct, frozen=True, kw_only=True, tag="record", tag_field="line"):
    lsn: int
    epoch: int
    at_us: int
    kind: str
    v: int
    cause: str
    actor: str
    entities: Raw
    body: Raw
    hash: str


_Line = _Header | _Blob | _Record
_decode = json.Decoder(_Line).decode


def export_lines(log: LogAudit, upto_lsn: int | None = None) -> Iterator[bytes]:
    """The log as lines, each with its newline."""
    floor, last = log.floor(), log.head().lsn
    last = last if upto_lsn is None else min(last, upto_lsn)
    floor_hash = (log.hash_at(floor) or GENESIS).hex()
    yield _line(_Header(format=FORMAT, floor=floor, floor_hash=floor_hash, last_lsn=last))
    for name, body in log.every_blob():
        yield blob_line(name, body)
    for row in log.rows(floor + 1, last):
        yield record_line(row)


HEADER_CHARACTERS = 160


def header_line(last_lsn: int) -> bytes:
    """The first line of a log from its first record on, padded, so that it can be written again
    once it is known how long the log became."""
    header = _Header(format=FORMAT, floor=0, floor_hash=GENESIS.hex(), last_lsn=last_lsn)
    return json.encode(header).ljust(HEADER_CHARACTERS) + b"\n"


def blob_line(name: str, body: bytes) -> bytes:
    """The line of a text that records name."""
    return _line(_Blob(name=name, base64=body))


def record_line(row: Row) -> bytes:
    """The line of a record."""
    fields = {name: getattr(row, name) for name in ("lsn", "epoch", "at_us", "kind", "v")}
    return _line(
        _Record(
            **fields,
            cause=row.cause,
            actor=row.actor,
            entities=Raw(row.entities.encode()),
            body=Raw(row.body),
            hash=row.hash.hex(),
        )
    )


def export(log: LogAudit, out: BinaryIO) -> int:
    """Writes the log to `out`; gives how many lines."""
    count = 0
    for line in export_lines(log):
        out.write(line)
        count += 1
    return count


def _line(value: Struct) -> bytes:
    return json.encode(value) + b"\n"


def import_lines(lines: Iterable[bytes]) -> MemoryStore:
    """The store of an exported log, its chain checked; `LogCorrupt` names the line at fault."""
    store, header, before = MemoryStore(), None, GENESIS
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = _decode(line)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise LogCorrupt(f"line {number} of the export cannot be read: {error}") from error
        if isinstance(value, _Header):
            header = _checked(value)
            store.floor, before = header.floor, bytes.fromhex(header.floor_hash)
            store.floor_hash = before
        elif isinstance(value, _Blob):
            store.blobs[value.name] = value.base64
        else:
            before = _take(store, value, before)
    if header is None:
        raise LogCorrupt("the export has no first line that says what it is")
    if store.head().lsn != header.last_lsn:
        raise LogCorrupt(f"the export ends at lsn {store.head().lsn}, not at {header.last_lsn}")
    return store


def _checked(header: _Header) -> _Header:
    if header.format > FORMAT:
        raise LogTooNew(f"the export has format {header.format}; this XCE reads up to {FORMAT}")
    return header


def _take(store: MemoryStore, line: _Record, before: bytes) -> bytes:
    """Puts a record into the store; gives its hash."""
    row = Row(
        line.lsn,
        line.epoch,
        line.at_us,
        line.kind,
        line.v,
        line.cause,
        line.actor,
        bytes(line.entities).decode(),
        bytes(line.body),
        bytes.fromhex(line.hash),
    )
    if row.lsn != store.head().lsn + 1:
        raise LogCorrupt(f"the export has record {row.lsn} where {store.head().lsn + 1} is due")
    codec.check_chain(before, row)
    store.rows.append(row)
    for entity in sorted(set(json.decode(row.entities, type=list[str]))):
        store.stories.setdefault(entity, []).append(row.lsn)
    return row.hash


def backup(log: SqliteLog, target: Path) -> Verified:
    """Copies a SQLite log into a new file beside nothing else, then checks the copy whole."""
    log.backup(target)
    copy = open_sqlite(target, fresh=False)
    try:
        return verify(copy)
    except BaseException:
        os.rename(target, f"{target}.damaged")
        raise
    finally:
        copy.close()

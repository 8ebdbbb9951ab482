"""Record <-> row, in one way only, and the hashes over them.

A body is the JSON of its Struct with fields in declared order, so equal bodies are equal bytes.
`hash` is BLAKE2b-128 over the hash of the record before, the JSON array of all other fields and
the body. A kind that the code does not know, or a version newer than the code's, is refused: a
record is never skipped. Older versions go through `UPCASTERS`, one step at a time. The digest of
a cut is the sum of its rows' hashes, so that it can be kept up to date row by row and does not
depend on their order.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from xce.model.records import BODIES, Body, Record
from xce.wal.port import Batch, Head, LiveRow, LogCorrupt, LogMisuse, LogTooNew

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""(kind, v) -> how a body of that version becomes one of v + 1."""

_DIGEST_MODULUS = 1 << 128
_encode = msgspec.json.Encoder().encode
_decoders: dict[str, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(body) for kind, body in BODIES.items()
}


class Row(NamedTuple):
    """A record as the log keeps it; `entities` and `body` are JSON."""

    lsn: int
    epoch: int
    at_us: int
    kind: str
    v: int
    cause: str
    actor: str
    entities: str
    body: bytes
    hash: bytes


def chain_hash(before: bytes, row: Row) -> bytes:
    """The hash of a row that follows the record with the hash `before`. The row's own is unread."""
    digest = blake2b(before, digest_size=16)
    digest.update(_encode(row[:8]))
    digest.update(row.body)
    return digest.digest()


def encode(record: Record, before: bytes) -> Row:
    """The row of a record that follows the record with the hash `before`."""
    if BODIES.get(record.kind) is not type(record.body) or record.v != record.body.V:
        raise LogMisuse(
            f"record {record.lsn}: kind {record.kind!r} v{record.v} does not fit a body of "
            f"{type(record.body).__name__} v{record.body.V}"
        )
    row = Row(
        record.lsn,
        record.epoch,
        record.at_us,
        record.kind,
        record.v,
        record.cause,
        record.actor,
        _encode(record.entities).decode(),
        _encode(record.body),
        b"",
    )
    return row._replace(hash=chain_hash(before, row))


def encode_all(batch: Batch, head: Head) -> list[Row]:
    """The rows of a batch's records behind `head`; `LogMisuse` when their lsns leave a gap."""
    rows: list[Row] = []
    lsn, before = head.lsn, head.hash
    for record in batch.records:
        lsn += 1
        if record.lsn != lsn or record.epoch != batch.epoch:
            raise LogMisuse(
                f"record {record.lsn} of epoch {record.epoch} comes where {lsn} of epoch "
                f"{batch.epoch} is due"
            )
        row = encode(record, before)
        before = row.hash
        rows.append(row)
    return rows


def decode(row: Row) -> Record:
    """The record of a row whose hash was checked."""
    return Record(
        lsn=row.lsn,
        epoch=row.epoch,
        at_us=row.at_us,
        kind=row.kind,
        v=BODIES[row.kind].V if row.kind in BODIES else row.v,
        cause=row.cause,
        actor=row.actor,
        entities=tuple(msgspec.json.decode(row.entities, type=list[str])),
        body=_decode_body(row),
    )


def _decode_body(row: Row) -> Body:
    """The body of a row, upcast to the code's version."""
    body_type = BODIES.get(row.kind)
    if body_type is None:
        raise LogTooNew(
            f"record {row.lsn} is of kind {row.kind!r}, which this version of XCE does not know; "
            "start the version that wrote it, or a later one"
        )
    if row.v > body_type.V:
        raise LogTooNew(
            f"record {row.lsn} is {row.kind} v{row.v}; this version of XCE knows v{body_type.V}; "
            "start the version that wrote it, or a later one"
        )
    try:
        if row.v == body_type.V:
            body: Body = _decoders[row.kind].decode(row.body)
            return body
        return msgspec.convert(_upcast(row, body_type.V), body_type)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise LogCorrupt(
            f"record {row.lsn} ({row.kind}) has an unreadable body: {error}"
        ) from error


def _upcast(row: Row, target: int) -> dict[str, Any]:
    """The fields of an old body in the form of version `target`."""
    fields: dict[str, Any] = msgspec.json.decode(row.body)
    for version in range(row.v, target):
        step = UPCASTERS.get((row.kind, version))
        if step is None:
            raise LogCorrupt(
                f"record {row.lsn} is {row.kind} v{row.v} and nothing upcasts v{version}; "
                "this build of XCE is incomplete"
            )
        fields = step(fields)
    return fields


def check_chain(before: bytes, row: Row) -> None:
    """Raises `LogCorrupt` unless the row's hash is right behind `before`."""
    if chain_hash(before, row) != row.hash:
        raise LogCorrupt(
            f"record {row.lsn} does not fit the hash chain: it, or the record before it, "
            "was changed after it was written"
        )


def row_digest(kind: str, entity: str, body: bytes) -> int:
    """One entity's part in the digest of a cut."""
    digest = blake2b(_encode((kind, entity)), digest_size=16)
    digest.update(body)
    return int.from_bytes(digest.digest(), "big")


def digest_text(total: int) -> str:
    """The digest for a sum of `row_digest`s (which may also have been subtracted from)."""
    return f"{total % _DIGEST_MODULUS:032x}"


def rows_digest(rows: Iterable[LiveRow]) -> str:
    """The digest of a cut's rows."""
    return digest_text(sum(row_digest(row.kind, row.id, row.body) for row in rows))


def blob_name(body: bytes) -> str:
    """The name of a blob: BLAKE2b-128 of its bytes, in hex."""
    return blake2b(body, digest_size=16).hexdigest()

"""Entities as bytes and back, and the digest over all of them.

Complete by reflection: every field of every entity is encoded, so that changing any one field
changes the digest, in memory and reloaded alike.
"""

from collections.abc import Iterator
from hashlib import blake2b

from msgspec import Struct, json, structs

from xce.controller.core.fold.state import TABLES, Key, State

# An entity's first field is its key: tables are keyed by a number where that is one.
NUMBERED = frozenset(
    what for what, entity in TABLES.items() if structs.fields(entity)[0].type is int
)
_DECODERS = {what: json.Decoder(entity) for what, entity in TABLES.items()}
_ENCODER = json.Encoder()


def encode(entity: Struct) -> bytes:
    """An entity's canonical JSON."""
    return _ENCODER.encode(entity)


def decode(what: str, body: bytes) -> Struct:
    """The entity that `encode` gave."""
    return _DECODERS[what].decode(body)


def key_of(what: str, text: str) -> Key:
    """An entity's key from its text."""
    return int(text) if what in NUMBERED else text


def rows(state: State) -> Iterator[tuple[str, Key, bytes]]:
    """All entities, kinds in the order of the tables, keys in their own order."""
    for what, table in state.tables.items():
        for key in sorted(table):
            yield what, key, _ENCODER.encode(table[key])


def digest(state: State) -> str:
    """One hash over lsn, epoch and every field of every entity."""
    total = blake2b(digest_size=16)
    total.update(b"%d:%d;" % (state.lsn, state.epoch))
    for what, key, body in rows(state):
        total.update(f"{what}:{key}:{len(body)};".encode())
        total.update(body)
    return total.hexdigest()

"""Recovery: the newest cut, the records after it, and nothing else.

Blobs come first, because the order of what waits depends on specs. Every recovery is a takeover:
the caller leads with a higher epoch, and no host is believed before it has reconciled.

A host remembers the last record that it was told of. A log that lacks it was truncated or is an
older copy, although the controller's own anchor may fit, when the whole home was put back. Then
numbers would be given out again, so the controller ends. Hosts of another log say nothing here.
"""

from collections.abc import Iterable
from itertools import chain

from msgspec import Struct, json

from xce.controller.core.fold.apply import apply
from xce.controller.core.fold.encode import decode, key_of
from xce.controller.core.fold.interned import NAMED_BY, texts_of, texts_of_entity
from xce.controller.core.fold.state import Key, State
from xce.controller.cuts import TABLE_OF, Cutter
from xce.model.records import Record
from xce.wal.codec import blob_name
from xce.wal.port import Head, Log, LogCorrupt, LogReader

CHUNK = 2_000


def recover(log: Log) -> tuple[State, Cutter]:
    """The state that the log holds; raises LogCorrupt when a cut does not match its digest."""
    state = State()
    cutter = Cutter(state)
    cut = log.newest_cut()
    first = 1
    if cut is not None:
        _load_cut(log, state, cutter)
        state.lsn, first = cut.lsn, cut.lsn + 1
        cutter.last_lsn = cut.lsn
        _restore_head(log, state, cut.lsn)
    state.changed.clear()
    chunk: list[Record] = []
    for record in log.read(first):
        chunk.append(record)
        if len(chunk) == CHUNK:
            _fold(log, state, chunk)
            chunk = []
    _fold(log, state, chunk)
    return state, cutter


def _restore_head(log: Log, state: State, lsn: int) -> None:
    for record in log.read(lsn, lsn):
        state.epoch, state.at_us = record.epoch, record.at_us


def _load_cut(log: Log, state: State, cutter: Cutter) -> None:
    cut = log.newest_cut()
    assert cut is not None
    tables: dict[str, dict[Key, Struct]] = {what: {} for what in state.tables}
    for row in log.cut_rows(cut):
        what = TABLE_OF.get(row.kind, row.kind)
        key = key_of(what, row.id)
        tables[what][key] = decode(what, row.body)
        cutter.seed(what, key, row.body)
    if not cutter.agrees(cut):
        raise LogCorrupt(
            f"the cut at record {cut.lsn} does not match its digest over {cut.count} entities: "
            "a row of it was changed or is missing"
        )
    named = (
        name
        for what in NAMED_BY
        for entity in tables[what].values()
        for name in texts_of_entity(what, entity)
    )
    _intern(log, state, named)
    for what, entities in tables.items():
        for key in sorted(entities):
            state.put(what, key, entities[key])


def _fold(log: Log, state: State, records: list[Record]) -> None:
    named = [texts_of(record) for record in records]
    _intern(log, state, chain.from_iterable(named))
    for record, names in zip(records, named, strict=True):
        # A text that work of this stretch left behind was forgotten, and may be named again.
        gone = [name for name in names if not state.knows(name)]
        if gone:
            _intern(log, state, gone)
        apply(state, record)


def _intern(log: Log, state: State, names: Iterable[str]) -> None:
    """Specs, then the scripts and environments that they name."""
    wanted = {name for name in names if name and not state.knows(name)}
    _take(log, state, wanted)
    inner = set()
    for name in wanted & set(state.specs):
        spec = state.specs[name]
        inner |= {text for text in (spec.script, spec.environment) if text}
    _take(log, state, {name for name in inner if not state.knows(name)})


def _take(log: Log, state: State, names: set[str]) -> None:
    """Read blobs; each must be there and be what its name says."""
    found = log.blobs(sorted(names))
    for name in sorted(names):
        if name not in found:
            raise LogCorrupt(f"the text {name}, which a record names, is missing")
        if blob_name(found[name]) != name:
            raise LogCorrupt(f"the text {name} does not have the content that its name says")
        state.intern(name, found[name])


def answer_body(body: bytes) -> dict[str, object]:
    """An earlier answer as it was stored."""
    return json.decode(body)  # type: ignore[no-any-return]


def missing(log: LogReader, head: Head, host: str, seen: tuple[int, str]) -> str:
    """What the log lacks of what the host has `seen` (lsn, hash); "" when nothing."""
    lsn, digest = seen
    if lsn > head.lsn:
        return (
            f"acknowledged records missing: {lsn - head.lsn} (head {head.lsn}, host {host} has "
            f"seen {lsn}); the home is an older copy"
        )
    if lsn <= 0 or lsn < log.floor():
        return ""
    found = log.hash_at(lsn)
    if found is not None and found.hex() == digest:
        return ""
    return (
        f"record {lsn} is not the one that host {host} has seen: the home holds another history "
        f"(head {head.lsn})"
    )

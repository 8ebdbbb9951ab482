"""Cuts: consistent checkpoints at one lsn, written beside the records in small slices.

Entities are frozen, so a cut takes the changed ones by reference in one moment and then writes
them over many append transactions. It keeps a running digest of the live rows, so that closing
it costs what changed, not what there is.
"""

from msgspec import Struct

from xce.controller.core.commands import NoteCut
from xce.controller.core.fold.encode import encode
from xce.controller.core.fold.state import Key, State
from xce.model.actor import CONTROLLER
from xce.wal.codec import digest_text, row_digest
from xce.wal.port import Cut, CutClose, CutRow

RECORDS_BETWEEN = 50_000
SLICE = 2_000
KIND_OF = {"setting": "config", "group": "gang_group", "array": "job_array"}
TABLE_OF = {kind: table for table, kind in KIND_OF.items()}


class _Row(Struct, frozen=True, gc=False, array_like=True):
    what: str
    key: Key
    entity: Struct | None


class Cutter:
    """Decides when a cut is due and hands out its rows, slice by slice."""

    def __init__(self, state: State, cut_lsn: int = 0) -> None:
        self._state = state
        self.last_lsn = cut_lsn
        self._lsn = 0
        self._rows: list[_Row] = []
        self._digests: dict[tuple[str, Key], int] = {}
        self._sum = 0
        self._count = 0

    def seed(self, what: str, key: Key, body: bytes) -> None:
        """A row that the last closed cut holds, at recovery."""
        self._take(what, key, body)

    def agrees(self, cut: Cut) -> bool:
        """Whether the seeded rows are what `cut` closed over."""
        return self._count == cut.count and digest_text(self._sum) == cut.digest

    @property
    def under_way(self) -> bool:
        """Whether a cut has been begun and not closed."""
        return bool(self._lsn)

    def due(self) -> bool:
        """Whether enough was written since the last cut."""
        return not self._lsn and self._state.lsn - self.last_lsn >= RECORDS_BETWEEN

    def begin(self) -> None:
        """Take over what changed, as it is now."""
        state = self._state
        self._lsn = state.lsn
        self._rows = [
            _Row(what, key, state.tables[what].get(key))
            for what, keys in state.changed.items()
            for key in keys
        ]
        self._rows.reverse()
        state.changed.clear()

    def next_slice(self, limit: int = SLICE) -> tuple[tuple[CutRow, ...], CutClose | None]:
        """The next rows; with the last of them, what closes the cut."""
        rows: list[CutRow] = []
        while self._rows and len(rows) < limit:
            rows.append(self._row(self._rows.pop()))
        if self._rows:
            return tuple(rows), None
        close = CutClose(cut_lsn=self._lsn, count=self._count, digest=digest_text(self._sum))
        return tuple(rows), close

    def closed(self) -> None:
        """The slice that closed the cut is durable."""
        self.last_lsn, self._lsn = self._lsn, 0

    def _row(self, row: _Row) -> CutRow:
        body = encode(row.entity) if row.entity is not None else None
        self._take(row.what, row.key, body)
        return CutRow(
            kind=KIND_OF.get(row.what, row.what),
            id=str(row.key),
            cut_lsn=self._lsn,
            body=body,
            state=getattr(row.entity, "state", ""),
            owner=getattr(row.entity, "owner", -1),
        )

    def _take(self, what: str, key: Key, body: bytes | None) -> None:
        old = self._digests.pop((what, key), None)
        if old is not None:
            self._sum -= old
            self._count -= 1
        if body is not None:
            new = row_digest(KIND_OF.get(what, what), str(key), body)
            self._digests[what, key] = new
            self._sum += new
            self._count += 1


def noted(close: CutClose) -> NoteCut:
    """The command that writes down that a cut is closed."""
    return NoteCut(actor=CONTROLLER, cut_lsn=close.cut_lsn, count=close.count, digest=close.digest)

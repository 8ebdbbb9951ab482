"""A class's hosts as one column: the tightest one is its least entry.

The same answer as the search gives (the tightest domain at the host level; with order[] the host
that goes first, between equals the tightest), from figures that a class keeps per host. Only hosts
that changed since the class was last looked at are figured again, so the work does not grow with
the hosts that nobody touched.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import Hosts, caps
from xce.scheduler.fit.demand import Load, MemberNeed
from xce.scheduler.fit.lay import Cell, blank, lay
from xce.scheduler.fit.picks import Limits
from xce.scheduler.serial.shelf import SLOTS, SLOTS_MAX, Wanted
from xce.scheduler.snapshot import Column

NO_ROOM = np.iinfo(np.int64).max


class SerialRow:
    """A class's keys per host: free instances of its types, then free slots; NO_ROOM where its
    job does not fit. Equal keys go to the host that is first by name."""

    def __init__(self, work: Workspace, need: MemberNeed, hosts: Hosts) -> None:
        self._work = work
        self._need = need
        self._load = need.load(True, True)
        self._types = need.types()
        self._hosts = hosts
        self._place = np.full(len(work.hosts.names), -1, dtype=np.int64)
        self._place[hosts] = np.arange(len(hosts))
        self.plain = _plain(work, self._load, self._types)
        self._read = -1
        self._keys: Column = np.zeros(0, dtype=np.int64)

    def place(self, salt: int) -> Cell | None:
        """The job laid on its tightest host and taken, None when it fits nowhere."""
        self._refresh()
        if not len(self._keys):
            return None
        while True:
            best = self._best()
            if self._keys[best] == NO_ROOM:
                return None
            cell = blank(0, -1, int(self._hosts[best]), 0, 1, first=True, anchored=True)
            laid = lay(self._work, self._need, cell, Limits(), salt)
            if laid is not None:
                return laid
            self._keys[best] = NO_ROOM

    def best_host(self) -> int:
        """The tightest host of a load of plain amounts, -1 where it fits nowhere."""
        self._refresh()
        best = self._best() if len(self._keys) else 0
        if not len(self._keys) or self._keys[best] == NO_ROOM:
            return -1
        return int(self._hosts[best])

    def has_room(self, wanted: Wanted) -> bool:
        """Whether any host has all that is wanted now; cheaper than which of them is the best."""
        matrix = self._work.ledger.matrix
        fits = np.ones(matrix.shape[1], dtype=bool)
        for row, amount in wanted:
            fits &= matrix[row] >= amount
        return bool(fits[self._hosts].any())

    def _best(self) -> int:
        """The place of the host that goes first: by order[], then the tightest."""
        order = self._need.part.order
        fits = np.flatnonzero(self._keys != NO_ROOM) if order else ()
        if not len(fits):
            return int(self._keys.argmin())
        for name, direction in order:
            values, known = self._work.figure(name)
            told = fits[known[self._hosts[fits]]]
            if len(told):
                column = values[self._hosts[told]] * direction
                fits = told[column == column.min()]
        return int(fits[self._keys[fits].argmin()])

    def _refresh(self) -> None:
        journal = self._work.ledger.journal
        if self._read < 0:
            self._read, self._keys = len(journal), self._figures(self._hosts)
        if self._read == len(journal):
            return
        changed = np.array(sorted(set(journal[self._read :])), dtype=np.intp)
        self._read = len(journal)
        places = self._place[changed]
        places = places[places >= 0]
        if len(places):
            self._keys[places] = self._figures(self._hosts[places])

    def _figures(self, hosts: Hosts) -> Column:
        ledger = self._work.ledger
        if self.plain is not None:
            free = ledger.matrix[self.plain.rows, hosts]
            fits = (free >= self.plain.wanted).all(axis=0)
            return np.where(fits, self.plain.weights @ free, NO_ROOM)
        keys = ledger.column(SLOTS)[hosts]
        for type_ in self._types:
            keys = keys + ledger.count(type_)[hosts] * SLOTS_MAX
        return np.where(caps(self._work, self._load, hosts) > 0, keys, NO_ROOM)


class Plain(Struct, frozen=True, gc=False):
    """A load of plain amounts, for reading all its rows of the ledger at once: the rows' numbers,
    how much of each is wanted, and what each weighs in a host's key."""

    rows: npt.NDArray[np.intp]
    wanted: npt.NDArray[np.int64]
    weights: npt.NDArray[np.int64]


def _plain(work: Workspace, load: Load, types: Sequence[str]) -> Plain | None:
    """None where an amount is not plain: ports, selected or bound instances, unknown names."""
    items = (*load.unit_items, *load.fixed_items)
    chosen = any(item.select or item.same or item.tile for item in items)
    if chosen or load.unit_ports or load.fixed_ports or load.cpus is not None:
        return None
    wanted = {("free", SLOTS): 0}
    for name, amount in (*load.unit, *load.fixed):
        wanted["free", name] = wanted.get(("free", name), 0) + amount
    for item in items:
        wanted["count", item.type] = wanted.get(("count", item.type), 0) + item.count
    rows = work.ledger.rows
    if any(column not in rows for column in wanted):
        return None
    weights = {("free", SLOTS): 1, **{("count", type_): SLOTS_MAX for type_ in types}}
    return Plain(
        rows=np.array([[rows[column]] for column in wanted], dtype=np.intp),
        wanted=np.array([[amount] for amount in wanted.values()], dtype=np.int64),
        weights=np.array([weights.get(column, 0) for column in wanted], dtype=np.int64),
    )

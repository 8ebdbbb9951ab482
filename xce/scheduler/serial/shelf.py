"""Hosts sorted by how little they have left, so that the tightest that fits is met first.

A shelf holds some hosts under a key each: free instances of its types, then free slots. Hosts of
one key lie in one cell, by name. All classes that ask for instances of the same types on the same
hosts share a shelf; it follows the ledger's journal when it is looked at, so that a host that
changed costs a move and every other host nothing.

Looking stops after LOOKS_MAX hosts without a fit: where what is left of memory or of another
counter keeps many tight hosts from serving, a column is read faster than a row of hosts.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

import numpy as np

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import Hosts
from xce.scheduler.ledger import Ledger

SLOTS = "slots"
SLOTS_MAX = 1 << 32
SLOTS_MASK = SLOTS_MAX - 1
LOOKS_MAX = 48
NOT_HERE = -1
GAVE_UP = -2
SHELVES_MAX = 32

Wanted = Sequence[tuple[int, int]]
"""(row of the ledger, amount) of what one host must have."""


class Shelf:
    """Some hosts in the order of their keys. It is made when it is first looked at."""

    def __init__(self, ledger: Ledger, types: Sequence[str], hosts: Hosts) -> None:
        self._ledger = ledger
        self._slots = ledger.rows["free", SLOTS]
        self._types = [ledger.rows["count", type_] for type_ in types]
        self._hosts = hosts
        self._where: list[int] = []
        self._cells: dict[int, list[int]] = {}

    @property
    def is_made(self) -> bool:
        """Whether anybody looked for a host on it."""
        return bool(self._where)

    def _make(self) -> None:
        """Puts the hosts in order."""
        ledger, hosts = self._ledger, self._hosts
        self._read = len(ledger.journal)
        self._where = [NOT_HERE] * len(ledger.ports)
        matrix = ledger.matrix
        keys = matrix[self._slots][hosts]
        for row in self._types:
            keys = keys + matrix[row][hosts] * SLOTS_MAX
        order = np.lexsort((-hosts, keys))
        for key, host in zip(keys[order].tolist(), hosts[order].tolist(), strict=True):
            self._cells.setdefault(key, []).append(-host)
            self._where[host] = key
        self._keys = sorted(self._cells)

    def tightest(self, wanted: Wanted, least: int, slots: int) -> int:
        """The first host by key and name whose key is at least `least`, with at least so many
        slots, that has what is `wanted` besides. NOT_HERE where none is, GAVE_UP where it was not
        found soon."""
        ledger = self._ledger
        if not self._where:
            self._make()
        if self._read < len(ledger.journal):
            self._follow()
        amounts, looks, keys, cells = ledger.amounts, 0, self._keys, self._cells
        column, most = (amounts[wanted[0][0]], wanted[0][1]) if wanted else (self._where, NOT_HERE)
        others = wanted[1:]
        for place in range(bisect_left(keys, least), len(keys)):
            key = keys[place]
            if key & SLOTS_MASK < slots:
                continue
            for minus in reversed(cells[key]):
                if column[-minus] >= most:
                    for row, amount in others:
                        if amounts[row][-minus] < amount:
                            break
                    else:
                        return -minus
                looks += 1
                if looks > LOOKS_MAX:
                    return GAVE_UP
        return NOT_HERE

    def _follow(self) -> None:
        ledger, where = self._ledger, self._where
        journal, amounts = ledger.journal, ledger.amounts
        changed: Iterable[int] = journal[self._read :]
        if len(journal) - self._read > 1:
            changed = set(changed)
        self._read = len(journal)
        free, counts = amounts[self._slots], [amounts[row] for row in self._types]
        for host in changed:
            old = where[host]
            if old == NOT_HERE:
                continue
            key = free[host]
            for column in counts:
                key += column[host] * SLOTS_MAX
            if key != old:
                self._take_out(old, -host)
                self._put_in(key, -host)
                where[host] = key

    def _take_out(self, key: int, minus: int) -> None:
        cell = self._cells[key]
        if cell[-1] == minus:
            cell.pop()
        else:
            del cell[bisect_left(cell, minus)]
        if not cell:
            del self._cells[key]
            del self._keys[bisect_left(self._keys, key)]

    def _put_in(self, key: int, minus: int) -> None:
        cell = self._cells.get(key)
        if cell is None:
            self._cells[key] = [minus]
            insort(self._keys, key)
        else:
            insort(cell, minus)


class Shelves:
    """The shelves of one session, made when they are first asked for."""

    def __init__(self, work: Workspace) -> None:
        self._ledger = work.ledger
        self._made: dict[tuple[tuple[str, ...], bytes], Shelf] = {}

    def of(self, types: tuple[str, ...], hosts: Hosts) -> Shelf | None:
        """The shelf of these hosts by these types; None where there are too many already."""
        key = (types, hosts.tobytes())
        shelf = self._made.get(key)
        if shelf is None and len(self._made) < SHELVES_MAX:
            shelf = self._made[key] = Shelf(self._ledger, types, hosts)
        return shelf

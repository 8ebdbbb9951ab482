"""What is free while a session works: columns and masks that change, with undo marks.

Every taking is written to an undo list, so that a trial is a mark and a rollback and nothing is
copied. A second list, the journal, names each host that changed in either direction; whoever
keeps figures per host reads on from where it stopped instead of looking at all hosts again.

Invariant: nothing here goes below zero or takes a bit twice; `take` raises when asked to, since
callers look first. One ledger belongs to one session; it never writes to its snapshot.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from xce.scheduler.snapshot import Column, Snapshot

Matrix = npt.NDArray[np.int64]
Amounts = tuple[tuple[str, int], ...]
Bits = tuple[tuple[str, int], ...]


class Taking(Struct, frozen=True, gc=False):
    """What is taken on one host in one go: counters, instance bits per type, port numbers."""

    host: int
    counters: Amounts = ()
    bits: Bits = ()
    ports: tuple[int, ...] = ()


class Trial:
    """A stretch of work that is put back unless it is kept."""

    def __init__(self) -> None:
        self.kept = False

    def keep(self) -> None:
        """Lets what was taken since the trial began stand."""
        self.kept = True


class Ledger:
    """Free amounts per host: `column(counter)` and `count(type)` are columns, `masks[type]` lists
    of bit masks, `ports[host]` the number of free ports. All columns of counters and types are
    rows of one `matrix` (`rows` has their numbers, by "free" or "count" and name), so that
    several can be read at once. `amounts[row][host]` has the same numbers as lists, for those who
    look at one host at a time; the matrix follows it when it is asked for. What a shared pool has
    is in the matrix alone."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._size = len(snapshot.hosts.names)
        self._zero = np.zeros(self._size, dtype=np.int64)
        self._zero.flags.writeable = False
        self.masks = {type_: list(masks) for type_, masks in snapshot.free_masks.items()}
        columns = [("free", name) for name in snapshot.free]
        columns += [("count", type_) for type_ in self.masks]
        self.rows = {column: i for i, column in enumerate(columns)}
        self._own = [
            row
            for (kind, name), row in self.rows.items()
            if kind == "count" or name not in snapshot.pools
        ]
        self._matrix = np.zeros((len(columns), self._size), dtype=np.int64)
        for name, column in snapshot.free.items():
            self._matrix[self.rows["free", name]] = column
        for type_ in self.masks:
            self._matrix[self.rows["count", type_]] = _bit_counts(snapshot, type_)
        self._amounts: list[list[int]] | None = None
        self._behind: set[int] = set()
        self.ports = _port_counts(snapshot).copy()
        self._held_ports: dict[int, set[int]] = {}
        self._undo: list[Taking] = []
        self.journal: list[int] = []

    @property
    def amounts(self) -> list[list[int]]:
        """The numbers of the matrix as lists, made when they are first asked for."""
        if self._amounts is None:
            self._amounts = self._matrix.tolist()
        return self._amounts

    @property
    def matrix(self) -> Matrix:
        """All columns, brought up to date."""
        if self._behind:
            hosts = sorted(self._behind)
            places = np.array(hosts, dtype=np.intp)
            for row in self._own:
                column = self.amounts[row]
                self._matrix[row, places] = [column[host] for host in hosts]
            self._behind.clear()
        return self._matrix

    def knows(self, name: str) -> bool:
        """Whether any host has a counter or an instance type of that name."""
        return ("free", name) in self.rows or ("count", name) in self.rows

    def column(self, counter: str) -> Column:
        """The free amounts of a counter; all zero where no host has it."""
        row = self.rows.get(("free", counter))
        return self._zero if row is None else self.matrix[row]

    def count(self, type_: str) -> Column:
        """The number of free instances of a type per host."""
        row = self.rows.get(("count", type_))
        return self._zero if row is None else self.matrix[row]

    def draw(self, host: int, amounts: Sequence[tuple[int, int]], bits: Bits = ()) -> None:
        """Takes amounts by row number, and bits, that the caller has just found free: the short
        way for what is never put back."""
        mine = self.amounts
        for row, amount in amounts:
            mine[row][host] -= amount
        for type_, mask in bits:
            self.masks[type_][host] ^= mask
        self._behind.add(host)
        self.journal.append(host)

    def mask(self, type_: str, host: int) -> int:
        """The free instances of a type on a host."""
        masks = self.masks.get(type_)
        return masks[host] if masks else 0

    def take(self, taking: Taking) -> None:
        """Takes it; raises ValueError (and changes nothing) where something is not free."""
        self._check(taking)
        self._move(taking, -1)
        self._undo.append(taking)

    def has(self, taking: Taking) -> bool:
        """Whether the amounts of a taking are free; of a shared pool, another host may have
        drawn on them."""
        host = taking.host
        return all(self._free(name, host) >= amount for name, amount in taking.counters)

    def _free(self, name: str, host: int) -> int:
        row = self.rows.get(("free", name))
        if row is None:
            return 0
        if name in self._snapshot.pools:
            return int(self._matrix[row, host])
        return self.amounts[row][host]

    def holds(self, taking: Taking) -> bool:
        """Whether all of a taking is free: amounts, instances and ports."""
        if not self.has(taking):
            return False
        if any(self.mask(type_, taking.host) & bits != bits for type_, bits in taking.bits):
            return False
        return not taking.ports or self.free_ports_of(taking.host).issuperset(taking.ports)

    def mark(self) -> int:
        """A point to roll back to."""
        return len(self._undo)

    def rollback(self, mark: int) -> None:
        """Puts back everything that was taken since the mark."""
        while len(self._undo) > mark:
            self._move(self._undo.pop(), 1)

    def since(self, mark: int) -> tuple[Taking, ...]:
        """What was taken since the mark, in order."""
        return tuple(self._undo[mark:])

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """A trial: rolled back at its end unless it was kept."""
        mark = self.mark()
        trial = Trial()
        try:
            yield trial
        finally:
            if not trial.kept:
                self.rollback(mark)

    def set_aside(self, taking: Taking, *, back: bool = False) -> None:
        """Takes out (or puts back) what is kept for others; no rollback touches it."""
        self._move(taking, 1 if back else -1)

    def free_ports_of(self, host: int) -> set[int]:
        """The free port numbers of a host."""
        ranges = self._snapshot.free_ports[host]
        numbers = {number for low, high in ranges for number in range(low, high + 1)}
        return numbers - self._held_ports.get(host, set())

    def hosts_with_held_ports(self) -> tuple[int, ...]:
        """Hosts of which ports were taken."""
        return tuple(host for host, held in sorted(self._held_ports.items()) if held)

    def choose_ports(self, host: int, amount: int, salt: int) -> tuple[int, ...]:
        """Free port numbers of a host, from a place in its range that `salt` turns; fewer than
        asked where there are not enough."""
        numbers = [
            number
            for low, high in self._snapshot.free_ports[host]
            for number in range(low, high + 1)
            if number not in self._held_ports.get(host, ())
        ]
        if not numbers:
            return ()
        start = salt * amount % len(numbers)
        return tuple((numbers[start:] + numbers[:start])[:amount])

    def _check(self, taking: Taking) -> None:
        for name, amount in taking.counters:
            if amount and self._free(name, taking.host) < amount:
                raise ValueError(f"{name} is over-committed on host {taking.host}")
        for type_, bits in taking.bits:
            if self.mask(type_, taking.host) & bits != bits:
                raise ValueError(f"{type_} is taken twice on host {taking.host}")
        held = self._held_ports.get(taking.host, set())
        if held.intersection(taking.ports):
            raise ValueError(f"a port is taken twice on host {taking.host}")

    def _move(self, taking: Taking, sign: int) -> None:
        host = taking.host
        for name, amount in taking.counters:
            if amount:
                self._add(name, host, sign * amount)
        for type_, bits in taking.bits:
            self.masks[type_][host] ^= bits
            self.amounts[self.rows["count", type_]][host] += sign * bits.bit_count()
        self._behind.add(host)
        if taking.ports:
            held = self._held_ports.setdefault(host, set())
            held.symmetric_difference_update(taking.ports)
            self.ports[host] += sign * len(taking.ports)
        self.journal.append(host)

    def _add(self, name: str, host: int, amount: int) -> None:
        """To the host's own amount, or to the pool of all hosts that see the same one."""
        pool, row = self._snapshot.pools.get(name), self.rows["free", name]
        if pool is None:
            self.amounts[row][host] += amount
            return
        seeing = np.flatnonzero(pool == pool[host]) if pool[host] >= 0 else np.array([host])
        self._matrix[row, seeing] += amount
        self.journal.extend(seeing.tolist())


def once(snapshot: Snapshot, what: str, of: object, made: Callable[[], Any]) -> Any:
    """What follows from something that snapshots of one host table mostly share: kept for the two
    that were seen last, the hosts as they are and the hosts as if nothing ran on them."""
    kept = snapshot.hosts.memo.setdefault(what, [])
    for one, found in kept:
        if one is of:
            return found
    found = made()
    kept[:] = [*kept[-1:], (of, found)]
    return found


def _port_counts(snapshot: Snapshot) -> Column:
    """The number of free ports per host; figured once for equal ranges."""
    ports = snapshot.free_ports

    def counted() -> Column:
        counts = [sum(high - low + 1 for low, high in ranges) for ranges in ports]
        return np.array(counts, dtype=np.int64)

    found: Column = once(snapshot, "port counts", ports, counted)
    return found


def _bit_counts(snapshot: Snapshot, type_: str) -> Column:
    """How many instances of a type each host has free."""
    told, masks = snapshot.free_counts.get(type_), snapshot.free_masks[type_]
    if told is not None:
        return told

    def counted() -> Column:
        return np.array([mask.bit_count() for mask in masks], dtype=np.int64)

    # Only what cannot change is worth keeping.
    fixed = isinstance(masks, tuple)
    found: Column = once(snapshot, f"counts of {type_}", masks, counted) if fixed else counted()
    return found

"""The book of one session: what ends when, what is reserved, and what that leaves for whom.

A place is a counter on a host, or a pool of several. Between now and a later moment, what ends on
a place makes it freer and what is reserved makes it scarcer; `kept` says how much of what is free
must be left alone for a use of some length to disturb no reservation. The same sum, looked at
from a later moment, tells when something that is blocked now can begin.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct, structs

from xce.model.placing import Share
from xce.scheduler.candidates import Workspace
from xce.scheduler.ledger import Ledger, Taking
from xce.scheduler.snapshot import Column, Ranges, Snapshot
from xce.scheduler.time.due import Takings, cut
from xce.scheduler.time.takings import taking_of
from xce.scheduler.time.terms import FOREVER_US, JITTER_US, Hold

Place = tuple[str, int]
Places = dict[Place, int]


class End(Struct, frozen=True, gc=False, order=True):
    """What ends at one moment; `number` makes the order total."""

    at_us: int
    number: int
    who: str
    takings: tuple[Taking, ...]


class Kept(Struct, gc=False):
    """What must be left alone: amounts by place, bits by (type, host), ports by host."""

    amounts: Places
    bits: dict[Place, int]
    ports: dict[int, set[int]]


class Book:
    """Endings and reservations of a session; both grow while it places and reserves."""

    def __init__(self, work: Workspace) -> None:
        snapshot = work.snapshot
        self._work = work
        self.now_us = snapshot.now_us
        self.holds: dict[int, Hold] = {hold.number: hold for hold in snapshot.holds}
        self.takings = {n: self.takings_of(hold.shares) for n, hold in self.holds.items()}
        self.revision = 0
        self._ends: list[End] | None = None
        self._freed: dict[Place, list[tuple[int, int]]] | None = None
        self._columns: dict[str, tuple[Column, Column, Column]] = {}
        self._by_name: list[tuple[End, Taking]] | None = None
        self._by_who: dict[str, list[End]] | None = None
        self._due: tuple[int, Takings] = (-1, {})

    # -- what ends -----------------------------------------------------------------------------
    @property
    def ends(self) -> list[End]:
        """All endings in order; read the first time that somebody asks."""
        if self._ends is None:
            found = enumerate(self._work.snapshot.ends)
            self._ends = sorted(
                End(max(one.end_us, self.now_us + 1), n, one.who, self.takings_of(one.shares))
                for n, one in found
            )
        return self._ends

    def will_end(self, at_us: int, who: str, takings: Sequence[Taking]) -> None:
        """Something of this session ends then."""
        self.revision += 1
        if at_us >= FOREVER_US:
            return
        insort(self.ends, End(at_us, len(self.ends), who, tuple(takings)))
        self._columns, self._by_name, self._by_who = {}, None, None
        if self._freed is not None:
            for place, amount in self._amounts(takings):
                insort(self._freed.setdefault(place, []), (at_us, amount))

    def gives_way(self, at_us: int, who: str, takings: Sequence[Taking]) -> None:
        """Something ends then at the latest: what ends later, or by itself, ends but once."""
        known = self._ends_of([who])
        if known and all(end.at_us <= at_us for end in known):
            return
        self._ends = [end for end in self.ends if end.who != who]
        self._freed = None
        self.will_end(at_us, who, takings)

    def _ends_of(self, names: Iterable[str]) -> list[End]:
        """What is known of the endings of some work."""
        if self._by_who is None:
            self._by_who = {}
            for end in self.ends:
                self._by_who.setdefault(end.who, []).append(end)
        return [end for who in names for end in self._by_who.get(who, ())]

    def freed(self, place: Place, after_us: int, until_us: int) -> int:
        """What ends on a place behind one moment and not behind another."""
        if self._freed is None:
            self._freed = {}
            for end in self.ends:
                for key, amount in self._amounts(end.takings):
                    self._freed.setdefault(key, []).append((end.at_us, amount))
        row = self._freed.get(place, [])
        low = bisect_right(row, (after_us, FOREVER_US))
        return sum(n for _, n in row[low : bisect_right(row, (until_us, FOREVER_US))])

    def place(self, name: str, host: int) -> Place:
        """Where an amount counts: on the host, or in the pool that it sees."""
        pool = self._work.snapshot.pools.get(name)
        if pool is None or pool[host] < 0:
            return (name, host)
        return (name, -1 - int(pool[host]))

    def _amounts(self, takings: Iterable[Taking]) -> Iterator[tuple[Place, int]]:
        for taking in takings:
            for name, amount in taking.counters:
                yield self.place(name, taking.host), amount

    def takings_of(self, shares: Iterable[Share]) -> tuple[Taking, ...]:
        """Shares as the ledger counts them; hosts and instances that are gone are left out."""
        found = (taking_of(self._work, share) for share in shares)
        return tuple(one for one in found if one is not None)

    # -- what is reserved ----------------------------------------------------------------------
    def reserve(self, hold: Hold) -> None:
        """A reservation begins to count, in place of an older one of its number."""
        self.holds[hold.number] = hold
        self.takings[hold.number] = self.takings_of(hold.shares)
        self.revision += 1

    def release(self, number: int) -> None:
        """A reservation counts no more."""
        if self.holds.pop(number, None) is not None:
            del self.takings[number]
            self.revision += 1

    def in_way(self, from_us: int, until_us: int, skip: int = 0) -> list[Hold]:
        """The reservations that a use of some time touches, soonest first."""
        found = [
            hold
            for hold in self.holds.values()
            if hold.number != skip and hold.from_us < until_us and hold.end_us > from_us
        ]
        return sorted(found, key=lambda hold: (hold.from_us, hold.number))

    def kept_now(self, until_us: int, skip: int = 0) -> Kept:
        """What a use from now on must leave alone, also where more is due than there is. Nothing
        of the ledger may be set aside."""
        if self._due[0] != self.revision:
            ledger = self._work.ledger
            self._due = (self.revision, cut(ledger, self.holds, self.takings, self.now_us))
        return self.kept(self.now_us, until_us, skip, of=self._due[1])

    def kept(
        self,
        from_us: int,
        until_us: int,
        skip: int = 0,
        *,
        of: Takings | None = None,
        gone: Sequence[str] = (),
    ) -> Kept:
        """What a use of that time must leave alone of what is free when it begins; the ends of
        those who are `gone` make nothing freer."""
        known = self.takings if of is None else of
        holds = self.in_way(from_us, until_us, skip)
        late = [
            (end.at_us, *one) for end in self._ends_of(gone) for one in self._amounts(end.takings)
        ]
        touching: dict[Place, list[tuple[int, int, int]]] = {}
        kept = Kept({}, {}, {})
        for hold in holds:
            begin = max(hold.from_us, from_us)
            for taking in known[hold.number]:
                for type_, bits in taking.bits:
                    at = (type_, taking.host)
                    kept.bits[at] = kept.bits.get(at, 0) | bits
                if taking.ports:
                    kept.ports.setdefault(taking.host, set()).update(taking.ports)
            for place, amount in self._amounts(known[hold.number]):
                touching.setdefault(place, []).append((begin, hold.end_us, amount))
        for place, uses in touching.items():
            most = max(
                sum(n for low, high, n in uses if low <= at < high)
                - self.freed(place, from_us, at + JITTER_US)
                + sum(n for end, of_, n in late if of_ == place and from_us < end <= at + JITTER_US)
                for at, _, _ in uses
            )
            if most > 0:
                kept.amounts[place] = most
        return kept

    def borrowed_until_us(self, end_us: int, takings: Sequence[Taking], skip: int = 0) -> int:
        """When what was just taken must be over because a reservation needs it; 0 = nobody does.
        Only reservations that begin when the work is expected to be over are asked."""
        later = sorted(
            (hold.from_us, hold.number)
            for hold in self.holds.values()
            if hold.number != skip and hold.from_us >= end_us
        )
        for from_us, number in later:
            if self._is_needed(number, from_us, takings):
                return from_us
        return 0

    def _is_needed(self, number: int, from_us: int, takings: Sequence[Taking]) -> bool:
        mine = {taking.host: taking for taking in self.takings[number]}
        for taking in takings:
            other = mine.get(taking.host)
            for type_, bits in taking.bits if other is not None else ():
                if dict(other.bits).get(type_, 0) & bits:  # type: ignore[union-attr]
                    return True
            if other is not None and set(other.ports) & set(taking.ports):
                return True
        wanted = dict(self._amounts(self.takings[number]))
        ledger, kept = self._work.ledger, self.kept(self.now_us, from_us + 1)
        for place, _ in self._amounts(takings):
            free = _free_at(self._work.snapshot, ledger, place)
            if place in wanted and kept.amounts.get(place, 0) > free:
                return True
        return False

    # -- the ledger of now ---------------------------------------------------------------------
    def set_aside(self, kept: Kept) -> tuple[Taking, ...]:
        """Takings that keep from the ledger of now what must be left alone, as far as free."""
        ledger, snapshot = self._work.ledger, self._work.snapshot
        counters: dict[int, list[tuple[str, int]]] = {}
        bits: dict[int, list[tuple[str, int]]] = {}
        for (name, where), amount in kept.amounts.items():
            host = where if where >= 0 else _first_of(snapshot, name, where)
            least = min(amount, int(ledger.column(name)[host]))
            if least > 0:
                counters.setdefault(host, []).append((name, least))
        for (type_, host), mask in kept.bits.items():
            free = ledger.mask(type_, host) & mask
            if free:
                bits.setdefault(host, []).append((type_, free))
        found = []
        for host in sorted({*counters, *bits, *kept.ports}):
            ports = tuple(sorted(ledger.free_ports_of(host) & kept.ports.get(host, set())))
            found.append(
                Taking(host, tuple(counters.get(host, ())), tuple(bits.get(host, ())), ports)
            )
        return tuple(found)

    # -- later moments -------------------------------------------------------------------------
    def moments(self, skip: int = 0) -> list[int]:
        """When something may fit that does not now: each end and each end of a reservation."""
        times = {end.at_us for end in self.ends}
        times.update(hold.end_us for hold in self.holds.values() if hold.number != skip)
        times.update(hold.end_us for hold in self.holds.values() if hold.end_us < FOREVER_US)
        return sorted(at for at in times if self.now_us < at < FOREVER_US)

    def later(
        self,
        at_us: int,
        until_us: int,
        skip: int = 0,
        *,
        alone: bool = False,
        without: Sequence[Taking] = (),
        gone: Sequence[str] = (),
    ) -> Snapshot:
        """The snapshot at a later moment, for a use until `until_us`: all that ends is free, and
        so is what those give up (`without`) who give way (`gone`); what is reserved is left alone
        (unless `alone`). Nothing of the ledger may be set aside."""
        ledger, base = self._work.ledger, self._work.snapshot
        count = bisect_left(self.ends, at_us + 1, key=lambda end: end.at_us)
        kept = Kept({}, {}, {}) if alone else self.kept(at_us, until_us, skip, gone=gone)
        free = {name: self._column(name, count) for name in base.free}
        for (name, where), amount in self._amounts(without):
            free[name][_rows_of(base, name, where)] += amount
        for name in base.told.keys() & free.keys() if without else ():
            free[name] = np.minimum(free[name], self._most(name, free[name]))
        for (name, where), amount in kept.amounts.items():
            rows = _rows_of(base, name, where)
            free[name][rows] = np.maximum(0, free[name][rows] - amount)
        masks = {type_: list(row) for type_, row in ledger.masks.items()}
        ports: dict[int, set[int]] = {}
        last = self.ends[count - 1] if count else None
        given = [taking for end, taking in self._named() if last is not None and end <= last]
        for taking in (*given, *without):
            for type_, bits in taking.bits:
                masks[type_][taking.host] |= bits
            if taking.ports:
                ports.setdefault(taking.host, set()).update(taking.ports)
        for (type_, host), bits in kept.bits.items():
            masks[type_][host] &= ~bits
        return structs.replace(
            base, now_us=at_us, free=free, pending=(), known={}, holds=(), ends=(),
            free_masks={type_: tuple(row) for type_, row in masks.items()}, free_counts={},
            free_ports=self._ports_later(ports, kept),
        )  # fmt: skip

    def _column(self, name: str, count: int) -> Column:
        """A counter's free amounts when the first `count` endings are over."""
        if not self._columns:
            self._columns = self._by_counter()
        numbers, hosts, amounts = self._columns[name]
        upto = int(np.searchsorted(numbers, count))
        column = self._work.ledger.column(name).copy()
        pool = self._work.snapshot.pools.get(name)
        if pool is None:
            np.add.at(column, hosts[:upto], amounts[:upto])
        else:
            for host, amount in zip(hosts[:upto].tolist(), amounts[:upto].tolist(), strict=True):
                column[pool == pool[host] if pool[host] >= 0 else host] += amount
        return np.minimum(column, self._most(name, column))

    def _most(self, name: str, column: Column) -> Column:
        """What there is of a counter when nothing of it is held, as far as that is known."""
        snapshot, totals = self._work.snapshot, self._work.hosts.totals.get(name)
        told, seen = snapshot.told.get(name), snapshot.observed.get(name)
        if told is None:
            return column if totals is None else np.maximum(totals, 0)
        there = seen.values * seen.known if seen is not None else column * 0
        return np.where(told, there, np.maximum(totals, 0) if totals is not None else 0)

    def _by_counter(self) -> dict[str, tuple[Column, Column, Column]]:
        """By counter, the number of the ending, the host and the amount, in the order of ends."""
        rows: dict[str, tuple[list[int], list[int], list[int]]] = {
            name: ([], [], []) for name in self._work.snapshot.free
        }
        for number, end in enumerate(self.ends):
            for taking in end.takings:
                for name, amount in taking.counters:
                    if name not in rows:
                        continue
                    numbers, hosts, amounts = rows[name]
                    numbers.append(number)
                    hosts.append(taking.host)
                    amounts.append(amount)
        return {
            name: (
                np.array(numbers, dtype=np.int64),
                np.array(hosts, dtype=np.int64),
                np.array(amounts, dtype=np.int64),
            )
            for name, (numbers, hosts, amounts) in rows.items()
        }

    def _named(self) -> list[tuple[End, Taking]]:
        """The endings that free instances or ports by name."""
        if self._by_name is None:
            self._by_name = [
                (end, one) for end in self.ends for one in end.takings if one.bits or one.ports
            ]
        return self._by_name

    def _ports_later(self, freed: dict[int, set[int]], kept: Kept) -> tuple[Ranges, ...]:
        ledger = self._work.ledger
        found = list(self._work.snapshot.free_ports)
        for host in sorted({*freed, *kept.ports, *ledger.hosts_with_held_ports()}):
            numbers = ledger.free_ports_of(host) | freed.get(host, set())
            numbers -= kept.ports.get(host, set())
            found[host] = tuple((number, number) for number in sorted(numbers))
        return tuple(found)


def _first_of(snapshot: Snapshot, name: str, where: int) -> int:
    return int(np.flatnonzero(snapshot.pools[name] == -1 - where)[0])


def _rows_of(snapshot: Snapshot, name: str, where: int) -> Column:
    if where >= 0:
        return np.array([where], dtype=np.int64)
    return np.flatnonzero(snapshot.pools[name] == -1 - where)


def _free_at(snapshot: Snapshot, ledger: Ledger, place: Place) -> int:
    name, where = place
    host = where if where >= 0 else _first_of(snapshot, name, where)
    return int(ledger.column(name)[host])

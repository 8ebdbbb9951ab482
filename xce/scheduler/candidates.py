"""Which hosts and instances may serve a class at all, before anything is counted.

`Workspace` is what one session works with: the snapshot, its ledger, and memos. Expressions over
static attributes are asked once per host table, of all hosts at once, and kept there; those that
name a counter or a reported value see what was free and known when the session began, and are
asked once per session. Where a value is both counted and reported, the worse of the two counts.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs

from xce.model.config.limits import is_named
from xce.model.host import Attribute, Instance
from xce.model.resources import Direction
from xce.resreq.parse import parse_select
from xce.scheduler.attributes import Rows, holding, names_of, rows_of
from xce.scheduler.ledger import Ledger, once
from xce.scheduler.sharing.limits import allowed_on_hosts
from xce.scheduler.snapshot import (
    HOST_LEVEL,
    USABLE,
    Ask,
    Column,
    HostTable,
    Mask,
    Observed,
    Snapshot,
    free_ranges,
)  # fmt: skip

Masks = tuple[int, ...]
TEXTS_MAX = 2000
WITHOUT_END = 1 << 60
"""How much there may be one day of what only reporters know."""


class Workspace:
    """One session's view: what is asked of it is answered from memos where possible."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.hosts: HostTable = snapshot.hosts
        self.ledger = Ledger(snapshot)
        self.usable, self.unusable = _standings(snapshot)
        self._current = {
            name: self._seen(name, snapshot.free.get(name))
            for name in (*snapshot.free, *(n for n in snapshot.observed if n not in snapshot.free))
        }
        self._selected: dict[str, Mask] = {}
        self._texts = _texts_for(snapshot)
        self._smallest: dict[str, int] = {}

    def smallest(self, counter: str) -> int:
        """The least of a counter that any host has free: for hosts on which nothing runs."""
        if counter not in self._smallest:
            column = self.ledger.column(counter)
            self._smallest[counter] = int(column.min()) if len(column) else 0
        return self._smallest[counter]

    def serving(self, queue: str) -> Mask | None:
        """The hosts that serve a queue; None where all do."""
        words = self.snapshot.queue_hosts.get(queue)
        if not words:
            return None
        key = ("serving", words)
        if key not in self.hosts.memo:
            named = [is_named(words, name) for name in self.hosts.names]
            self.hosts.memo[key] = np.array(named, dtype=bool)
        found: Mask = self.hosts.memo[key]
        return found

    def matching(self, select: str) -> Mask:
        """The hosts that match a select expression, whether they may be used now or not."""
        if not select:
            return np.ones(len(self.hosts.names), dtype=bool)
        if select not in self._selected:
            self._selected[select] = self._evaluate(select)
        return self._selected[select]

    def allowed(self, ask: Ask, select: str) -> Mask:
        """The hosts that match, may be used now, and are not to be avoided."""
        usable = self.usable
        if (
            ask.joins
            and ask.domain[0]
            and (ask.topology.exclusive or any(role.topology.exclusive for role in ask.roles))
        ):
            usable = usable | self.unusable.get("host_exclusive", np.zeros_like(usable))
        mask = self.matching(select) & usable & self.inside(ask.domain)
        for name in ask.avoid:
            if name in self.hosts.index:
                mask[self.hosts.index[name]] = False
        return mask

    def inside(self, domain: tuple[str, str]) -> Mask:
        """The hosts in a domain of a level; all where none is named."""
        level, name = domain
        if not level:
            return np.ones(len(self.hosts.names), dtype=bool)
        domains = self.hosts.names if level == HOST_LEVEL else self.hosts.domains[level]
        return np.array([one == name for one in domains], dtype=bool)

    def eligible(self, type_: str, select: str) -> Masks:
        """Per host, the instances of a type that match a select over their attributes."""
        key = ("eligible", type_, select)
        memo = self._texts
        if key not in memo:
            memo[key] = self._instances(type_, select)
        found: Masks = memo[key]
        return found

    @property
    def attributes(self) -> Sequence[Mapping[str, Attribute]]:
        """Host for host, what does not change while it stays registered."""
        return _static_attributes(self.snapshot).rows

    def kept(self, key: Hashable, made: Callable[[], Any]) -> Any:
        """What is figured once per host table from an expression that came from a user."""
        if key not in self._texts:
            self._texts[key] = made()
        return self._texts[key]

    def figure(self, name: str) -> tuple[Column, Mask]:
        """A resource's value on each host now, and where it is known: what order[] sorts by."""
        if ("count", name) in self.ledger.rows:
            return self.ledger.count(name), np.ones_like(self.usable)
        own = ("free", name) in self.ledger.rows
        if own or name in self.snapshot.observed:
            seen = self._seen(name, self.ledger.column(name) if own else None)
            return seen.values, seen.known
        column = _static_attributes(self.snapshot).columns.numbers.get(name)
        if column is None:
            return np.zeros(len(self.usable), dtype=np.int64), np.zeros_like(self.usable)
        return column.values, column.known

    def _seen(self, name: str, free: Column | None) -> Observed:
        """What is free and what was reported, as one column."""
        told = self.snapshot.observed.get(name)
        if told is None:
            values = self.ledger.column(name) if free is None else free
            return Observed(values=values, known=~self.silent(name))
        if free is None:
            return told
        type_ = self.snapshot.types.get(name)
        load = type_ is not None and type_.direction is Direction.INCREASING
        worse = np.where(load, told.values, np.minimum(free, told.values))
        return Observed(values=np.where(told.known, worse, free), known=~self.silent(name))

    def silent(self, name: str) -> Mask:
        """The hosts of which nobody tells how much of a counter there is."""
        return _silent(self.snapshot, name)

    def _instances(self, type_: str, select: str) -> Masks:
        none: Mapping[int, Instance] = {}
        by_host = self.hosts.instances.get(type_, (none,) * len(self.hosts.names))
        if not select:
            return tuple(sum(1 << number for number in row) for row in by_host)
        key = ("instances", type_)
        if key not in self._texts:
            attributes = [dict(each.attributes) for row in by_host for each in row.values()]
            self._texts[key] = rows_of(attributes, self.snapshot.types)
        found = holding(parse_select(select), self._texts[key], self.snapshot.types).tolist()
        answers = iter(found)
        return tuple(sum(1 << number for number in row if next(answers)) for row in by_host)

    def _evaluate(self, select: str) -> Mask:
        node = parse_select(select)
        types = self.snapshot.types
        current = {name: self._current[name] for name in names_of(node) if name in self._current}
        fixed = not current
        key = ("select", select)
        if fixed and key in self._texts:
            kept: Mask = self._texts[key]
            return kept
        mask = holding(node, _static_attributes(self.snapshot), types, current)
        if fixed:
            self._texts[key] = mask
        return mask


def _silent(snapshot: Snapshot, name: str) -> Mask:
    mask, told = snapshot.told.get(name), snapshot.observed.get(name)
    if mask is None:
        return np.zeros(len(snapshot.standing), dtype=bool)
    return mask if told is None else mask & ~told.known


def without_end(snapshot: Snapshot) -> dict[str, Column]:
    """The counters that only reporters know, on hosts as if nothing were held: what is told may
    be more any time."""
    nothing = np.zeros(len(snapshot.standing), dtype=np.int64)
    totals = snapshot.hosts.totals
    return {
        name: np.where(mask, WITHOUT_END, totals.get(name, nothing))
        for name, mask in snapshot.told.items()
    }


def _standings(snapshot: Snapshot) -> tuple[Mask, Mapping[str, Mask]]:
    """The hosts that may be used, and by cause those that may not; figured once while no standing
    changes."""

    def figured() -> tuple[Mask, Mapping[str, Mask]]:
        standing = np.array(snapshot.standing)
        causes = sorted(set(snapshot.standing) - {USABLE})
        unusable = {cause: standing == cause for cause in causes}
        return np.array([why == USABLE for why in snapshot.standing], dtype=bool), unusable

    found: tuple[Mask, Mapping[str, Mask]]
    found = once(snapshot, "standings", snapshot.standing, figured)
    return found


def _texts_for(snapshot: Snapshot) -> dict[Hashable, Any]:
    """What is kept of expressions, begun anew when it grew large or the types changed."""
    texts = snapshot.hosts.texts
    same = texts.get("types") is snapshot.types or texts.get("types") == snapshot.types
    if len(texts) > TEXTS_MAX or not same:
        texts.clear()
        texts["types"] = snapshot.types
    return texts


def _static_attributes(snapshot: Snapshot) -> Rows:
    """What a host says of itself, with LSF's names for what the inventory already tells."""
    memo = _texts_for(snapshot)
    if "attributes" not in memo:
        rows = [_row(snapshot, i) for i in range(len(snapshot.hosts.names))]
        memo["attributes"] = rows_of(rows, snapshot.types)
    made: Rows = memo["attributes"]
    return made


def _row(snapshot: Snapshot, host: int) -> dict[str, Attribute]:
    table = snapshot.hosts
    row: dict[str, Attribute] = {"hname": table.names[host]}
    for name, column in table.totals.items():
        row[f"max{name}"] = int(column[host])
    for type_, rows in table.instances.items():
        if f"n{type_}s" in snapshot.types:
            row[f"n{type_}s"] = len(rows[host])
    row.update(table.attributes[host])
    return row


def emptied(snapshot: Snapshot) -> Snapshot:
    """The same hosts as if all could be used and nothing ran on them."""
    hosts = snapshot.hosts
    if "emptied" not in hosts.memo:
        ports = tuple(free_ranges(own, ()) for own in hosts.ports)
        hosts.memo["emptied"] = ((USABLE,) * len(hosts.names), ports)
    standing, ports = hosts.memo["emptied"]
    return structs.replace(
        snapshot,
        standing=standing,
        free={
            **hosts.totals,
            **without_end(snapshot),
            **allowed_on_hosts(snapshot.host_bounds),
        },
        free_masks=hosts.all_masks(),
        free_counts={},
        free_ports=ports,
        pending=(),
        resumes=(),
    )

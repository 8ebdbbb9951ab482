"""Domains as windows: ordered hosts (and, below the host, bits) that may hold members.

A level coarser than the host groups hosts; a level below it groups instances of one host; the
host is a domain of its own. Domains are tried tightest first: fewest free instances of the asked
types, then fewest free slots, then name, counted over all hosts that may be used. Inside a window
hosts lie in topology order: sub-domains kept whole, roomiest first, level by level down to the
host; room is counted in members of the ask's largest role, then free instances, then slots.
`fewest` is the order that a `preferred` level falls back to: the fewest of its domains, the last
one the tightest that still holds the rest.

A host without a domain at an asked level is in no window of that level. Without a topology
request every level is tried as a wish, and such hosts may serve.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from xce.scheduler.fit.caps import Hosts
from xce.scheduler.snapshot import HOST_LEVEL, Column, HostTable, Mask

Ids = npt.NDArray[np.int64]


class Window(Struct, frozen=True, gc=False, kw_only=True):
    """Hosts in topology order; `restrict` limits the instance bits where the domain is part of a
    host. `name` is the domain's, "" for the whole cluster."""

    level: str = ""
    name: str = ""
    hosts: Hosts
    restrict: Mapping[str, int] | None = None

    @property
    def limits(self) -> tuple[Mapping[str, int], ...] | None:
        """The restriction, host for host; a restricted window has one host."""
        return None if self.restrict is None else (self.restrict,)


class RoleRoom(Struct, frozen=True, gc=False):
    """How many units of a role fit per host, and how many are needed together."""

    units: Column
    needed: int


class View(Struct, frozen=True, gc=False, kw_only=True):
    """The columns that order domains and hosts: room of the largest role, free instances of the
    asked types, free slots."""

    table: HostTable
    room: Column
    instances: Column
    slots: Column


def level_ids(table: HostTable, level: str) -> tuple[Ids, tuple[str, ...]]:
    """Each host's domain as a number (-1 = unknown), and the names in order."""
    key = ("ids", level)
    if key not in table.memo:
        names = sorted({name for name in table.domains[level] if name})
        index = {name: i for i, name in enumerate(names)}
        ids = np.array([index.get(name, -1) for name in table.domains[level]], dtype=np.int64)
        table.memo[key] = (ids, tuple(names))
    return cast("tuple[Ids, tuple[str, ...]]", table.memo[key])


def is_finer(table: HostTable, level: str) -> bool:
    """Whether the level's domains are sets of instances inside one host."""
    return level in table.finer()


def default_level(table: HostTable) -> str:
    """The level of compute units where none is named: the finest one above the host."""
    above = [level for level in table.levels if not is_finer(table, level) and level != HOST_LEVEL]
    return above[0] if above else HOST_LEVEL


def known(table: HostTable, level: str) -> Mask:
    """The hosts that have a domain at the level."""
    if not is_finer(table, level):
        return level_ids(table, level)[0] >= 0
    key = ("known", level)
    if key not in table.memo:
        mask = np.zeros(len(table.names), dtype=bool)
        mask[[host for host, _, _ in parts_of(table, level)]] = True
        table.memo[key] = mask
    return cast("Mask", table.memo[key])


def sums(ids: Ids, values: Column, size: int) -> Column:
    """The values added up per id; ids below zero are left out."""
    total = np.zeros(size, dtype=np.int64)
    inside = ids >= 0
    np.add.at(total, ids[inside], values[inside])
    return total


def tight(
    view: View, level: str, roles: Sequence[RoleRoom], within: Mask, *, inside: str = ""
) -> Iterator[Window]:
    """The level's domains that could hold every role, tightest first, each cut at the borders of
    the `inside` level where one is given."""
    table = view.table
    ids, names = level_ids(table, level)
    if inside and not is_finer(table, inside):
        ids, names = _crossed(ids, names, table, inside)
    size = len(names)
    serving = np.where(within, ids, -1)
    fits = sums(serving, np.ones(len(ids), dtype=np.int64), size) > 0
    for role in roles:
        fits &= sums(serving, role.units, size) >= role.needed
    keys = (np.arange(size), sums(ids, view.slots, size), sums(ids, view.instances, size))
    for domain in np.lexsort(keys).tolist():
        if fits[domain]:
            hosts = np.flatnonzero(serving == domain)
            yield Window(level=level, name=names[domain], hosts=laid_out(view, hosts, level))


def _crossed(
    ids: Ids, names: tuple[str, ...], table: HostTable, inside: str
) -> tuple[Ids, tuple[str, ...]]:
    """Domains cut at the borders of a coarser level; parts of unknown place are left out."""
    outer, outer_names = level_ids(table, inside)
    pairs = np.where((ids >= 0) & (outer >= 0), ids * max(1, len(outer_names)) + outer, -1)
    parts = sorted(set(pairs[pairs >= 0].tolist()))
    renamed = {pair: i for i, pair in enumerate(parts)}
    cut = np.array([renamed.get(pair, -1) for pair in pairs.tolist()], dtype=np.int64)
    return cut, tuple(names[pair // max(1, len(outer_names))] for pair in parts)


Part = tuple[int, str, Mapping[str, int]]


def parts_of(table: HostTable, level: str) -> tuple[Part, ...]:
    """The domains below the host, by host and name: (host, name, bits of each type in it)."""
    key = ("parts", level)
    if key not in table.memo:
        found: dict[tuple[int, str], dict[str, int]] = {}
        for type_, rows in table.instances.items():
            for host, row in enumerate(rows):
                for number, instance in row.items():
                    name = dict(instance.domains).get(level, "")
                    if name:
                        bits = found.setdefault((host, name), {})
                        bits[type_] = bits.get(type_, 0) | 1 << number
        table.memo[key] = tuple((host, name, found[host, name]) for host, name in sorted(found))
    return cast("tuple[Part, ...]", table.memo[key])


def laid_out(view: View, hosts: Hosts, level: str = "") -> Hosts:
    """The hosts in topology order below `level` ("" = from the coarsest level down)."""
    table = view.table
    levels = [name for name in table.levels if not is_finer(table, name) and name != HOST_LEVEL]
    if level in levels:
        levels = levels[: levels.index(level)]
    elif level == HOST_LEVEL:
        levels = []
    columns = (view.room[hosts], view.instances[hosts], view.slots[hosts])
    keys: list[npt.NDArray[np.int64]] = []
    for name in reversed(levels):
        keys.extend(_keys_at(level_ids(table, name)[0][hosts], columns))
    keys.extend((-columns[0], -columns[1], -columns[2], hosts.astype(np.int64)))
    return hosts[np.lexsort(tuple(reversed(keys)))]


def _keys_at(ids: Ids, columns: tuple[Column, ...]) -> list[npt.NDArray[np.int64]]:
    """Sort keys that keep each domain together, roomiest first; unknown ones stand alone, last."""
    size = int(ids.max(initial=-1)) + 1
    alone = ids < 0
    ids = np.where(alone, size + np.cumsum(alone), ids)
    total = int(ids.max(initial=-1)) + 1
    keys = [alone.astype(np.int64)]
    keys.extend(-sums(ids, column, total)[ids] for column in columns)
    return [*keys, ids]


def fewest(view: View, level: str, needed: int, window: Window) -> Window:
    """The window's hosts ordered so that few domains of `level` are used: roomiest first until
    the rest fits in one, then the tightest that holds it, then the others."""
    table = view.table
    if is_finer(table, level):
        hosts = window.hosts[known(table, level)[window.hosts]]
        ids, size = level_ids(table, HOST_LEVEL)[0][hosts], len(table.names)
    else:
        ids = level_ids(table, level)[0][window.hosts]
        hosts, ids = window.hosts[ids >= 0], ids[ids >= 0]
        size = len(level_ids(table, level)[1])
    room = sums(ids, view.room[hosts], size)
    instances = sums(ids, view.instances[hosts], size)
    slots = sums(ids, view.slots[hosts], size)
    left = sorted(set(ids.tolist()), key=lambda d: (-room[d], -instances[d], -slots[d], d))
    ordered: list[int] = []
    while left:
        holding = [d for d in left if room[d] >= needed > 0]
        best = left[0]
        if holding:
            best = min(holding, key=lambda d: (room[d], instances[d], slots[d], d))
        ordered.append(best)
        left.remove(best)
        needed -= int(room[best])
    inner = HOST_LEVEL if is_finer(table, level) else level
    parts = [laid_out(view, hosts[ids == domain], inner) for domain in ordered]
    joined = np.concatenate(parts) if parts else hosts
    return Window(level=window.level, name=window.name, hosts=joined, restrict=window.restrict)

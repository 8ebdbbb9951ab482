"""The hosts of a window as a requirement wants them: cut by same[], ordered by order[] and cu[].

same[] cuts a window into parts whose hosts agree on all the named values, in the order in which
they are met; a host that does not say is in none. order[] sorts hosts, the first key decides, and
hosts with an unknown value go last; equal hosts stay in topology order. Compute units are kept
together, in the order that cu[] prefers, with order[] inside them. Tile sizes (span[ptile]) are
read here, too, since they may depend on the host.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import structs

from xce.model.need import MAX_AVAIL, MIN_AVAIL, WHOLE, UnitNeed
from xce.model.resources import Kind
from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import Hosts
from xce.scheduler.fit.demand import SLOTS, MemberNeed, Shape
from xce.scheduler.place.topology import Ids, Window, default_level, level_ids, sums
from xce.scheduler.snapshot import Column, HostTable

UNKNOWN = -1


def narrowed(window: Window, hosts: Hosts) -> Window:
    """The window with these of its hosts."""
    return structs.replace(window, hosts=hosts)


def partitions(work: Workspace, need: MemberNeed, window: Window) -> Iterator[Window]:
    """The window, or its parts that agree on what same[] names."""
    if not need.part.same or need.shape is Shape.ONE_HOST:
        yield window
        return
    ids = same_ids(work, need.part.same)[window.hosts]
    for value in dict.fromkeys(ids.tolist()):
        if value != UNKNOWN:
            yield narrowed(window, window.hosts[ids == value])


def same_ids(work: Workspace, names: tuple[str, ...]) -> Ids:
    """Each host's combination of values as a number, UNKNOWN where one of them is not told."""

    def figure() -> Ids:
        seen: dict[tuple[object, ...], int] = {}
        found = []
        for host in range(len(work.hosts.names)):
            values = tuple(_value(work, host, name) for name in names)
            known = all(value is not None for value in values)
            found.append(seen.setdefault(values, len(seen)) if known else UNKNOWN)
        return np.array(found, dtype=np.int64)

    made: Ids = work.kept(("same", names), figure)
    return made


def _value(work: Workspace, host: int, name: str) -> object:
    """What a host says; a boolean that it does not list is false."""
    said = work.attributes[host].get(name)
    if said is not None:
        return said
    total = work.hosts.totals.get(name)
    if total is not None:
        return int(total[host])
    type_ = work.snapshot.types.get(name)
    return False if type_ is not None and type_.kind is Kind.BOOLEAN else None


def ranked(work: Workspace, need: MemberNeed, window: Window) -> Window:
    """The window's hosts in the order that order[] and cu[] ask for."""
    part, hosts = need.part, window.hosts
    if part.order:
        keys: list[Column] = []
        for name, direction in reversed(part.order):
            values, known = work.figure(name)
            keys.append(np.where(known, values, 0)[hosts] * direction)
            keys.append((~known)[hosts].astype(np.int64))
        hosts = hosts[np.lexsort(keys)]
    if part.units is not None:
        ids, rank = unit_ranks(work, part.units)
        hosts = hosts[ids[hosts] >= 0]
        hosts = hosts[np.argsort(rank[ids[hosts]], kind="stable")]
    return window if hosts is window.hosts else narrowed(window, hosts)


def unit_level(table: HostTable, need: UnitNeed) -> str:
    """The level of the compute units: the named one, else the cluster's default."""
    return need.level or default_level(table)


def unit_ranks(work: Workspace, need: UnitNeed) -> tuple[Ids, Column]:
    """Each host's unit, and each unit's rank: by configuration (name), or by free slots."""
    ids, names = level_ids(work.hosts, unit_level(work.hosts, need))
    if need.pref not in (MAX_AVAIL, MIN_AVAIL) or need.balance:
        return ids, np.arange(len(names))
    usable = np.where(work.usable, work.ledger.column(SLOTS), 0)
    free = sums(ids, usable, len(names))
    rank = np.empty(len(names), dtype=np.int64)
    rank[np.lexsort((np.arange(len(names)), -free if need.pref == MAX_AVAIL else free))] = (
        np.arange(len(names))
    )
    return ids, rank


def sizes_of(work: Workspace, need: MemberNeed, hosts: Hosts) -> list[int]:
    """The tasks of a tile on each host; 0 where it may have none."""
    if need.shape is not Shape.PTILE:
        return []
    part = need.part
    slots = work.hosts.totals.get(SLOTS)
    by_value = dict(part.tiles)
    found = []
    for host in hosts.tolist():
        size = by_value.get(str(work.attributes[host].get(part.tile_by, "")), part.ptile)
        if size == WHOLE:
            size = int(slots[host]) if slots is not None else 0
        found.append(size)
    return found


def untouched(work: Workspace, need: UnitNeed) -> Column:
    """1 for each host whose unit no job uses at all, for cu[excl]; else 0."""
    ids, size = exclusive_ids(work.hosts, need)
    taken = work.hosts.totals.get(SLOTS, work.ledger.column(SLOTS)) != work.ledger.column(SLOTS)
    used = sums(ids, taken.astype(np.int64), size) > 0
    # The last place is for hosts of no known unit: there may be no unit at all.
    return np.where(ids >= 0, ~np.append(used, True)[ids], False).astype(np.int64)


def exclusive_ids(table: HostTable, need: UnitNeed) -> tuple[Ids, int]:
    """The domains that cu[excl] keeps for one job, and how many there are."""
    level = need.exclusive if need.exclusive != "!" else unit_level(table, need)
    ids, names = level_ids(table, level)
    return ids, len(names)

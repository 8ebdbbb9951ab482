"""How many units fit on each of some hosts, as one column.

Exact for counters, for ports and for one kind of instance; an upper bound where several kinds
draw on the same instances (then picks.py decides). Whole columns are divided at once; a Python
loop over hosts runs only for instances that are selected by attribute or bound to a domain.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.cpus import cpu_room
from xce.scheduler.fit.demand import Item, Load
from xce.scheduler.fit.picks import groups_of, tiled
from xce.scheduler.snapshot import Column

UNBOUNDED = 1 << 40
Hosts = npt.NDArray[np.intp]
Restrict = Sequence[Mapping[str, int]] | None


def caps(work: Workspace, load: Load, hosts: Hosts, restrict: Restrict = None) -> Column:
    """Units of `load` that fit on each of `hosts`; `restrict` limits, host for host, the bits
    per type. A host may be named more than once, for different parts of it."""
    room = np.full(len(hosts), UNBOUNDED, dtype=np.int64)
    ledger = work.ledger
    fixed = dict(load.fixed)
    for name, amount in load.unit:
        room = np.minimum(room, (ledger.column(name)[hosts] - fixed.pop(name, 0)) // amount)
    for name, amount in fixed.items():
        room[ledger.column(name)[hosts] < amount] = 0
    if load.unit_ports or load.fixed_ports:
        room = _divided(room, ledger.ports[hosts], load.fixed_ports, load.unit_ports)
    if load.unit_items or load.fixed_items:
        room = _by_instances(work, load, hosts, restrict, room)
    if load.cpus is not None:
        room = np.minimum(room, cpu_room(work, load.cpus, hosts.tolist(), load.unit_tasks))
    return np.maximum(room, 0)


def tangled(load: Load) -> bool:
    """Whether several kinds of request draw on the same instances."""
    types = [item.type for item in (*load.unit_items, *load.fixed_items)]
    return len(types) > len(set(types))


def free_of(work: Workspace, item: Item, hosts: Hosts) -> Column:
    """How many instances each host could give to one request for `item`: those of its one best
    domain where the request names a level below the host."""
    if not item.select and item.same not in work.hosts.finer():
        return work.ledger.count(item.type)[hosts]
    eligible = work.eligible(item.type, item.select)
    found = []
    for host in hosts.tolist():
        free = work.ledger.mask(item.type, host) & eligible[host]
        parts = [free]
        if item.same in work.hosts.finer():
            level = work.hosts.finer().index(item.same)
            parts = [free & group for group in groups_of(work.hosts, item.type, host)[level]]
        found.append(max((part.bit_count() for part in parts), default=0))
    return np.array(found, dtype=np.int64)


def _divided(room: Column, free: Column, fixed: int, unit: int) -> Column:
    if unit:
        return np.minimum(room, (free - fixed) // unit)
    return np.where(free < fixed, 0, room)


def _by_instances(
    work: Workspace, load: Load, hosts: Hosts, restrict: Restrict, room: Column
) -> Column:
    for type_ in sorted({item.type for item in (*load.unit_items, *load.fixed_items)}):
        fixed = sum(item.count for item in load.fixed_items if item.type == type_)
        unit = sum(item.count for item in load.unit_items if item.type == type_)
        free = work.ledger.count(type_)[hosts]
        if restrict is not None:
            free = _selected(work, Item(type_, 1), hosts, restrict)
        room = _divided(room, free, fixed, unit)
    for item in load.unit_items:
        if item.select or item.same or item.tile > 0:
            room = np.minimum(room, _selected(work, item, hosts, restrict))
    for item in load.fixed_items:
        if item.select or item.same or item.tile > 0:
            room = np.where(_selected(work, item, hosts, restrict) < 1, 0, room)
    return room


def _selected(work: Workspace, item: Item, hosts: Hosts, restrict: Restrict) -> Column:
    """How often an item fits on each host when its select, domain and limits are heeded."""
    eligible = work.eligible(item.type, item.select)
    level = work.hosts.finer().index(item.same) if item.same in work.hosts.finer() else -1
    found = []
    for i, host in enumerate(hosts.tolist()):
        free = work.ledger.mask(item.type, host) & eligible[host]
        if restrict is not None:
            free &= restrict[i].get(item.type, 0)
        if item.tile > 0:
            free = tiled(work, item, host, free)
        if level < 0:
            found.append(free.bit_count() // item.count)
            continue
        groups = groups_of(work.hosts, item.type, host)[level]
        found.append(sum((free & group).bit_count() // item.count for group in groups))
    return np.array(found, dtype=np.int64)

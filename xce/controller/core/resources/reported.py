"""Counters that a host does not count itself: what there is of one is what a reporter said last.

As LSF's dynamic consumable resources: what the last tick told, less what our jobs reserve, is free
for the next one. A value that nobody told, or that went stale, is nothing. What a reporter says may
fall below what is reserved, since others use the thing too: then nothing is free, and nothing is
taken away.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from xce.model.config import TypeConfig
from xce.model.host import Host
from xce.model.resources import Direction, Layer, ResourceType, Scope, site_types
from xce.scheduler.snapshot import HostTable, Mask

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State

Declared = tuple[TypeConfig, ...]


@lru_cache(maxsize=16)
def reservable(declared: Declared) -> tuple[str, ...]:
    """The counters of hosts that reporters tell and that use takes away, sorted."""
    return tuple(sorted(name for name, one in site_types(declared).items() if _is_told(one)))


def _is_told(type_: ResourceType) -> bool:
    mine = type_.scope is Scope.HOST and type_.layer is Layer.COUNTER
    used = type_.consumable and type_.direction is not Direction.INCREASING
    return mine and used and type_.interval_us > 0


def counts(host: Host, name: str) -> bool:
    """Whether a host counts it itself."""
    return any(own == name for own, _ in host.facts.counters)


def told_names(state: "State") -> frozenset[str]:
    """Those that some host does not count itself; found anew when hosts or types changed."""
    index, seen = state.index, (state.index.inventory, state.config_lsn)
    if index.told[0] != seen:
        names = reservable(state.config.types)
        hosts = [host for host in state.hosts.values() if host.liveness != "GONE"]
        some = (name for name in names if not all(counts(host, name) for host in hosts))
        index.told = (seen, frozenset(some))
    return index.told[1]


def open_counters(table: HostTable, declared: Declared) -> dict[str, Mask]:
    """Per counter that reporters tell, the hosts that do not count it themselves."""
    found = {}
    for name in reservable(declared):
        if name not in table.totals:
            found[name] = np.ones(len(table.names), dtype=bool)
        elif table.lacking[name].any():
            found[name] = table.lacking[name]
    return found


def is_told(state: "State", host: str, name: str) -> bool:
    """Whether only a reporter tells how much of it a host has."""
    found = state.hosts.get(host)
    if name not in reservable(state.config.types) or found is None:
        return False
    return not counts(found, name)


def total_on(state: "State", host: str, name: str) -> int:
    """How much of a counter a host has: what it counts itself, or what was told of it last."""
    found = state.hosts[host]
    for own, total in found.facts.counters:
        if own == name:
            return total
    told = state.observed.get(host)
    if told is None or name not in reservable(state.config.types):
        return 0
    value = dict(told.values).get(name)
    return value if isinstance(value, int) else 0

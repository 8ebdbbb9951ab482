"""Pools: one amount of a shared type that several hosts see.

A host is in at most one pool of a type. What is held of a pool is an amount of a counter called
`TYPE@LABEL` on the host of its holder, so that it is given back with the holder's share, and the
holding names the pool. The free amount is the pool's total less all such holdings; a total that a
reporter gives and nobody knows is nothing. Pools and reported totals come with the state, nothing
else does.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import structs

from xce.model.config import PoolConfig
from xce.model.host import Observed
from xce.model.placing import Holding, Share

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State

MARK = "@"
ALL, OTHERS = "all", "others"
Pools = tuple[PoolConfig, ...]


def labelled(pools: Sequence[PoolConfig]) -> Pools:
    """The pools, each with a label: its number among those of its type where it has none."""
    counts: dict[str, int] = {}
    found = []
    for pool in pools:
        counts[pool.type] = counts.get(pool.type, 0) + 1
        found.append(pool if pool.label else structs.replace(pool, label=str(counts[pool.type])))
    return tuple(found)


def name_of(pool: PoolConfig) -> str:
    """What holdings of the pool call it."""
    return f"{pool.type}{MARK}{pool.label}"


def covering(pools: Sequence[PoolConfig], type_name: str, host: str) -> list[int]:
    """The places of the pools of a type that a host is in: good ones leave at most one."""
    mine = [(place, pool) for place, pool in enumerate(pools) if pool.type == type_name]
    named = [place for place, pool in mine if _named(pool, host)]
    if named:
        return named
    return [place for place, pool in mine if OTHERS in pool.hosts and f"~{host}" not in pool.hosts]


def _named(pool: PoolConfig, host: str) -> bool:
    return f"~{host}" not in pool.hosts and (host in pool.hosts or ALL in pool.hosts)


@lru_cache(maxsize=65_536)
def pools_of(pools: Pools, host: str) -> dict[str, PoolConfig]:
    """The pool of each type that a host is in; for reading only."""
    types = dict.fromkeys(pool.type for pool in pools)
    places = {type_name: covering(pools, type_name, host) for type_name in types}
    return {type_name: pools[found[0]] for type_name, found in places.items() if found}


def total_in(observed: Mapping[str, Observed], pool: PoolConfig) -> int | None:
    """How much there is: what was declared, or what was reported last; None is unknown."""
    if not pool.reported:
        return pool.amount
    told = observed.get(name_of(pool))
    value = dict(told.values).get(pool.type) if told is not None else None
    return value if isinstance(value, int) else None


def total_of(state: "State", pool: PoolConfig) -> int:
    """How much there is; what is unknown is nothing."""
    return total_in(state.observed, pool) or 0


def free_of(state: "State", pool: PoolConfig) -> int:
    """How much is free; never below nothing, though a total may shrink below what is held."""
    return max(0, total_of(state, pool) - state.index.pooled.get(name_of(pool), 0))


# -- holdings -------------------------------------------------------------------------------------


def pooled_share(pools: Pools, share: Share) -> Share:
    """A share with its amounts of shared types named by their pools."""
    counters = _named_by_pool(pools, share.host, share.counters)
    return share if counters == share.counters else structs.replace(share, counters=counters)


def pooled_holding(pools: Pools, holding: Holding) -> Holding:
    """A claim's holding, named by its pool where it is of a shared type."""
    if not holding.counter:
        return holding
    ((counter, _),) = _named_by_pool(pools, holding.host, ((holding.counter, 0),))
    return structs.replace(holding, counter=counter)


def _named_by_pool(
    pools: Pools, host: str, counters: tuple[tuple[str, int], ...]
) -> tuple[tuple[str, int], ...]:
    if not pools:
        return counters
    mine = pools_of(pools, host)
    if not any(name in mine for name, _ in counters):
        return counters
    return tuple(sorted((name_of(mine[name]) if name in mine else name, n) for name, n in counters))


def holders_of(state: "State", name: str) -> Iterator[str]:
    """Hosts on which something of the pool is held, in order."""
    for host, used in sorted(state.index.used.items()):
        if used.get(name):
            yield host

"""Resource types and pools declared at run time, and ticks: what of the world decisions may see.

The log wins over the file: what was declared at run time stays through later loads of the file,
also where the file says something else of that name; what of the file was taken away at run time
stays away until the file no longer names it, or it is declared again. A type that is in use is
not taken away, by a command or by a file, and keeps what it means.
"""

from typing import Any

from msgspec import structs

from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.resources.observed import moves, named_columns, taken_columns
from xce.controller.core.resources.pools import MARK, holders_of, labelled, name_of
from xce.controller.core.resources.rules import Fault, pool_faults, type_faults
from xce.controller.core.resources.uses import users_of
from xce.model.actor import ADMIN, SYSTEM, Actor
from xce.model.config import Config, PoolConfig, TypeConfig
from xce.model.records import ConfigChanged, Tick, TickOf
from xce.model.resources import ALIASES, BUILT_IN, site_types
from xce.model.units import nearest

Answer = tuple[dict[str, Any], dict[str, bytes]]
FILE, RUN = "file", "run"
LASTING = ("layer", "kind", "unit", "scale", "scope", "consumable", "draws_on")
"""What a type means: it does not change while the type is in use."""


# -- types ----------------------------------------------------------------------------------------


def add_type(draft: Draft, command: c.AddType) -> c.Rejection | Answer:
    """Declare a type, or change what was declared; the same again is nothing."""
    config = draft.state.config
    asked = command.type
    fault = next(type_faults(asked, config.levels), None)
    refused = _may(draft, command.actor) or (_refusal(fault) if fault is not None else None)
    if refused is not None:
        return refused
    old = _type_named(config, asked.name)
    if old is not None and _plain(old) == _plain(asked) and old.origin == RUN:
        return {"name": asked.name, "version": old.version, "changed": False}, {}
    if old is not None and _meaning(old) != _meaning(asked):
        users = users_of(draft.state, asked.name)
        if users:
            return _in_use(f"the type '{asked.name}' keeps what it means", users)
    made = structs.replace(asked, origin=RUN, version=draft.state.lsn + 1)
    types = (*(one for one in config.types if one.name != made.name), made)
    removed = tuple(name for name in config.types_removed if name != made.name)
    facts = ConfigChanged(what="type", name=made.name, type=made)
    _change(draft, facts, structs.replace(config, types=types, types_removed=removed))
    return {"name": made.name, "version": made.version, "changed": True}, {}


def remove_resource(draft: Draft, command: c.RemoveResource) -> c.Rejection | Answer:
    """Take a type or a pool away; what is in use stays, and who uses it is told."""
    refused = _may(draft, command.actor)
    if refused is not None:
        return refused
    if MARK in command.name:
        return _remove_pool(draft, command.name)
    state, name = draft.state, command.name
    old = _type_named(state.config, name)
    if old is None:
        return _no_type(state.config, name)
    users = users_of(state, name)
    if users:
        return _in_use(f"the type '{name}' is in use", users)
    config = state.config
    removed = config.types_removed
    if old.origin == FILE:
        removed = (*removed, name)
    types = tuple(one for one in config.types if one.name != name)
    facts = ConfigChanged(what="type", name=name)
    _change(draft, facts, structs.replace(config, types=types, types_removed=removed))
    return {"name": name, "removed": True}, {}


def _type_named(config: Config, name: str) -> TypeConfig | None:
    return next((one for one in config.types if one.name == name), None)


def _no_type(config: Config, name: str) -> c.Rejection:
    if name in BUILT_IN or name in ALIASES:
        return c.Rejection(code="conflict", message=f"the type '{name}' is built in; it stays")
    near = nearest(name, [one.name for one in config.types])
    hint = f"did you mean '{near}'?" if near else "`xcecli resources` lists them"
    return c.Rejection(code="not_found", message=f"{name[:80]}: No such resource type", hint=hint)


def _plain(config: TypeConfig) -> TypeConfig:
    return structs.replace(config, origin="", version=0)


def _meaning(config: TypeConfig) -> tuple[Any, ...]:
    return tuple(getattr(config, name) for name in LASTING)


# -- pools ----------------------------------------------------------------------------------------


def add_pool(draft: Draft, command: c.AddPool) -> c.Rejection | Answer:
    """Declare a pool of a shared type, or give one another amount or other hosts."""
    config = draft.state.config
    refused = _may(draft, command.actor)
    if refused is not None:
        return refused
    asked = command.pool
    if not asked.label:
        mine = [one for one in config.pools if one.type == asked.type]
        asked = structs.replace(asked, label=str(len(mine) + 1))
    made = structs.replace(asked, origin=RUN)
    name = name_of(made)
    old = next((one for one in config.pools if name_of(one) == name), None)
    if old == made:
        return {"name": name, "changed": False}, {}
    pools = (*(one for one in config.pools if name_of(one) != name), made)
    fault = next((one for _, one in pool_faults(pools, config.types)), None)
    if fault is not None:
        return _refusal(fault)
    if old is not None and old.hosts != made.hosts and draft.state.index.pooled.get(name):
        return _in_use(f"the pool {name} keeps its hosts", _holders(draft.state, name))
    _change(draft, ConfigChanged(what="pool", name=name, pool=made), _with_pools(config, pools))
    return {"name": name, "changed": True}, {}


def _remove_pool(draft: Draft, name: str) -> c.Rejection | Answer:
    config = draft.state.config
    old = next((one for one in config.pools if name_of(one) == name), None)
    if old is None:
        near = nearest(name, [name_of(one) for one in config.pools])
        hint = f"did you mean '{near}'?" if near else "`xcecli resources` lists them"
        return c.Rejection(code="not_found", message=f"{name[:80]}: No such pool", hint=hint)
    if old.origin == FILE:
        return c.Rejection(
            code="conflict",
            message=f"the pool {name} comes from the file",
            hint="take it out of xce.toml, or give it other hosts or another amount here",
        )
    if draft.state.index.pooled.get(name):
        return _in_use(f"the pool {name} is in use", _holders(draft.state, name))
    pools = tuple(one for one in config.pools if name_of(one) != name)
    _change(draft, ConfigChanged(what="pool", name=name), _with_pools(config, pools))
    return {"name": name, "removed": True}, {}


def _with_pools(config: Config, pools: tuple[PoolConfig, ...]) -> Config:
    return structs.replace(config, pools=pools)


def _holders(state: State, name: str) -> list[str]:
    return [f"work on host {host}" for host in holders_of(state, name)][:3]


# -- a file beside what was declared here ---------------------------------------------------------


def merged(state: State, file: Config, lsn: int) -> tuple[Config, list[str]]:
    """The file's configuration with what was declared at run time, and the names that the file
    would have taken away or changed and that stay because they are in use."""
    old = state.config
    named = {one.name for one in file.types}
    own = [one for one in old.types if one.origin == RUN]
    own_names = {one.name for one in own}
    removed = tuple(name for name in old.types_removed if name in named)
    before = {one.name: one for one in old.types if one.origin == FILE}
    types: list[TypeConfig] = []
    kept: list[str] = []
    for one in file.types:
        if one.name in removed or one.name in own_names:
            continue
        was = before.get(one.name)
        if was is not None and _meaning(was) != _meaning(one) and users_of(state, one.name):
            kept.append(one.name)
            types.append(was)
        else:
            same = was is not None and _plain(was) == _plain(one)
            types.append(structs.replace(one, version=was.version if same and was else lsn))
    for name, was in before.items():
        if name not in named and users_of(state, name):
            kept.append(name)
            types.append(was)
    return (
        structs.replace(
            file,
            types=(*types, *own),
            types_removed=removed,
            pools=_merged_pools(old, file),
        ),
        sorted(kept),
    )


def _merged_pools(old: Config, file: Config) -> tuple[PoolConfig, ...]:
    own = [one for one in old.pools if one.origin == RUN]
    names = {name_of(one) for one in own}
    return (*(one for one in labelled(file.pools) if name_of(one) not in names), *own)


# -- refusals and the record ----------------------------------------------------------------------


def _may(draft: Draft, actor: Actor) -> c.Rejection | None:
    if actor.kind not in (ADMIN, SYSTEM):
        said = "only an administrator may declare resources"
        return c.Rejection(code="not_allowed", message=said)
    if "config" not in draft.state.tables["setting"]:
        return c.Rejection(code="conflict", message="no configuration is in force yet")
    return None


def _refusal(fault: Fault) -> c.Rejection:
    return c.Rejection(code="invalid", message=fault.message, field=fault.field, hint=fault.hint)


def _in_use(what: str, users: list[str]) -> c.Rejection:
    return c.Rejection(code="conflict", message=f"{what}: used by {', '.join(users)}")


def _change(draft: Draft, facts: ConfigChanged, config: Config) -> None:
    lsn = draft.open(facts, [f"resource:{facts.name}"])
    draft.patch("setting", "config", lsn=lsn, config=config)


# -- ticks ----------------------------------------------------------------------------------------


def take_tick(draft: Draft, command: c.TakeTick) -> c.Rejection | Answer:
    """Write down what somebody looks at and what moved; nothing where nothing did."""
    if command.actor.kind != SYSTEM:
        return c.Rejection(code="not_allowed", message="ticks are the controller's")
    state = draft.state
    types = dict(site_types(state.config.types))
    columns = named_columns(state)
    pools = {name_of(pool): pool.type for pool in state.config.pools if pool.reported}
    place = {name: i for i, name in enumerate(dict.fromkeys((*columns, *pools.values())))}
    taken = taken_columns(state)
    changes = []
    for sample in command.samples:
        own = {pools[sample.of]} if sample.of in pools else None
        wanted = _looked_at(state, sample.of, columns) if own is None else own
        known = state.observed.get(sample.of)
        told = tuple(pair for pair in sample.values if pair[0] in wanted)
        moved = moves(known.values if known else (), told, types, taken if own is None else own)
        if moved:
            found = tuple((place[name], value) for name, value in moved)
            changes.append(TickOf(of=sample.of, moves=found))
    held = {name for one in state.observed.values() for name, _ in one.values}
    dropped = tuple(sorted(name for name in held if name not in place))
    if changes or dropped:
        facts = Tick(columns=tuple(place), changes=tuple(changes), dropped=dropped)
        draft.open(facts, [])
    return {"changed": len(changes)}, {}


def _looked_at(state: State, host: str, columns: tuple[str, ...]) -> set[str]:
    """The columns that ticks carry for a host: not what it counts itself, but for the policy."""
    found, observe = state.hosts.get(host), state.config.observe
    own = {name for name, _ in found.facts.counters} if found is not None else set()
    return {name for name in columns if name in observe or name not in own}

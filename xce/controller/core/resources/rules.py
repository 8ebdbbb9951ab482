"""What a declared resource type or pool must be like, wherever it was declared.

The reader of `xce.toml` and the commands at run time ask the same functions, so that a type is
good or bad for one reason only. Each fault names its field as the file spells it, says what was
expected, and hints at the likely cure.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from xce.controller.core.resources.pools import ALL, OTHERS, covering
from xce.model.config import PoolConfig, TypeConfig
from xce.model.resources import ALIASES, BUILT_IN, BYTES, THOUSANDTHS, Direction, Kind, Layer, Scope
from xce.model.units import nearest

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,28}\Z")
LABEL = re.compile(r"[A-Za-z0-9_.-]{1,40}\Z")
_KINDS = {
    Layer.ATTRIBUTE: (Kind.BOOLEAN, Kind.STRING, Kind.NUMBER),
    Layer.COUNTER: (Kind.NUMBER,),
    Layer.INSTANCE: (Kind.INSTANCE, Kind.INTERVAL),
}
_WORDS = (("layer", Layer), ("kind", Kind), ("scope", Scope), ("direction", Direction))


class Fault(Struct, frozen=True, gc=False):
    """One thing that is wrong with a declaration."""

    field: str
    message: str
    hint: str = ""


def type_faults(config: TypeConfig, levels: Collection[str]) -> Iterator[Fault]:
    """All that is wrong with a type."""
    if config.name in BUILT_IN or config.name in ALIASES:
        yield Fault("name", f"the type '{config.name}' is built in")
    elif not NAME.match(config.name):
        said = f"{config.name[:40]!r} cannot name a type: 29 letters, digits and _, no digit first"
        yield Fault("name", said, _plain_name(config.name))
    misspelt = list(_misspelt(config))
    yield from misspelt
    if misspelt:
        return
    layer, kind = Layer(config.layer), Kind(config.kind)
    if kind not in _KINDS[layer]:
        allowed = " or ".join(_KINDS[layer])
        yield Fault("kind", f"kind: a type of layer {layer} is of kind {allowed}, not {kind}")
    yield from _amounts(config, layer)
    if config.level and config.level not in levels:
        hint = f"levels are {', '.join(levels)}"
        yield Fault("level", f"there is no level '{config.level}'", hint)
    if config.hosts and config.scope != Scope.SHARED:
        yield Fault("hosts", "hosts: only a type of scope shared is seen by some hosts alone")


def _misspelt(config: TypeConfig) -> Iterator[Fault]:
    for name, words in _WORDS:
        value = getattr(config, name)
        if value not in tuple(words) and not (name == "direction" and not value):
            near = nearest(value, words)
            said = f"{name}: expected {' or '.join(words)}"
            yield Fault(name, said, f"did you mean '{near}'?" if near else "")


def _amounts(config: TypeConfig, layer: Layer) -> Iterator[Fault]:
    if config.unit not in ("", BYTES):
        yield Fault(
            "unit", f"unit: expected '{BYTES}' for sizes, or nothing", "say it in description"
        )
    if not 0 <= config.scale <= THOUSANDTHS * THOUSANDTHS:
        yield Fault("scale", "scale: expected 1 to 1000000")
    elif config.unit == BYTES and config.scale > 1:
        yield Fault("scale", "scale: sizes are whole bytes")
    if config.sharing < 1:
        yield Fault("sharing", "sharing: expected a number from 1 on")
    elif config.sharing > 1 and layer is not Layer.INSTANCE:
        yield Fault("sharing", "sharing: only instances are shared")
    if config.ttl_us and not config.interval_us:
        yield Fault("ttl", "ttl: a value that is never reported does not go stale", "say interval")
    if config.provision and not config.provider:
        yield Fault("provision", "provision: a provider must make it usable", "say provider")
    if config.draws_on == config.name:
        yield Fault("draws_on", "draws_on: a type cannot draw on itself")


def _plain_name(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[:28]
    plain = f"_{plain}" if plain[:1].isdigit() else plain
    return f"call it {plain}" if plain else ""


def pool_faults(
    pools: Sequence[PoolConfig], types: Collection[TypeConfig]
) -> Iterator[tuple[int, Fault]]:
    """All that is wrong with pools, each with the pool's place in the list; labels are given."""
    shared = {one.name: one.scope == Scope.SHARED for one in types}
    silent = {one.name for one in types if not one.interval_us}
    seen: dict[tuple[str, str], int] = {}
    for index, pool in enumerate(pools):
        if pool.type not in shared:
            near = nearest(pool.type, shared)
            hint = f"did you mean '{near}'?" if near else "declare it with scope shared"
            yield index, Fault("type", f"there is no shared type '{pool.type}'", hint)
        elif not shared[pool.type]:
            said = f"the type '{pool.type}' is of scope host: its amounts are the hosts' own"
            yield index, Fault("type", said, "declare it with scope shared")
        if pool.label and not LABEL.match(pool.label):
            yield (
                index,
                Fault("label", f"label: {pool.label[:40]!r} is no label", "letters and digits"),
            )
        if seen.setdefault((pool.type, pool.label), index) != index:
            said = f"there is a pool '{pool.label}' of {pool.type} already"
            yield index, Fault("label", said)
        if pool.reported and pool.type in silent:
            said = f"reported: nobody reports the type '{pool.type}'"
            yield index, Fault("reported", said, "give the type an interval")
        if pool.reported and pool.amount:
            yield index, Fault("amount", "amount: a reporter gives it", "leave one of the two out")
        if not pool.hosts:
            yield index, Fault("hosts", "hosts: which hosts see the pool?", "all, others or names")
    yield from _overlaps(pools)


def _overlaps(pools: Sequence[PoolConfig]) -> Iterator[tuple[int, Fault]]:
    """A host is in one pool of a type at most; a name that nobody named stands for the rest."""
    words = [word.removeprefix("~") for pool in pools for word in pool.hosts]
    names = [*dict.fromkeys(word for word in words if word not in (ALL, OTHERS)), ""]
    told: dict[int, None] = {}
    for type_ in dict.fromkeys(pool.type for pool in pools):
        for name in names:
            found = covering(pools, type_, name)
            if len(found) > 1 and found[1] not in told:
                told[found[1]] = None
                whom = f"host {name} is" if name else "hosts are"
                said = f"{whom} in two pools of {type_}"
                yield found[1], Fault("hosts", said, "take it out of one with ~NAME")

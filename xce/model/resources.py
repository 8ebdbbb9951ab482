"""Resource types as descriptors, the built-in ones, and the resolved form of a requirement.

A type says everything that parser, scheduler and agents need to know of a thing that can be
asked for; nothing is special-cased by name anywhere else. LSF's names are built in; a site adds
its own, and the mapping of all types is handed to whoever needs it. Amounts are integers in the
type's base unit: bytes for sizes, 1/`scale` of one for other numbers (`scale` is 1 unless the
type is a fraction such as `ut` or `cpuf`, which count thousandths). A value that was not
reported for longer than `ttl_us` is unknown, never free.

What a resreq comes down to is in need.py. This module holds data only: it parses and checks
nothing.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct

from xce.model.config import TypeConfig

SECOND_US = 1_000_000
THOUSANDTHS = 1000


class Layer(StrEnum):
    """What kind of right a request for the type needs."""

    ATTRIBUTE = "attribute"
    COUNTER = "counter"
    INSTANCE = "instance"


class Kind(StrEnum):
    """What a value of the type looks like."""

    BOOLEAN = "boolean"
    STRING = "string"
    NUMBER = "number"
    INSTANCE = "instance"
    INTERVAL = "interval"


class Direction(StrEnum):
    """Whether a growing value means more load (`increasing`) or more room (`decreasing`)."""

    NONE = "none"
    INCREASING = "increasing"
    DECREASING = "decreasing"


class Scope(StrEnum):
    """One amount per host, or one pool that several hosts share."""

    HOST = "host"
    SHARED = "shared"


BYTES = "bytes"


class ResourceType(Struct, frozen=True, gc=False, kw_only=True):
    """A descriptor of something that can be asked for.

    `hosts` are those that see a shared type (empty: all). `interval_us` 0 means static;
    `ttl_us` 0 means that a value does not go stale. `stands_for` names the instance type that
    an amount of this counter asks for (`ngpus_physical=2` asks for two of `gpu`); `draws_on`
    names the counter that an amount of this type is taken from.
    """

    name: str
    layer: Layer = Layer.COUNTER
    kind: Kind = Kind.NUMBER
    unit: str = ""
    scale: int = 1
    direction: Direction = Direction.NONE
    scope: Scope = Scope.HOST
    hosts: tuple[str, ...] = ()
    consumable: bool = False
    release_on_suspend: bool = True
    interval_us: int = 0
    ttl_us: int = 0
    provider: str = ""
    provision: bool = False
    sharing: int = 1
    level: str = ""
    stands_for: str = ""
    draws_on: str = ""
    description: str = ""


# Other names for built-in types; a requirement is resolved to the name on the right.
ALIASES: Mapping[str, str] = MappingProxyType(
    {"login": "ls", "swap": "swp", "idle": "it", "cpu": "r1m"}
)

# Values that LSF gives a meaning of its own: `any` is every value, `local` that of the submitter.
SPECIAL_VALUES: Mapping[str, frozenset[str]] = MappingProxyType(
    {"type": frozenset({"any", "local"}), "model": frozenset({"any", "local"})}
)


def _load(
    name: str, direction: Direction, every_s: int, about: str, **rest: object
) -> ResourceType:
    """A load index: reported at an interval, unknown after three missed reports."""
    fields: dict[str, object] = {
        "layer": Layer.COUNTER,
        "kind": Kind.NUMBER,
        "interval_us": every_s * SECOND_US,
        "ttl_us": 3 * every_s * SECOND_US,
        "direction": direction,
        "consumable": True,
        "provider": "host",
        "description": about,
    }
    return ResourceType(name=name, **{**fields, **rest})  # type: ignore[arg-type]


def _fact(name: str, kind: Kind, about: str, **rest: object) -> ResourceType:
    """An attribute of a host: known from its registration on, never consumed."""
    fields: dict[str, object] = {"layer": Layer.ATTRIBUTE, "kind": kind, "description": about}
    return ResourceType(name=name, **{**fields, **rest})  # type: ignore[arg-type]


_INC, _DEC = Direction.INCREASING, Direction.DECREASING

_LOAD = (
    _load("r15s", _INC, 15, "run queue length, 15 s average", scale=THOUSANDTHS),
    _load("r1m", _INC, 15, "run queue length, 1 min average", scale=THOUSANDTHS),
    _load("r15m", _INC, 15, "run queue length, 15 min average", scale=THOUSANDTHS),
    _load("ut", _INC, 15, "CPU use as a fraction", scale=THOUSANDTHS),
    _load("pg", _INC, 15, "pages moved per second", scale=THOUSANDTHS),
    _load("io", _INC, 15, "disk KB per second", scale=THOUSANDTHS),
    _load("ls", _INC, 30, "users logged in"),
    _load("it", _DEC, 30, "idle minutes"),
    _load("tmp", _DEC, 120, "space free in /tmp", unit=BYTES, release_on_suspend=False),
    _load("swp", _DEC, 15, "swap space free", unit=BYTES, release_on_suspend=False),
    _load("mem", _DEC, 15, "memory free", unit=BYTES, release_on_suspend=False),
)

_FACTS = (
    _fact("type", Kind.STRING, "host type"),
    _fact("model", Kind.STRING, "host model"),
    _fact("hname", Kind.STRING, "host name"),
    _fact("status", Kind.STRING, "host status", interval_us=15 * SECOND_US),
    _fact("ncpus", Kind.NUMBER, "processors", direction=_DEC),
    _fact("nprocs", Kind.NUMBER, "processor sockets", direction=_DEC),
    _fact("ncores", Kind.NUMBER, "cores per socket", direction=_DEC),
    _fact("nthreads", Kind.NUMBER, "threads per core", direction=_DEC),
    _fact("ndisks", Kind.NUMBER, "local disks", direction=_DEC),
    _fact("maxmem", Kind.NUMBER, "memory", unit=BYTES, direction=_DEC),
    _fact("maxswp", Kind.NUMBER, "swap space", unit=BYTES, direction=_DEC),
    _fact("maxtmp", Kind.NUMBER, "space in /tmp", unit=BYTES, direction=_DEC),
    _fact("cpuf", Kind.NUMBER, "CPU factor", scale=THOUSANDTHS, direction=_DEC),
    _fact("rexpri", Kind.NUMBER, "remote execution priority"),
    _fact("server", Kind.BOOLEAN, "takes jobs"),
    _fact("define_ncpus_procs", Kind.BOOLEAN, "ncpus counts sockets"),
    _fact("define_ncpus_cores", Kind.BOOLEAN, "ncpus counts cores"),
    _fact("define_ncpus_threads", Kind.BOOLEAN, "ncpus counts threads"),
    _fact("maxslots", Kind.NUMBER, "job slots", direction=_DEC),
    _fact("ngpus", Kind.NUMBER, "GPUs", direction=_DEC),
    _fact("gpu_driver", Kind.STRING, "GPU driver version"),
)


def _gpu_count(name: str, about: str) -> ResourceType:
    return ResourceType(
        name=name,
        direction=_DEC,
        consumable=True,
        release_on_suspend=False,
        stands_for="gpu",
        description=about,
    )


# A stopped process keeps its memory, files, GPUs and ports; what it gives back are slots.
_COUNTED = (
    ResourceType(
        name="slots", direction=_DEC, consumable=True, description="free job slots; a task takes 1"
    ),
    ResourceType(
        name="scratch",
        unit=BYTES,
        direction=_DEC,
        consumable=True,
        release_on_suspend=False,
        description="scratch space",
    ),
    ResourceType(
        name="directory",
        unit=BYTES,
        consumable=True,
        release_on_suspend=False,
        provider="directory",
        provision=True,
        draws_on="scratch",
        description="a directory with an amount of scratch space",
    ),
    ResourceType(
        name="gpu",
        layer=Layer.INSTANCE,
        kind=Kind.INSTANCE,
        direction=_DEC,
        consumable=True,
        release_on_suspend=False,
        provider="nvml",
        description="a GPU",
    ),
    _gpu_count("ngpus_physical", "whole GPUs"),
    _gpu_count("ngpus_excl_p", "GPUs in exclusive process mode"),
    _gpu_count("ngpus_excl_t", "GPUs in exclusive thread mode"),
    ResourceType(
        name="port",
        layer=Layer.INSTANCE,
        kind=Kind.INTERVAL,
        consumable=True,
        release_on_suspend=False,
        provider="port",
        provision=True,
        description="a TCP port of the host's range",
    ),
)

BUILT_IN: Mapping[str, ResourceType] = MappingProxyType(
    {type_.name: type_ for type_ in (*_LOAD, *_FACTS, *_COUNTED)}
)
UNDECLARED = ("static", "exec")
"""What a claim may be of although no type is declared: it holds nothing, its provider is all."""


@lru_cache(maxsize=16)
def site_types(declared: tuple[TypeConfig, ...]) -> Mapping[str, ResourceType]:
    """The built-in types and those a site declares; a site's own goes before a built-in one."""
    if not declared:
        return BUILT_IN
    own = {config.name: _declared(config) for config in declared}
    return MappingProxyType({**BUILT_IN, **own})


def _declared(config: TypeConfig) -> ResourceType:
    """What is used up is the better the more there is of it; else it has no direction. What is
    reported is unknown after three missed reports."""
    layer = Layer(config.layer)
    consumable = config.consumable and layer is not Layer.ATTRIBUTE
    derived = _DEC if consumable else Direction.NONE
    return ResourceType(
        name=config.name,
        layer=layer,
        kind=Kind(config.kind),
        unit=config.unit,
        scale=max(config.scale, 1),
        direction=Direction(config.direction) if config.direction else derived,
        scope=Scope(config.scope),
        hosts=config.hosts,
        consumable=consumable,
        release_on_suspend=config.release_on_suspend,
        interval_us=config.interval_us,
        ttl_us=config.ttl_us or 3 * config.interval_us,
        provider=config.provider,
        provision=config.provision,
        sharing=config.sharing,
        level=config.level,
        draws_on=config.draws_on,
        description=config.description,
    )

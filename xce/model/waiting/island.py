"""Islands that are published: offers that are taken whole, and what is asked of them."""

from msgspec import Struct

from xce.model.host import Attribute, Instance

LEAST_LOADED, PACK, BAND, LOWEST_ID = "least_loaded", "pack", "load_band", "lowest_id"


class IslandFacts(Struct, frozen=True, gc=False, kw_only=True):
    """What was published of an island. `load` is in thousandths, `has` are its capabilities."""

    tags: tuple[str, ...] = ()
    region: str = ""
    units: int = 0
    load: int = 0
    p50_latency_us: int = 0
    has: tuple[str, ...] = ()


class Criteria(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """What is asked of islands; nothing asked is no constraint. All of `tags_all` and
    `require_all`, one of `tags_any`, of each of `tag_groups_all` and of `require_any`; at most
    `max_load` thousandths (-1: any). What has more of `prefer` ranks ahead. `selection` is
    least_loaded, pack, load_band:TARGET or lowest_id; equals are ordered by name."""

    tags_all: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    tag_groups_all: tuple[tuple[str, ...], ...] = ()
    region: str = ""
    min_units: int = 0
    max_load: int = -1
    max_p50_latency_us: int = 0
    require_all: tuple[str, ...] = ()
    require_any: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    selection: str = LEAST_LOADED


def attributes_of(facts: IslandFacts) -> tuple[tuple[str, Attribute], ...]:
    """What an island is, as attributes of an instance; lists are words."""
    found: dict[str, Attribute] = {
        "has": " ".join(facts.has),
        "load": facts.load,
        "p50_latency_us": facts.p50_latency_us,
        "region": facts.region,
        "tags": " ".join(facts.tags),
        "units": facts.units,
    }
    return tuple(sorted(found.items()))


def facts_of(island: Instance) -> IslandFacts:
    """What was published, from the instance's attributes."""
    told = dict(island.attributes)
    return IslandFacts(
        tags=tuple(str(told["tags"]).split()),
        region=str(told["region"]),
        units=int(told["units"]),
        load=int(told["load"]),
        p50_latency_us=int(told["p50_latency_us"]),
        has=tuple(str(told["has"]).split()),
    )

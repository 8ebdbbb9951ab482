"""Which reported values decisions look at, and which of them moved enough to be written down.

Only columns that a queue, an application profile, a policy or waiting work names are carried by
ticks; where nothing is named there are none. What hosts have as counters is known without
reports, so that only the policy makes ticks carry it. A value is told again when it left the dead
band around the one that the state has, and told as unknown when it went stale: what the state has
is what is known.
"""

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from xce.controller.core.fold.state import State
from xce.controller.core.resources.uses import words_of
from xce.dispatch.observe import Value, moved
from xce.model.need import Part
from xce.model.resources import ALIASES, ResourceType, site_types
from xce.resreq.errors import ResreqError
from xce.resreq.parse import COMPAT, parse

Values = tuple[tuple[str, Value], ...]
Moves = tuple[tuple[str, Value | None], ...]
_NAMING = ("select", "order")


def is_reported(type_: ResourceType | None) -> bool:
    """Whether values of the type come from reporters and change."""
    return type_ is not None and type_.interval_us > 0


def named_columns(state: State) -> tuple[str, ...]:
    """The reported types that somebody looks at, sorted."""
    config = state.config
    words = dict.fromkeys(config.observe)
    levels = (
        *(queue.default_resreq for queue in config.queues),
        *(application.resreq for application in config.applications),
    )
    for text in levels:
        words.update(dict.fromkeys(_named_by_text(text)))
    for spec in state.index.waiting_specs:
        words.update(dict.fromkeys(_named_by_need(state.specs[spec].need)))
    types = site_types(config.types)
    counted = _counted(state)
    own = (ALIASES.get(word, word) if word not in types else word for word in words)
    named = (name for name in own if name in config.observe or name not in counted)
    return tuple(sorted(dict.fromkeys(name for name in named if is_reported(types.get(name)))))


def _counted(state: State) -> dict[str, None]:
    """What hosts have as counters: of those a session knows what is free without any report."""
    facts = (host.facts for host in state.hosts.values() if host.liveness != "GONE")
    return dict.fromkeys(name for one in facts for name, _ in one.counters)


@lru_cache(maxsize=1024)
def _named_by_text(text: str) -> tuple[str, ...]:
    """The words of a requirement's select and order sections."""
    if not text.strip():
        return ()
    try:
        made = parse(text, mode=COMPAT).tree
    except ResreqError:
        return ()
    return tuple(_naming(made))


@lru_cache(maxsize=65_536)
def _named_by_need(need: Part) -> tuple[str, ...]:
    return tuple(_naming(need))


def _naming(value: object) -> list[str]:
    """Words of the fields that name what is looked at, not of what is reserved."""
    found: list[str] = []
    if isinstance(value, tuple):
        for part in value:
            found += _naming(part)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            inner = getattr(value, name)
            found += words_of(inner) if name in _NAMING else _naming(inner)
    return found


def moves(
    known: Values, told: Moves, types: Mapping[str, ResourceType], *, exact: bool = False
) -> Moves:
    """What of `told` differs from what is known by more than the dead band, or, `exact`, at all;
    None is unknown."""
    before = dict(known)
    found = []
    for name, value in told:
        old = before.get(name)
        if value == old:
            continue
        if value is None or old is None or exact or moved(types[name], old, value):
            found.append((name, value))
    return tuple(found)

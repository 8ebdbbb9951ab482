"""Which reported values decisions look at, and which of them moved enough to be written down.

Only columns that a queue, an application profile, a policy or waiting work names are carried by
ticks; where nothing is named there are none. What a host has as a counter is known without
reports, so that only the policy makes ticks carry it for that host. A value is told again when it
left the dead band around the one that the state has, and told as unknown when it went stale: what
the state has is what is known. What is to be reserved is told whenever it differs.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from xce.controller.core.fold.state import State
from xce.controller.core.resources.reported import reservable
from xce.controller.core.resources.uses import words_of
from xce.dispatch.observe import Value, moved
from xce.model.job import ClaimTemplate
from xce.model.need import Part
from xce.model.resources import ALIASES, ResourceType, site_types
from xce.model.waiting.claim import ClaimRequest
from xce.resreq.errors import ResreqError
from xce.resreq.parse import COMPAT, parse

Values = tuple[tuple[str, Value], ...]
Moves = tuple[tuple[str, Value | None], ...]
_NAMING = ("select", "order")
_TAKING = ("per_task", "per_host", "per_job")


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
    for number in state.index.claims.waiting:
        requests = state.claims[number].requests
        words.update(dict.fromkeys(word for one in requests for word in words_of(one.select)))
    types = site_types(config.types)
    own = (ALIASES.get(word, word) if word not in types else word for word in words)
    named = dict.fromkeys((*own, *taken_columns(state)))
    told = [name for name in named if is_reported(types.get(name))]
    counted = _counted_everywhere(state, told) if told else ()
    return tuple(sorted(one for one in told if one in config.observe or one not in counted))


def _counted_everywhere(state: State, names: list[str]) -> set[str]:
    """Which of these all hosts have as counters: a session knows what is free of them."""
    left = set(names)
    for host in state.hosts.values():
        if not left:
            break
        if host.liveness != "GONE":
            left &= {name for name, _ in host.facts.counters}
    return left if state.hosts else set()


def taken_columns(state: State) -> set[str]:
    """The reported types of which waiting work, or work that is to go on, is to get some."""
    found: set[str] = set()
    for key in state.index.waiting_specs:
        spec = state.specs[key]
        found.update(_taken_by_need(spec.need))
        found.update(_claimed(state, spec.claims))
    for gang in state.group_specs.values():
        found.update(_claimed(state, gang.claims))
        for role in gang.roles:
            found.update(_claimed(state, role.claims))
    for number in state.index.claims.waiting:
        found.update(_claimed(state, state.claims[number].requests))
    found.update(_lent(state))
    return found & set(reservable(state.config.types))


def _lent(state: State) -> Iterator[str]:
    """The counters that suspended work needs back to go on."""
    for group, job in state.index.resuming:
        members: Iterable[int] = state.groups[group].members() if group else (job,)
        for member in members:
            allocation = state.allocations.get(state.jobs[member].allocation)
            lent = allocation.lent if allocation is not None else ()
            yield from (name for share in lent for name, _ in share.counters)


@lru_cache(maxsize=65_536)
def _taken_by_need(need: Part) -> frozenset[str]:
    """Words of the fields that say what is reserved, of all terms and alternatives."""
    return frozenset(_fields(need, _TAKING))


def _claimed(state: State, claims: Sequence[ClaimTemplate | ClaimRequest]) -> Iterator[str]:
    """The counters that claims draw on."""
    types = site_types(state.config.types) if claims else {}
    for claim in claims:
        type_ = types.get(claim.type)
        yield (type_.draws_on if type_ is not None else "") or claim.type


@lru_cache(maxsize=1024)
def _named_by_text(text: str) -> tuple[str, ...]:
    """The words of a requirement's select and order sections."""
    if not text.strip():
        return ()
    try:
        made = parse(text, mode=COMPAT).tree
    except ResreqError:
        return ()
    return tuple(_fields(made, _NAMING))


@lru_cache(maxsize=65_536)
def _named_by_need(need: Part) -> tuple[str, ...]:
    return tuple(_fields(need, _NAMING))


def _fields(value: object, wanted: tuple[str, ...]) -> list[str]:
    """Words of the fields of these names, however deep."""
    found: list[str] = []
    if isinstance(value, tuple):
        for part in value:
            found += _fields(part, wanted)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            inner = getattr(value, name)
            found += words_of(inner) if name in wanted else _fields(inner, wanted)
    return found


def moves(
    known: Values, told: Moves, types: Mapping[str, ResourceType], exact: Collection[str] = ()
) -> Moves:
    """What of `told` differs from what is known by more than the dead band, or, where `exact`
    names it, at all; None is unknown."""
    before = dict(known)
    found = []
    for name, value in told:
        old = before.get(name)
        if value == old:
            continue
        if value is None or old is None or name in exact or moved(types[name], old, value):
            found.append((name, value))
    return tuple(found)

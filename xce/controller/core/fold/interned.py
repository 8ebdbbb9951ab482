"""Who names an interned text: entities, whose users are counted (what nobody names any more is
forgotten), and records, whose texts must be known before they are applied.

A field names a text if its type says so (`TextName`); nothing here lists kinds by hand.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from msgspec import Struct

from xce.controller.core.fold.tables import TABLES
from xce.model.ids import TextName
from xce.model.records import BODIES, Record

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State


def text_fields(kind: type[Struct]) -> tuple[str, ...]:
    """The fields of an entity or of a record's facts that name texts, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(name for name, hint in hints.items() if _names_text(hint))


def _names_text(hint: Any) -> bool:
    if hint == TextName:
        return True
    return get_origin(hint) is not Annotated and any(map(_names_text, get_args(hint)))


NAMED_BY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {what: fields for what, entity in TABLES.items() if (fields := text_fields(entity))}
)
"""The tables whose entities name texts, and by which fields."""
_FACTS = {kind: fields for kind, body in BODIES.items() if (fields := text_fields(body))}


def texts_of(record: Record) -> list[str]:
    """The texts that a record names, in its facts and in its changes."""
    body = record.body
    found = [name for field in _FACTS.get(record.kind, ()) for name in _each(getattr(body, field))]
    for change in body.then:
        fields = NAMED_BY.get(change.what)
        if fields and change.set:
            found += [
                n for field in fields if field in change.set for n in _each(change.set[field])
            ]
    return [name for name in found if name]


def texts_of_entity(what: str, entity: Struct) -> list[str]:
    """The texts that an entity names."""
    found = [n for field in NAMED_BY.get(what, ()) for n in _each(getattr(entity, field))]
    return [name for name in found if name]


def _each(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    else:
        yield from value or ()


class Interned:
    """Counts, per spec and per text that a spec alone names, who names it."""

    def __init__(self, state: "State") -> None:
        self._state = state
        self.users: dict[str, int] = {}

    def renamed(self, before: str, after: str) -> None:
        """One entity named `before` and names `after` now ("" for nothing)."""
        if before == after:
            return
        if after:
            self._more(after)
        if before:
            self._less(before)

    def _more(self, name: str) -> None:
        self.users[name] = self.users.get(name, 0) + 1
        spec = self._state.specs.get(name)
        if self.users[name] == 1 and spec is not None:
            for text in filter(None, (spec.script, spec.environment)):
                self._more(text)

    def _less(self, name: str) -> None:
        self.users[name] -= 1
        if self.users[name]:
            return
        del self.users[name]
        spec = self._state.specs.get(name)
        for text in filter(None, (spec.script, spec.environment)) if spec is not None else ():
            self._less(text)
        self._state.forget(name)

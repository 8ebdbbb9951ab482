"""What names a text is found by its type: in every kind of record, and in every table."""

from typing import Any, get_type_hints

import pytest
from msgspec import Struct, convert, structs

from tests.core.lab import lab, pair
from tests.kit.words import array, job
from xce.controller.core.fold.encode import NUMBERED, key_of
from xce.controller.core.fold.interned import NAMED_BY, text_fields, texts_of, texts_of_entity
from xce.controller.core.fold.tables import TABLES
from xce.model.records import BODIES, Change, Record

SPOKEN = ("spec", "script", "environment")
"""Words in the name of a field that is the hash of a text."""


def record(body: Any) -> Record:
    return Record(
        lsn=1, epoch=1, at_us=1, kind=type(body).__name__, v=1, cause="", actor="", entities=(),
        body=body,
    )  # fmt: skip


def filled(kind: type[Struct]) -> tuple[Any, list[str]]:
    """One of a kind whose fields that name texts each hold a name of its own."""
    names, said = [], {}
    for field in structs.fields(kind):
        many = "tuple" in str(get_type_hints(kind)[field.name])
        if field.name in text_fields(kind):
            mine = [f"hash{len(names)}", *([f"hash{len(names) + 1}"] if many else [])]
            names += mine
            said[field.name] = mine if many else mine[0]
        elif field.required:
            said[field.name] = [] if many else {int: 1, str: "x"}.get(field.type, {})
    return convert(said, kind), names


@pytest.mark.parametrize("kind", [kind for kind, body in BODIES.items() if text_fields(body)])
def test_the_facts_of_every_kind_of_record_name_their_texts(kind: str) -> None:
    body, names = filled(BODIES[kind])
    assert texts_of(record(body)) == names != []


@pytest.mark.parametrize("what", NAMED_BY)
def test_a_change_of_any_record_names_the_texts_that_it_brings(what: str) -> None:
    """Whatever record it is: a change may give any entity another text."""
    changed = {"priority": 3, **{field: f"of {field}" for field in NAMED_BY[what]}}
    then = (
        Change(what, 1, "", changed), Change(what, 2, "", None), Change("host", "n1", "", {}),
        Change("host", "n1", "", {"spec": "of another"}),
    )  # fmt: skip
    body = BODIES["KillAsked"](then=then)
    assert texts_of(record(body)) == [f"of {field}" for field in NAMED_BY[what]] != []


def test_what_is_called_by_the_name_of_a_text_has_the_type_of_one() -> None:
    for kind in (*TABLES.values(), *BODIES.values()):
        spoken = [field.name for field in structs.fields(kind) if _spoken(field.name)]
        assert spoken == list(text_fields(kind)), kind.__name__


def _spoken(name: str) -> bool:
    return any(name in (word, f"member_{word}s", f"{word}s") for word in SPOKEN)


def test_the_users_of_a_text_are_counted_in_every_table_that_names_texts() -> None:
    """Else a text would be forgotten while an entity still names it."""
    world = lab(1)
    for command in (job(), array((1, 3, 1))):
        world.step([command])
    world.step([pair()])
    for what in NAMED_BY:
        (entity, *_) = world.state.tables[what].values()
        names = texts_of_entity(what, entity)
        assert names, what
        assert [name for name in names if not world.state.index.users.get(name)] == []


@pytest.mark.parametrize("what", TABLES)
def test_keys_come_back_as_the_type_that_they_are(what: str) -> None:
    first = structs.fields(TABLES[what])[0]
    assert first.type in (int, str), "a table is keyed by its entities' first field"
    assert (what in NUMBERED) == (first.type is int)
    assert key_of(what, "17") == (17 if first.type is int else "17")

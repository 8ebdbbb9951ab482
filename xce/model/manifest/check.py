"""Checks a document against a JSON Schema and says what is wrong, where, and what was meant.

The schema is the norm; this file only reads it. It knows the keywords that the manifest's schema
uses (`type enum pattern minimum maximum minLength maxLength minItems maxItems maxProperties
properties additionalProperties required dependentRequired items oneOf $ref description`) and
refuses a schema with any other, so that the two cannot drift apart. A `description` in the
schema is a noun phrase and serves as "expected ...". `oneOf` comes in two forms: alternatives
that only require a field, and alternatives that differ in their type.

Faults are collected in the order of the document, up to a hundred. The check knows nothing of
gangs.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from xce.model.units import nearest

Path = tuple[str | int, ...]
Schema = Mapping[str, Any]

KEYWORDS = frozenset(
    {
        "$schema", "$defs", "$ref", "title", "description", "type", "enum", "pattern", "minimum",
        "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxProperties", "properties",
        "additionalProperties", "required", "dependentRequired", "items", "oneOf",
    }
)  # fmt: skip
_SHOWN_CHARACTERS_MAX = 40
FAULTS_MAX = 100
_TYPE_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "boolean": "true or false",
}


class Fault(Struct, frozen=True, gc=False, kw_only=True):
    """One thing wrong with a document.

    `code`: unknown_field missing_field wrong_type bad_value unsupported conflict. `column` is
    the 1-based place inside the text at `path` (with `text` set), 0 where that says nothing.
    """

    code: str
    path: Path
    message: str
    expected: str = ""
    hint: str = ""
    text: str = ""
    column: int = 0

    def where(self) -> str:
        """The path as people write it: `roles[1].claims[0].count`."""
        return path_text(self.path)

    def pointer(self) -> str:
        """The path as a JSON Pointer."""
        steps = (str(step).replace("~", "~0").replace("/", "~1") for step in self.path)
        return "".join(f"/{step}" for step in steps)

    def __str__(self) -> str:
        said = f"{self.where()}: {self.message}" if self.path else self.message
        if self.expected:
            said += f"; expected {self.expected}"
        return f"{said} ({self.hint})" if self.hint else said


def path_text(path: Path) -> str:
    """`roles[1].claims[0].count`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def check(document: Any, schema: Schema) -> tuple[Fault, ...]:
    """What is wrong with `document`, in its own order; the first 100 faults are enough."""
    return tuple(islice(_Checker(schema).node(document, schema, ()), FAULTS_MAX))


class _Checker:
    """Walks a document and a schema together."""

    def __init__(self, schema: Schema) -> None:
        self._root = schema

    def resolve(self, schema: Schema) -> Schema:
        """The schema with its `$ref` followed; what stands beside the reference wins."""
        unknown = set(schema) - KEYWORDS
        if unknown:
            raise ValueError(f"the check does not know the keywords {sorted(unknown)}")
        ref = schema.get("$ref")
        if ref is None:
            return schema
        found: Schema = self._root["$defs"][ref.removeprefix("#/$defs/")]
        return {**self.resolve(found), **{k: v for k, v in schema.items() if k != "$ref"}}

    def node(self, value: Any, schema: Schema, path: Path) -> Iterator[Fault]:
        """The faults of one value and of what is in it."""
        schema = self.resolve(schema)
        alternatives = [self.resolve(one) for one in schema.get("oneOf", ())]
        if alternatives and all("type" in one for one in alternatives):
            fitting = [one for one in alternatives if is_type(value, one["type"])]
            if not fitting:
                yield _wrong_type(value, schema, path)
                return
            schema = {"description": schema.get("description", ""), **fitting[0]}
            alternatives = []
        if "type" in schema and not is_type(value, schema["type"]):
            yield _wrong_type(value, schema, path)
            return
        if isinstance(value, dict):
            yield from self._mapping(value, schema, path)
            yield from _one_required(value, alternatives, path)
        elif isinstance(value, list):
            yield from self._items(value, schema, path)
        else:
            yield from _scalar(value, schema, path)

    def _mapping(self, value: dict[Any, Any], schema: Schema, path: Path) -> Iterator[Fault]:
        known: Mapping[str, Schema] = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        for key, inner in value.items():
            if not isinstance(key, str):
                yield _bad(f"{_shown(key)} is not a field name", {}, (*path, str(key)))
            elif key in known:
                yield from self.node(inner, known[key], (*path, key))
            elif isinstance(rest, dict):
                yield from self.node(inner, rest, (*path, key))
            elif rest is False:
                yield _unknown(key, known, path)
        for key in schema.get("required", ()):
            if key not in value:
                yield _missing(f"the field '{key}' is missing", self._named(known, key), path)
        for key, needed in schema.get("dependentRequired", {}).items():
            for other in needed:
                if key in value and other not in value:
                    yield _missing(f"'{key}' needs the field '{other}' beside it", "", path)
        most = schema.get("maxProperties")
        if most is not None and len(value) > most:
            yield _bad(f"{len(value)} fields are too many, the most is {most}", {}, path)

    def _named(self, known: Mapping[str, Schema], key: str) -> str:
        return expected(self.resolve(known.get(key, {})))

    def _items(self, value: list[Any], schema: Schema, path: Path) -> Iterator[Fault]:
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if len(value) < least:
            yield _bad("the list is empty", schema, path)
        if most is not None and len(value) > most:
            yield _bad(f"{len(value)} items are too many, the most is {most}", {}, path)
            return
        for index, item in enumerate(value):
            yield from self.node(item, schema.get("items", {}), (*path, index))


def is_type(value: Any, name: str) -> bool:
    """Whether the value is of that JSON type; true and false are no numbers."""
    if name == "integer":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool)
    types: dict[str, type] = {"object": dict, "array": list, "string": str, "boolean": bool}
    return isinstance(value, types[name])


def expected(schema: Schema) -> str:
    """What the schema wants, as a noun phrase."""
    if schema.get("description"):
        return str(schema["description"])
    if "enum" in schema:
        return _listed([_plain(one) for one in schema["enum"]])
    name = schema.get("type")
    if name == "integer" and "minimum" in schema:
        most = f" to {schema['maximum']}" if "maximum" in schema else " or more"
        return f"a whole number, {schema['minimum']}{most}"
    return _TYPE_WORDS.get(str(name), "")


def _scalar(value: Any, schema: Schema, path: Path) -> Iterator[Fault]:
    if "enum" in schema and value not in schema["enum"]:
        meant = (
            nearest(value, [str(one) for one in schema["enum"]]) if isinstance(value, str) else ""
        )
        hint = f"did you mean {meant}?" if meant else ""
        yield _bad(f"{_shown(value)} is not known here", schema, path, hint)
        return
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            yield _bad("the text is empty", schema, path)
        elif len(value) > schema.get("maxLength", len(value)):
            yield _bad(f"the text has more than {schema['maxLength']} characters", {}, path)
        elif "pattern" in schema and re.search(_python(schema["pattern"]), value) is None:
            yield _bad(f"{_shown(value)} does not fit", schema, path)
        return
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    if not low <= value <= high:
        yield _bad(f"{_shown(value)} is out of range", schema, path)


def _python(pattern: str) -> str:
    """JSON Schema's `$` is the very end; Python's also matches before a last newline."""
    return pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern


def _one_required(value: dict[Any, Any], alternatives: list[Schema], path: Path) -> Iterator[Fault]:
    names = [name for one in alternatives for name in one["required"]]
    given = [name for name in names if name in value]
    if names and len(given) != 1:
        what = f"{_listed(given, 'and')} exclude each other" if given else "a field is missing"
        yield Fault(
            code="conflict" if given else "missing_field",
            path=path,
            message=what,
            expected=f"exactly one of {_listed(names, 'and')}",
        )


def _unknown(key: str, known: Mapping[str, Schema], path: Path) -> Fault:
    meant = nearest(key, known)
    return Fault(
        code="unknown_field",
        path=(*path, key),
        message=f"unknown field {_shown(key)}",
        expected="" if meant else f"one of {' '.join(known)}",
        hint=f"did you mean '{meant}'?" if meant else "",
    )


def _missing(message: str, wanted: str, path: Path) -> Fault:
    return Fault(code="missing_field", path=path, message=message, expected=wanted)


def _wrong_type(value: Any, schema: Schema, path: Path) -> Fault:
    return Fault(
        code="wrong_type", path=path, message=f"found {_kind(value)}", expected=expected(schema)
    )


def _bad(message: str, schema: Schema, path: Path, hint: str = "") -> Fault:
    return Fault(code="bad_value", path=path, message=message, expected=expected(schema), hint=hint)


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return _shown(value)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        cut = value[:_SHOWN_CHARACTERS_MAX]
        return repr(cut) + ("..." if cut != value else "")
    return _plain(value)[:_SHOWN_CHARACTERS_MAX]


def _listed(words: list[str], last: str = "or") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"

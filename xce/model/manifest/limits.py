"""What a manifest may say by contract and this version cannot do yet: refused, never ignored.

A row names a place by its path pattern (`*` stands for an index), a test of the value found
there, and the sentence to say. Two further rows (`NOTICES`) are things that are taken and acted
on in part; they are told to the user as remarks. Taking a feature into work means deleting its
row here, and the test of that row.
"""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from xce.model.manifest.check import Fault, Path


class Limit(Struct, frozen=True, kw_only=True):
    """One row: where, when and what to say."""

    pattern: tuple[str, ...]
    applies: Callable[[Any], bool]
    message: str
    hint: str = ""


def _given(value: Any) -> bool:
    return value is not None


LIMITS: tuple[Limit, ...] = (
    Limit(
        pattern=("group",),
        applies=lambda value: "[" in value,
        message="arrays of groups are not supported by this version",
        hint="submit the manifest once per index",
    ),
    Limit(
        pattern=("reservation",),
        applies=lambda value: isinstance(value, dict),
        message="accumulation is not supported by this version",
        hint="leave it out or say reservation: none",
    ),
    Limit(
        pattern=("success_policy",),
        applies=lambda value: value != "all",
        message="only success_policy: all is supported by this version",
    ),
    Limit(
        pattern=("roles", "*", "spares"),
        applies=lambda value: value > 0,
        message="spares are not supported by this version",
        hint="leave it out or say spares: 0",
    ),
    Limit(
        pattern=("roles", "*", "ready", "probe"),
        applies=_given,
        message="readiness by a probe is not supported by this version",
        hint="{port: CLAIM} and {done: true} are, and nothing at all means started",
    ),
    Limit(
        pattern=("roles", "*", "ready", "line"),
        applies=_given,
        message="readiness by a line of output is not supported by this version",
        hint="{port: CLAIM} and {done: true} are, and nothing at all means started",
    ),
)

NOTICES: tuple[Limit, ...] = (
    Limit(
        pattern=("failure_policy", "*", "keep_allocation"),
        applies=_given,
        message="this version gives the allocation up and asks for a new one at a restart",
    ),
)


def unsupported(document: dict[str, Any]) -> tuple[Fault, ...]:
    """What this version refuses; the document already fits the schema."""
    return tuple(_faults(document, LIMITS))


def remarks(document: dict[str, Any]) -> tuple[Fault, ...]:
    """What is taken, and acted on in part only."""
    return tuple(_faults(document, NOTICES))


def _faults(document: dict[str, Any], limits: tuple[Limit, ...]) -> Iterator[Fault]:
    for limit in limits:
        for path, value in _found(document, limit.pattern, ()):
            if limit.applies(value):
                yield Fault(code="unsupported", path=path, message=limit.message, hint=limit.hint)


def _found(value: Any, pattern: tuple[str, ...], path: Path) -> Iterator[tuple[Path, Any]]:
    if not pattern:
        yield path, value
    elif pattern[0] == "*" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _found(item, pattern[1:], (*path, index))
    elif isinstance(value, dict) and pattern[0] in value:
        yield from _found(value[pattern[0]], pattern[1:], (*path, pattern[0]))

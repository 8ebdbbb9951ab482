"""Attributes of many hosts or instances as columns, so that an expression is asked once for all.

The answers are those of asking one by one. What would not be the same in columns is odd and is
asked one by one: a name that is a text here and a number there, one that is known by two names,
and numbers beyond 64 bits.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from xce.model.host import Attribute
from xce.model.resources import ALIASES, BYTES, ResourceType
from xce.resreq import tree
from xce.resreq.columns import HostColumns, NumberColumn, columns_of, matching
from xce.resreq.match import match
from xce.scheduler.snapshot import Mask, Observed

Types = Mapping[str, ResourceType]

INTEGER_MAX = 2**62


class Rows(Struct, frozen=True, kw_only=True):
    """Attributes by row, the same by column, and the names that columns cannot tell."""

    rows: Sequence[Mapping[str, Attribute]]
    columns: HostColumns
    odd: frozenset[str]


def rows_of(rows: Sequence[Mapping[str, Attribute]], types: Types) -> Rows:
    """Rows made ready to be asked."""
    kinds: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.items():
            kinds.setdefault(name, set()).add(_kind(value))
    odd = {name for name, found in kinds.items() if _is_odd(name, found, types)}
    odd |= {name for name, other in ALIASES.items() if name in kinds and other in kinds}
    plain = [{name: value for name, value in row.items() if name not in odd} for row in rows]
    return Rows(rows=rows, columns=columns_of(plain), odd=frozenset(odd))


def _kind(value: Attribute) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    return "number" if abs(value) <= INTEGER_MAX else "large"


def _is_odd(name: str, kinds: set[str], types: Types) -> bool:
    type_ = types.get(name)
    scaled = type_ is not None and (type_.unit == BYTES or type_.scale != 1)
    return len(kinds) > 1 or "large" in kinds or (scaled and "boolean" in kinds)


def holding(
    node: tree.Expr, rows: Rows, types: Types, current: Mapping[str, Observed] | None = None
) -> Mask:
    """The rows for which an expression holds; `current` columns stand over what the rows say."""
    over = current or {}
    names = names_of(node)
    if not rows.odd.isdisjoint(names) or any(_two_names(name, rows, over) for name in names):
        return np.array(
            [match(node, _row(rows, i, over), types) for i in range(len(rows.rows))], bool
        )
    if not over:
        return matching(node, rows.columns, types)
    always = np.ones(len(rows.rows), dtype=bool)
    columns = {
        name: NumberColumn(values=column.values, known=column.known, present=always)
        for name, column in over.items()
    }
    texts = {name: text for name, text in rows.columns.texts.items() if name not in over}
    seen = HostColumns(
        rows=rows.columns.rows, numbers={**rows.columns.numbers, **columns}, texts=texts
    )
    return matching(node, seen, types)


def _two_names(name: str, rows: Rows, over: Mapping[str, Observed]) -> bool:
    """Whether some rows know it by one name and `over` by another."""
    other = ALIASES.get(name, "")
    return other in over and (name in rows.columns.numbers or name in rows.columns.texts)


def _row(
    rows: Rows, index: int, over: Mapping[str, Observed]
) -> Mapping[str, str | int | bool | None]:
    if not over:
        return rows.rows[index]
    current = {
        name: int(column.values[index]) if column.known[index] else None
        for name, column in over.items()
    }
    return {**rows.rows[index], **current}


def names_of(node: tree.Expr) -> set[str]:
    """The resources an expression names, those that stand for another under both names."""
    names: set[str] = set()
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, tree.Name | tree.Defined):
            names.update((part.name, ALIASES.get(part.name, part.name)))
        stack.extend(tree.children(part))
    return names

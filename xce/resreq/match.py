"""Does a host match a select expression? The slow, obvious answer.

Truth has three values: a resource that is stale (None) or missing is unknown, not free, and what
depends on it is unknown, too; only a host for which the whole expression is true matches. A
boolean that a host does not list is false: that is what booleans are for. Sizes are bytes in the
attributes and count in MB in arithmetic, as bare numbers do; all arithmetic is exact.

`any` is every value. `local`, the submitter's own, is replaced when a requirement is resolved;
where nothing is known of the submitter it constrains nothing.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from xce.model.resources import ALIASES, BUILT_IN, BYTES, SPECIAL_VALUES, Kind, ResourceType
from xce.model.units import MB
from xce.resreq import tree

Attributes = Mapping[str, str | int | bool | None]
Types = Mapping[str, ResourceType]
Value = Fraction | str | None

_TRUE, _FALSE = Fraction(1), Fraction(0)


def match(node: tree.Expr, attributes: Attributes, types: Types = BUILT_IN) -> bool:
    """True only if the expression is known to hold."""
    return truth(node, attributes, types) is True


def truth(node: tree.Expr, attributes: Attributes, types: Types = BUILT_IN) -> bool | None:
    """True, False, or None for unknown."""
    match node:
        case tree.And():
            return _all(truth(term, attributes, types) for term in node.terms)
        case tree.Or():
            held = _all(_negated(truth(term, attributes, types)) for term in node.terms)
            return _negated(held)
        case tree.Not():
            return _negated(truth(node.term, attributes, types))
        case tree.Defined():
            return _own_name(node.name, attributes) is not None
        case _:
            value = _value(node, attributes, types)
            return value != 0 if isinstance(value, Fraction) else None


def first_failing(
    node: tree.Expr, attributes: Attributes, types: Types = BUILT_IN
) -> tree.Expr | None:
    """The first of the joined conditions that does not hold; None when the host matches."""
    terms = node.terms if isinstance(node, tree.And) else (node,)
    return next((term for term in terms if not match(term, attributes, types)), None)


def _all(parts: Iterable[bool | None]) -> bool | None:
    unknown = False
    for part in parts:
        if part is False:
            return False
        unknown = unknown or part is None
    return None if unknown else True


def _negated(part: bool | None) -> bool | None:
    return None if part is None else not part


# --- values ------------------------------------------------------------------------------------


def _value(node: tree.Expr, attributes: Attributes, types: Types) -> Value:
    match node:
        case tree.Number():
            return Fraction(node.digits, 10**node.places)
        case tree.Size():
            return Fraction(node.size_bytes, MB)
        case tree.Text():
            return node.text
        case tree.Name():
            return _resource(node.name, attributes, types)
        case tree.Neg():
            value = _value(node.term, attributes, types)
            return -value if isinstance(value, Fraction) else None
        case tree.Infix():
            return _run(node, attributes, types)
        case _:
            held = truth(node, attributes, types)
            return None if held is None else (_TRUE if held else _FALSE)


def _own_name(name: str, attributes: Attributes) -> str | None:
    """The name under which the host has it; None when it has it under no name."""
    if name in attributes:
        return name
    other = ALIASES.get(name, "")
    return other if other in attributes else None


def _resource(name: str, attributes: Attributes, types: Types) -> Value:
    own = _own_name(name, attributes)
    type_ = types.get(own or name)
    if own is None:
        return _FALSE if type_ is not None and type_.kind is Kind.BOOLEAN else None
    value = attributes[own]
    if value is None or isinstance(value, str):
        return value
    if type_ is None or isinstance(value, bool):
        return Fraction(value)
    return Fraction(value, MB if type_.unit == BYTES else type_.scale)


_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _run(node: tree.Infix, attributes: Attributes, types: Types) -> Value:
    left = _value(node.terms[0], attributes, types)
    if isinstance(left, str):
        return _text_comparison(left, node)
    for op, term in zip(node.ops, node.terms[1:], strict=True):
        right = _value(term, attributes, types)
        if not isinstance(left, Fraction) or not isinstance(right, Fraction):
            return None
        left = _apply(op, left, right)
    return left


def _apply(op: str, left: Fraction, right: Fraction) -> Fraction | None:
    if op in _COMPARE:
        return _TRUE if _COMPARE[op](left, right) else _FALSE
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _:
            return left / right if right else None


def _text_comparison(left: str, node: tree.Infix) -> Value:
    """A text against one value; the word on the right is a value, whatever else it names."""
    right, op = node.terms[1], node.ops[0]
    if len(node.terms) > 2 or op not in _COMPARE or not isinstance(right, tree.Name | tree.Text):
        return None
    word = right.name if isinstance(right, tree.Name) else right.text
    first = node.terms[0]
    if isinstance(first, tree.Name) and word in SPECIAL_VALUES.get(first.name, ()):
        return _TRUE if op in ("==", "<=", ">=") else _FALSE
    return _TRUE if _COMPARE[op](left, word) else _FALSE

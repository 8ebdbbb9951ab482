"""A select expression in normal form, so that the stored text says what was meant.

A bare number beside a size resource becomes a size, `local` the submitter's own, and every
resource stands under its own name. The form is an expression again: printing and matching take
it like any other.
"""

from collections.abc import Mapping
from types import MappingProxyType

from xce.model.resources import BYTES, SPECIAL_VALUES, ResourceType
from xce.model.units import MB
from xce.resreq import tree
from xce.resreq.check import type_of

Types = Mapping[str, ResourceType]

NOTHING: Mapping[str, str] = MappingProxyType({})


def normal(node: tree.Expr, types: Types, local: Mapping[str, str] = NOTHING) -> tree.Expr:
    """The expression with bare numbers beside a size resource as sizes, `local` replaced, and
    every resource under its own name."""
    match node:
        case tree.And():
            return tree.conjunction([normal(term, types, local) for term in node.terms])
        case tree.Or():
            return tree.disjunction([normal(term, types, local) for term in node.terms])
        case tree.Not():
            return tree.Not(term=normal(node.term, types, local), column=node.column)
        case tree.Neg():
            return tree.Neg(term=normal(node.term, types, local), column=node.column)
        case tree.Infix():
            return _normal_run(node, types, local)
        case tree.Name() | tree.Defined():
            type_ = type_of(node.name, types)
            kind = type(node)
            return kind(name=type_.name, column=node.column) if type_ else node
        case _:
            return node


def _normal_run(node: tree.Infix, types: Types, local: Mapping[str, str]) -> tree.Expr:
    if node.ops[0] not in tree.COMPARISONS or len(node.terms) > 2:
        return tree.infix(node.ops, tuple(normal(term, types, local) for term in node.terms))
    left, right = node.terms
    if isinstance(left, tree.Name) and isinstance(right, tree.Name):
        special = SPECIAL_VALUES.get(left.name, frozenset())
        if right.name == "local" and "local" in special and left.name in local:
            value = tree.Text(text=local[left.name], column=right.column)
            return tree.infix(node.ops, (left, value))
        type_ = type_of(left.name, types)
        if type_ is not None and type_.kind == "string":
            return tree.infix(node.ops, (normal(left, types, local), right))
    sized = (_sized(left, right, types), _sized(right, left, types))
    return tree.infix(node.ops, tuple(normal(term, types, local) for term in sized))


def _sized(term: tree.Expr, other: tree.Expr, types: Types) -> tree.Expr:
    """A bare number compared with a size resource, as a size."""
    if not isinstance(term, tree.Number) or not isinstance(other, tree.Name):
        return term
    type_ = type_of(other.name, types)
    if type_ is None or type_.unit != BYTES:
        return term
    exact = term.digits * MB
    if exact % 10**term.places:
        return term
    return tree.Size(size_bytes=exact // 10**term.places, column=term.column)

"""The select language before brackets: `-:mem=500:-bsd`.

Items are joined by AND. `name=value` asks for at least that much of what is good to have much
of and at most that much of load; `-name` is a boolean that must not hold, a lone `-` any host.
Only the built-in types have a direction here; of any other name at least that much is asked.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from xce.model.resources import BUILT_IN, Direction, Kind
from xce.resreq import tree
from xce.resreq.syntax.values import amount_of, column_of, unquoted

_IDLE_DEFAULT_MINUTES = 5

Nodes = list[Any]


def _old(nodes: Nodes) -> Any:
    return tree.conjunction(nodes)


def _old_any(nodes: Nodes) -> Any:
    at = column_of(nodes[0])
    return _equals(tree.Name(name="type", column=at), tree.Name(name="any", column=at))


def _old_not(nodes: Nodes) -> tree.Not:
    name = tree.Name(name=str(nodes[1]), column=column_of(nodes[1]))
    return tree.Not(term=name, column=column_of(nodes[0]))


def _old_name(nodes: Nodes) -> Any:
    name = _resource(nodes)
    if name.name not in ("it", "idle"):
        return name
    idle = tree.Number(digits=_IDLE_DEFAULT_MINUTES, column=name.column)
    return tree.infix((">=",), (name, idle))


def _old_value(nodes: Nodes) -> Any:
    name, token = _resource(nodes), nodes[1]
    type_ = BUILT_IN.get(name.name)
    if token.type != "NUMBER" or (type_ and type_.kind is Kind.STRING):
        return _equals(name, tree.Text(text=unquoted(token), column=column_of(token)))
    more_is_load = type_ is not None and type_.direction is Direction.INCREASING
    return tree.infix(("<=" if more_is_load else ">=",), (name, amount_of(token)))


def _resource(nodes: Nodes) -> tree.Name:
    return tree.Name(name=str(nodes[0]), column=column_of(nodes[0]))


def _equals(left: tree.Expr, right: tree.Expr) -> tree.Expr:
    return tree.infix(("==",), (left, right))


OLD_RULES: Mapping[str, Callable[[Nodes], Any]] = MappingProxyType(
    {
        "old": _old,
        "old_any": _old_any,
        "old_not": _old_not,
        "old_name": _old_name,
        "old_value": _old_value,
    }
)

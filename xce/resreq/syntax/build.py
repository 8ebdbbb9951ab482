"""Tokens and children of the grammar made into tree nodes: RULES has one function per rule.

The functions run while the parser reduces, so each sees only its own part; what concerns several
sections is judged in `assemble`. `Sections` is the unjudged form of one simple requirement and
does not leave this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from xce.model.units import parse_duration
from xce.resreq import tree
from xce.resreq.errors import Code
from xce.resreq.syntax import sections
from xce.resreq.syntax.values import (
    choice_of,
    column_of,
    count_of,
    operand_of,
    refuse,
    unquoted,
)

if TYPE_CHECKING:
    from lark import Token


class Section(Struct, frozen=True, gc=False, kw_only=True):
    """One section as read: its keyword, its opening column (0 for a bare select), its value."""

    keyword: str
    column: int
    value: Any


class Sections(Struct, frozen=True, gc=False, kw_only=True):
    """A simple requirement before it is judged; `old` is the select syntax before brackets."""

    parts: tuple[Section, ...]
    old: bool = False


class RawTerm(Struct, frozen=True, gc=False, kw_only=True):
    """A term of a compound requirement; None is the last one without a number."""

    count: int | None
    sections: Sections
    column: int


class RawBranch(Struct, frozen=True, gc=False, kw_only=True):
    """An alternative; the body is Sections or a list of RawTerm."""

    body: Any
    delay: Token | None
    column: int


Nodes = list[Any]


# --- the whole -----------------------------------------------------------------------------------
def _start(nodes: Nodes) -> Any:
    return nodes[0]


def _simple(nodes: Nodes) -> Sections:
    return Sections(parts=tuple(nodes))


def _simple_bare(nodes: Nodes) -> Sections:
    bare = Section(keyword="select", column=0, value=nodes[0])
    return Sections(parts=(bare, *nodes[1:]))


def _old_bare(nodes: Nodes) -> Sections:
    return Sections(parts=_simple_bare(nodes).parts, old=True)


def _old_bracketed(nodes: Nodes) -> Sections:
    first = Section(keyword="select", column=column_of(nodes[0]), value=nodes[1])
    return Sections(parts=(first, *nodes[2:]), old=True)


def _token(kind: str, text: str, start: int) -> Token:
    from lark import Token

    return Token(kind, text, start_pos=start)


def _compound(nodes: Nodes) -> Nodes:
    return nodes


def _term(nodes: Nodes) -> RawTerm:
    digits = nodes[0].partition("*")[0].rstrip()
    number = nodes[0].update(value=digits)
    count = count_of(number, "the number of tasks of a term")
    return RawTerm(count=count, sections=nodes[1], column=column_of(nodes[0]))


def _last_term(nodes: Nodes) -> RawTerm:
    return RawTerm(count=None, sections=nodes[1], column=column_of(nodes[0]))


def _alternatives(nodes: Nodes) -> Nodes:
    return nodes


def _branch(nodes: Nodes) -> RawBranch:
    delay = nodes[2] if len(nodes) > 2 else None
    return RawBranch(body=nodes[1], delay=delay, column=column_of(nodes[0]))


# --- select --------------------------------------------------------------------------------------
def _select(nodes: Nodes) -> Section:
    return Section(keyword="select", column=column_of(nodes[0]), value=nodes[1])


def _expr(nodes: Nodes) -> Any:
    return tree.disjunction(nodes)


def _conj(nodes: Nodes) -> Any:
    return tree.conjunction(nodes)


def _equality(nodes: Nodes) -> Any:
    return tree.infix(tuple(str(op) for op in nodes[1::2]), tuple(nodes[::2]))


def _not(nodes: Nodes) -> tree.Not:
    return tree.Not(term=nodes[1], column=column_of(nodes[0]))


def _neg(nodes: Nodes) -> tree.Neg:
    return tree.Neg(term=nodes[1], column=column_of(nodes[0]))


def _number(nodes: Nodes) -> Any:
    return operand_of(nodes[0])


def _name(nodes: Nodes) -> tree.Name:
    return tree.Name(name=str(nodes[0]), column=column_of(nodes[0]))


def _quoted(nodes: Nodes) -> tree.Text:
    return tree.Text(text=unquoted(nodes[0]), column=column_of(nodes[0]))


def _defined(nodes: Nodes) -> tree.Defined:
    return tree.Defined(name=str(nodes[1]), column=column_of(nodes[0]))


# --- order, same ---------------------------------------------------------------------------------
def _order(nodes: Nodes) -> Section:
    return Section(keyword="order", column=column_of(nodes[0]), value=tuple(nodes[1:]))


def _order_key(nodes: Nodes) -> tree.OrderKey:
    return tree.OrderKey(name=str(nodes[-1]), reverse=len(nodes) > 1, column=column_of(nodes[0]))


def _same(nodes: Nodes) -> Section:
    keys = tuple(tree.Same(name=str(t), column=column_of(t)) for t in nodes[1:])
    return Section(keyword="same", column=column_of(nodes[0]), value=keys)


# --- rusage --------------------------------------------------------------------------------------
def _rusage(nodes: Nodes) -> Section:
    return Section(keyword="rusage", column=column_of(nodes[0]), value=tuple(nodes[1:]))


def _usages(nodes: Nodes) -> tuple[tree.Reserve, ...]:
    reserves = tuple(reserve for group in nodes for reserve in group)
    seen: set[str] = set()
    for reserve in reserves:
        if reserve.name in seen:
            token = _token("NAME", reserve.name, reserve.column - 1)
            said = f"{reserve.name!r} is given twice in one usage"
            raise refuse(token, Code.DUPLICATE, said)
        seen.add(reserve.name)
    return reserves


def _usage(nodes: Nodes) -> tuple[tree.Reserve, ...]:
    return sections.build_usage(nodes)


def _usage_one(nodes: Nodes) -> sections.UsagePart:
    return _usage_part(nodes, listed=False)


def _usage_list(nodes: Nodes) -> sections.UsagePart:
    return _usage_part(nodes, listed=True)


def _usage_part(nodes: Nodes, *, listed: bool) -> sections.UsagePart:
    per = nodes[-1] if nodes[-1].type == "NAME" else None
    values = nodes[1:-2] if per is not None else nodes[1:]
    return sections.UsagePart(key=nodes[0], values=tuple(values), listed=listed, per=per)


# --- span ----------------------------------------------------------------------------------------
def _span(nodes: Nodes) -> Section:
    value = sections.build_span(nodes[1:])
    return Section(keyword="span", column=column_of(nodes[0]), value=value)


def _span_word(nodes: Nodes) -> sections.SpanItem:
    return sections.SpanItem(key=nodes[0])


def _span_number(nodes: Nodes) -> sections.SpanItem:
    return sections.SpanItem(key=nodes[0], value=nodes[-1], minus=len(nodes) > 2)


def _span_bang(nodes: Nodes) -> sections.SpanItem:
    if unquoted(nodes[1]) != "!":
        said = f"{nodes[0]} cannot be {nodes[1]}"
        raise refuse(nodes[1], Code.BAD_VALUE, said, expected=("a number", "`'!'`"))
    return sections.SpanItem(key=nodes[0], value=nodes[1], bang=True)


def _span_first_type(nodes: Nodes) -> sections.SpanItem:
    return sections.SpanItem(key=nodes[0], by_type=nodes[1])


def _span_type(nodes: Nodes) -> sections.SpanItem:
    return sections.SpanItem(key=None, by_type=nodes[0])


def _type_count(nodes: Nodes) -> tuple[Token, Token]:
    return nodes[0], nodes[1]


# --- cu, affinity --------------------------------------------------------------------------------
def _cu(nodes: Nodes) -> Section:
    value = sections.build_cu(nodes[1:])
    return Section(keyword="cu", column=column_of(nodes[0]), value=value)


def _cu_item(nodes: Nodes) -> tuple[Token, Token | None]:
    return nodes[0], nodes[1] if len(nodes) > 1 else None


def _affinity(nodes: Nodes) -> Section:
    value = sections.build_affinity(nodes[1], nodes[2:])
    return Section(keyword="affinity", column=column_of(nodes[0]), value=value)


def _aff_unit(nodes: Nodes) -> sections.AffinityUnit:
    body = next((n for n in nodes[1:] if isinstance(n, tuple)), (None, ()))
    times: Any = next((n for n in nodes[1:] if isinstance(n, str)), None)
    return sections.AffinityUnit(unit=nodes[0], units=body[0], inner=body[1], times=times)


def _aff_body(nodes: Nodes) -> tuple[Token, tuple[tuple[Token, ...], ...]]:
    return nodes[0], tuple(nodes[1:])


def _aff_inner(nodes: Nodes) -> tuple[Token, ...]:
    return tuple(nodes)


def _aff_times(nodes: Nodes) -> Token:
    token: Token = nodes[1]
    return token


def _aff_option(nodes: Nodes) -> Nodes:
    return nodes


def delay_us(token: Token) -> int:
    """The wait before an alternative counts; a bare number is seconds."""
    digits = token[1:].lstrip()
    number = _token("NUMBER", digits, (token.start_pos or 0) + len(token) - len(digits))
    unit = digits.lstrip("0123456789")
    if unit:
        choice_of(
            _token("NAME", unit, (number.start_pos or 0) + len(digits) - len(unit)),
            "the unit of a delay",
            ("s", "m", "h"),
        )
    else:
        count_of(number, "a delay", least=0)
    return parse_duration(digits, bare="s")


RULES: Mapping[str, Callable[[Nodes], Any]] = MappingProxyType(
    {
        "start": _start,
        "simple": _simple,
        "simple_bare": _simple_bare,
        "old_bare": _old_bare,
        "old_bracketed": _old_bracketed,
        "compound": _compound,
        "term": _term,
        "last_term": _last_term,
        "alternatives": _alternatives,
        "branch": _branch,
        "select": _select,
        "expr": _expr,
        "conj": _conj,
        "equality": _equality,
        "not_": _not,
        "neg": _neg,
        "number": _number,
        "name": _name,
        "quoted": _quoted,
        "defined": _defined,
        "order": _order,
        "order_key": _order_key,
        "same": _same,
        "rusage": _rusage,
        "usages": _usages,
        "usage": _usage,
        "usage_one": _usage_one,
        "usage_list": _usage_list,
        "span": _span,
        "span_word": _span_word,
        "span_number": _span_number,
        "span_bang": _span_bang,
        "span_first_type": _span_first_type,
        "span_type": _span_type,
        "type_count": _type_count,
        "cu": _cu,
        "cu_item": _cu_item,
        "affinity": _affinity,
        "aff_unit": _aff_unit,
        "aff_body": _aff_body,
        "aff_inner": _aff_inner,
        "aff_times": _aff_times,
        "aff_option": _aff_option,
        "old_start": _start,
        "relation": _equality,
        "sum": _equality,
        "product": _equality,
    }
)

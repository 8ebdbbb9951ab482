"""Tokens and children of the grammar made into tree nodes, one method per grammar rule.

The methods run while the parser reduces, so each sees only its own part; what concerns several
sections is judged in `assemble`. `Sections` is the unjudged form of one simple requirement and
does not leave this package.
"""

from typing import Any

from lark import Token, Transformer
from msgspec import Struct

from xce.model.resources import BUILT_IN, Direction, Kind
from xce.model.units import parse_duration
from xce.resreq import tree
from xce.resreq.errors import Code
from xce.resreq.syntax import sections
from xce.resreq.syntax.values import (
    amount_of,
    choice_of,
    column_of,
    count_of,
    operand_of,
    refuse,
    unquoted,
)

_IDLE_DEFAULT_MINUTES = 5


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


class Builder(Transformer[Token, Any]):
    """The parser's callbacks: `nodes` are the tokens and values of one rule."""

    # --- the whole ---
    def start(self, nodes: Nodes) -> Any:
        return nodes[0]

    old_start = start

    def simple(self, nodes: Nodes) -> Sections:
        return Sections(parts=tuple(nodes))

    def simple_bare(self, nodes: Nodes) -> Sections:
        bare = Section(keyword="select", column=0, value=nodes[0])
        return Sections(parts=(bare, *nodes[1:]))

    def old_bare(self, nodes: Nodes) -> Sections:
        return Sections(parts=self.simple_bare(nodes).parts, old=True)

    def old_bracketed(self, nodes: Nodes) -> Sections:
        first = Section(keyword="select", column=column_of(nodes[0]), value=nodes[1])
        return Sections(parts=(first, *nodes[2:]), old=True)

    def compound(self, nodes: Nodes) -> Nodes:
        return nodes

    def term(self, nodes: Nodes) -> RawTerm:
        digits = nodes[0].partition("*")[0].rstrip()
        number = Token.new_borrow_pos("NUMBER", digits, nodes[0])
        count = count_of(number, "the number of tasks of a term")
        return RawTerm(count=count, sections=nodes[1], column=column_of(nodes[0]))

    def last_term(self, nodes: Nodes) -> RawTerm:
        return RawTerm(count=None, sections=nodes[1], column=column_of(nodes[0]))

    def alternatives(self, nodes: Nodes) -> Nodes:
        return nodes

    def branch(self, nodes: Nodes) -> RawBranch:
        delay = nodes[2] if len(nodes) > 2 else None
        return RawBranch(body=nodes[1], delay=delay, column=column_of(nodes[0]))

    # --- select ---
    def select(self, nodes: Nodes) -> Section:
        return Section(keyword="select", column=column_of(nodes[0]), value=nodes[1])

    def expr(self, nodes: Nodes) -> Any:
        return tree.disjunction(nodes)

    def conj(self, nodes: Nodes) -> Any:
        return tree.conjunction(nodes)

    def equality(self, nodes: Nodes) -> Any:
        return tree.infix(tuple(str(op) for op in nodes[1::2]), tuple(nodes[::2]))

    relation = sum = product = equality

    def not_(self, nodes: Nodes) -> tree.Not:
        return tree.Not(term=nodes[1], column=column_of(nodes[0]))

    def neg(self, nodes: Nodes) -> tree.Neg:
        return tree.Neg(term=nodes[1], column=column_of(nodes[0]))

    def number(self, nodes: Nodes) -> Any:
        return operand_of(nodes[0])

    def name(self, nodes: Nodes) -> tree.Name:
        return tree.Name(name=str(nodes[0]), column=column_of(nodes[0]))

    def quoted(self, nodes: Nodes) -> tree.Text:
        return tree.Text(text=unquoted(nodes[0]), column=column_of(nodes[0]))

    def defined(self, nodes: Nodes) -> tree.Defined:
        return tree.Defined(name=str(nodes[1]), column=column_of(nodes[0]))

    # --- order, same ---
    def order(self, nodes: Nodes) -> Section:
        return Section(keyword="order", column=column_of(nodes[0]), value=tuple(nodes[1:]))

    def order_key(self, nodes: Nodes) -> tree.OrderKey:
        return tree.OrderKey(
            name=str(nodes[-1]), reverse=len(nodes) > 1, column=column_of(nodes[0])
        )

    def same(self, nodes: Nodes) -> Section:
        keys = tuple(tree.Same(name=str(t), column=column_of(t)) for t in nodes[1:])
        return Section(keyword="same", column=column_of(nodes[0]), value=keys)

    # --- rusage ---
    def rusage(self, nodes: Nodes) -> Section:
        return Section(keyword="rusage", column=column_of(nodes[0]), value=tuple(nodes[1:]))

    def usages(self, nodes: Nodes) -> tuple[tree.Reserve, ...]:
        reserves = tuple(reserve for group in nodes for reserve in group)
        seen: set[str] = set()
        for reserve in reserves:
            if reserve.name in seen:
                token = Token("NAME", reserve.name, start_pos=reserve.column - 1)
                said = f"{reserve.name!r} is given twice in one usage"
                raise refuse(token, Code.DUPLICATE, said)
            seen.add(reserve.name)
        return reserves

    def usage(self, nodes: Nodes) -> tuple[tree.Reserve, ...]:
        return sections.build_usage(nodes)

    def usage_one(self, nodes: Nodes) -> sections.UsagePart:
        return self._usage(nodes, listed=False)

    def usage_list(self, nodes: Nodes) -> sections.UsagePart:
        return self._usage(nodes, listed=True)

    def _usage(self, nodes: Nodes, *, listed: bool) -> sections.UsagePart:
        per = nodes[-1] if nodes[-1].type == "NAME" else None
        values = nodes[1:-2] if per is not None else nodes[1:]
        return sections.UsagePart(key=nodes[0], values=tuple(values), listed=listed, per=per)

    # --- span ---
    def span(self, nodes: Nodes) -> Section:
        value = sections.build_span(nodes[1:])
        return Section(keyword="span", column=column_of(nodes[0]), value=value)

    def span_word(self, nodes: Nodes) -> sections.SpanItem:
        return sections.SpanItem(key=nodes[0])

    def span_number(self, nodes: Nodes) -> sections.SpanItem:
        return sections.SpanItem(key=nodes[0], value=nodes[-1], minus=len(nodes) > 2)

    def span_bang(self, nodes: Nodes) -> sections.SpanItem:
        if unquoted(nodes[1]) != "!":
            said = f"{nodes[0]} cannot be {nodes[1]}"
            raise refuse(nodes[1], Code.BAD_VALUE, said, expected=("a number", "`'!'`"))
        return sections.SpanItem(key=nodes[0], value=nodes[1], bang=True)

    def span_first_type(self, nodes: Nodes) -> sections.SpanItem:
        return sections.SpanItem(key=nodes[0], by_type=nodes[1])

    def span_type(self, nodes: Nodes) -> sections.SpanItem:
        return sections.SpanItem(key=None, by_type=nodes[0])

    def type_count(self, nodes: Nodes) -> tuple[Token, Token]:
        return nodes[0], nodes[1]

    # --- cu, affinity ---
    def cu(self, nodes: Nodes) -> Section:
        value = sections.build_cu(nodes[1:])
        return Section(keyword="cu", column=column_of(nodes[0]), value=value)

    def cu_item(self, nodes: Nodes) -> tuple[Token, Token | None]:
        return nodes[0], nodes[1] if len(nodes) > 1 else None

    def affinity(self, nodes: Nodes) -> Section:
        value = sections.build_affinity(nodes[1], nodes[2:])
        return Section(keyword="affinity", column=column_of(nodes[0]), value=value)

    def aff_unit(self, nodes: Nodes) -> sections.AffinityUnit:
        body = next((n for n in nodes[1:] if isinstance(n, tuple)), (None, ()))
        times = next((n for n in nodes[1:] if isinstance(n, Token)), None)
        return sections.AffinityUnit(unit=nodes[0], units=body[0], inner=body[1], times=times)

    def aff_body(self, nodes: Nodes) -> tuple[Token, tuple[tuple[Token, ...], ...]]:
        return nodes[0], tuple(nodes[1:])

    def aff_inner(self, nodes: Nodes) -> tuple[Token, ...]:
        return tuple(nodes)

    def aff_times(self, nodes: Nodes) -> Token:
        token: Token = nodes[1]
        return token

    def aff_option(self, nodes: Nodes) -> Nodes:
        return nodes

    # --- the select language before brackets ---
    def old(self, nodes: Nodes) -> Any:
        return tree.conjunction(nodes)

    def old_any(self, nodes: Nodes) -> Any:
        at = column_of(nodes[0])
        return _equals(tree.Name(name="type", column=at), tree.Name(name="any", column=at))

    def old_not(self, nodes: Nodes) -> tree.Not:
        name = tree.Name(name=str(nodes[1]), column=column_of(nodes[1]))
        return tree.Not(term=name, column=column_of(nodes[0]))

    def old_name(self, nodes: Nodes) -> Any:
        name = self.name(nodes)
        if name.name not in ("it", "idle"):
            return name
        idle = tree.Number(digits=_IDLE_DEFAULT_MINUTES, column=name.column)
        return tree.infix((">=",), (name, idle))

    def old_value(self, nodes: Nodes) -> Any:
        name, token = self.name(nodes), nodes[1]
        type_ = BUILT_IN.get(name.name)
        if token.type != "NUMBER" or (type_ and type_.kind is Kind.STRING):
            return _equals(name, tree.Text(text=unquoted(token), column=column_of(token)))
        more_is_load = type_ is not None and type_.direction is Direction.INCREASING
        return tree.infix(("<=" if more_is_load else ">=",), (name, amount_of(token)))


def _equals(left: tree.Expr, right: tree.Expr) -> tree.Expr:
    return tree.infix(("==",), (left, right))


def delay_us(token: Token) -> int:
    """The wait before an alternative counts; a bare number is seconds."""
    digits = token[1:].lstrip()
    number = Token("NUMBER", digits, start_pos=(token.start_pos or 0) + len(token) - len(digits))
    unit = digits.lstrip("0123456789")
    if unit:
        choice_of(
            Token("NAME", unit, start_pos=(number.start_pos or 0) + len(digits) - len(unit)),
            "the unit of a delay",
            ("s", "m", "h"),
        )
    else:
        count_of(number, "a delay", least=0)
    return parse_duration(digits, bare="s")

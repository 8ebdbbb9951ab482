"""A select expression against all hosts at once, over integer columns.

The answers are those of `match`, host for host; the tests hold the two against each other. All
arithmetic stays in 64-bit integers with one constant denominator for a whole column, and bounds
are checked before every product, so nothing is rounded and nothing overflows. What does not fit
that form (division by a resource, very large products) is asked of `match`, host by host.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from math import gcd

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from xce.model.resources import ALIASES, BUILT_IN, BYTES, SPECIAL_VALUES, Kind, ResourceType
from xce.model.units import MB
from xce.resreq import tree
from xce.resreq.match import Attributes, truth

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Types = Mapping[str, ResourceType]

_BOUND = 2**62
_NOTHING = -1


class NumberColumn(Struct, frozen=True, kw_only=True):
    """A number or boolean per host, in the base unit of its type; `present` without `known` is
    stale."""

    values: Integers
    known: Mask
    present: Mask


class TextColumn(Struct, frozen=True, kw_only=True):
    """A text per host as an index into `words`, -1 where it is not known."""

    codes: Integers
    words: tuple[str, ...]
    present: Mask


class HostColumns(Struct, frozen=True, kw_only=True):
    """What is known of `rows` hosts; a name is in one of the mappings only."""

    rows: int
    numbers: Mapping[str, NumberColumn]
    texts: Mapping[str, TextColumn]


def columns_of(hosts: Sequence[Attributes]) -> HostColumns:
    """The columns of hosts given one by one. A name that is a text on one host and a number on
    another is a text: the numbers are unknown."""
    names = sorted({name for host in hosts for name in host})
    numbers, texts = {}, {}
    for name in names:
        values = [host.get(name) for host in hosts]
        present = np.array([name in host for host in hosts], dtype=bool)
        if any(isinstance(value, str) for value in values):
            words = tuple(sorted({value for value in values if isinstance(value, str)}))
            index = {word: code for code, word in enumerate(words)}
            codes = [index[v] if isinstance(v, str) else _NOTHING for v in values]
            texts[name] = TextColumn(codes=np.array(codes, np.int64), words=words, present=present)
        else:
            known = np.array([value is not None for value in values], dtype=bool)
            plain = np.array([int(value or 0) for value in values], dtype=np.int64)
            numbers[name] = NumberColumn(values=plain, known=known, present=present)
    return HostColumns(rows=len(hosts), numbers=numbers, texts=texts)


def matching(node: tree.Expr, columns: HostColumns, types: Types = BUILT_IN) -> Mask:
    """The hosts for which the expression is known to hold."""
    return np.array(_Reader(columns, types).holds(node))


def first_failing(node: tree.Expr, columns: HostColumns, types: Types = BUILT_IN) -> Integers:
    """Per host the index of the first of the joined conditions that does not hold; -1: none."""
    terms = node.terms if isinstance(node, tree.And) else (node,)
    found = np.full(columns.rows, _NOTHING, dtype=np.int64)
    for index, term in enumerate(terms):
        failing = ~matching(term, columns, types) & (found == _NOTHING)
        found[failing] = index
    return found


class _Number(Struct, frozen=True):
    """values / divisor where known; the values are a column or one constant."""

    values: Integers | int
    divisor: int
    known: Mask


class _HostByHost(Exception):
    """The expression does not fit the columns' arithmetic."""


_COMPARE: Mapping[str, Callable[[Integers, Integers | int], Mask]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class _Reader:
    """Evaluates expressions over one set of columns.

    Each condition costs one comparison and one mask: what is known to hold and what is known not
    to are asked for one by one, and most expressions need only one of them.
    """

    def __init__(self, columns: HostColumns, types: Types) -> None:
        self.columns = columns
        self.types = types
        self.everywhere: Mask = np.ones(columns.rows, dtype=bool)
        self.nowhere: Mask = np.zeros(columns.rows, dtype=bool)

    # --- truth ---

    def holds(self, node: tree.Expr, wanted: bool = True) -> Mask:
        """Where a condition is known to hold, or, with `wanted` false, known not to; asked host
        by host where the columns cannot tell. The answer may be a column: it is not changed."""
        try:
            return self._holds(node, wanted)
        except _HostByHost:
            return self._each_host(node, wanted)

    def _holds(self, node: tree.Expr, wanted: bool) -> Mask:
        match node:
            case tree.And() | tree.Or():
                join = np.logical_and if isinstance(node, tree.And) is wanted else np.logical_or
                first, second, *rest = node.terms
                found: Mask = join(self.holds(first, wanted), self.holds(second, wanted))
                for term in rest:
                    join(found, self.holds(term, wanted), out=found)
                return found
            case tree.Not():
                return self.holds(node.term, not wanted)
            case tree.Defined():
                present = self._present(node.name)
                return present if wanted else ~present
            case tree.Infix() if len(node.ops) == 1 and node.ops[0] in _COMPARE:
                return self._comparison(node, wanted)
            case _:
                number = self._number(node)
                if isinstance(number.values, int):
                    return number.known if bool(number.values) is wanted else self.nowhere
                return self._and(number.known, (number.values != 0) == wanted)

    def _comparison(self, node: tree.Infix, wanted: bool) -> Mask:
        first, second = node.terms
        op = node.ops[0] if wanted else _OPPOSITE[node.ops[0]]
        column = self._text_column(first)
        if column is not None:
            return self._text_holds(column, node, wanted)
        if isinstance(first, tree.Text):
            number = self._constant_text(first, node)
            return number.known if bool(number.values) is wanted else self.nowhere
        left, right = self._number(first), self._number(second)
        return self._and(self._and(left.known, right.known), _compared(op, left, right))

    def _and(self, first: Mask, second: Mask) -> Mask:
        if first is self.everywhere:
            return second
        return first if second is self.everywhere else first & second

    def _each_host(self, node: tree.Expr, wanted: bool) -> Mask:
        names = _names(node)
        found = (truth(node, self._row(row, names), self.types) for row in self._rows())
        return np.array([value is wanted for value in found], dtype=bool)

    def _rows(self) -> range:
        return range(self.columns.rows)

    def _row(self, row: int, names: set[str]) -> Attributes:
        attributes: dict[str, str | int | bool | None] = {}
        for name in sorted(names):
            number, text = self.columns.numbers.get(name), self.columns.texts.get(name)
            if number is not None and number.present[row]:
                attributes[name] = int(number.values[row]) if number.known[row] else None
            elif text is not None and text.present[row]:
                code = int(text.codes[row])
                attributes[name] = text.words[code] if code != _NOTHING else None
        return attributes

    # --- numbers ---

    def _own_name(self, name: str) -> str:
        known = name in self.columns.numbers or name in self.columns.texts
        return name if known else ALIASES.get(name, name)

    def _present(self, name: str) -> Mask:
        own = self._own_name(name)
        column = self.columns.numbers.get(own) or self.columns.texts.get(own)
        return column.present if column is not None else self.nowhere

    def _unknown(self) -> _Number:
        return _Number(0, 1, self.nowhere)

    def _number(self, node: tree.Expr) -> _Number:
        match node:
            case tree.Number():
                return _Number(node.digits, 10**node.places, self.everywhere)
            case tree.Size():
                return _Number(node.size_bytes, MB, self.everywhere)
            case tree.Text():
                return self._unknown()
            case tree.Name():
                return self._resource(node.name)
            case tree.Neg():
                number = self._number(node.term)
                return _Number(-number.values, number.divisor, number.known)
            case tree.Infix():
                return self._run(node)
            case _:
                holds = self.holds(node)
                known = holds | self.holds(node, wanted=False)
                return _Number(holds.astype(np.int64), 1, known)

    def _resource(self, name: str) -> _Number:
        own = self._own_name(name)
        type_ = self.types.get(own)
        column = self.columns.numbers.get(own)
        boolean = type_ is not None and type_.kind is Kind.BOOLEAN
        if column is None:
            held = self.everywhere if boolean and own not in self.columns.texts else self.nowhere
            return _Number(0, 1, held)
        known = column.known | ~column.present if boolean else column.known
        divisor = 1 if type_ is None else MB if type_.unit == BYTES else type_.scale
        return _Number(column.values, divisor, known)

    def _run(self, node: tree.Infix) -> _Number:
        first = node.terms[0]
        if isinstance(first, tree.Text):
            return self._constant_text(first, node)
        column = self._text_column(first)
        if column is not None:
            holds = self._text_holds(column, node, wanted=True)
            known = holds | self._text_holds(column, node, wanted=False)
            return _Number(holds.astype(np.int64), 1, known)
        left = self._number(first)
        for op, term in zip(node.ops, node.terms[1:], strict=True):
            right = self._number(term)
            known = self._and(left.known, right.known)
            if op in _COMPARE:
                left = _Number(_compared(op, left, right).astype(np.int64), 1, known)
            else:
                left = self._arithmetic(op, left, right, known)
        return left

    def _arithmetic(self, op: str, left: _Number, right: _Number, known: Mask) -> _Number:
        if op == "*":
            values = _product(left.values, right.values)
            return _Number(values, left.divisor * right.divisor, known)
        if op == "/":
            if not isinstance(right.values, int):
                raise _HostByHost
            if right.values == 0:
                return self._unknown()
            sign = 1 if right.values > 0 else -1
            values = _product(left.values, sign * right.divisor)
            return _Number(values, left.divisor * abs(right.values), known)
        ours, theirs = _same_divisor(left, right)
        if _size(ours) + _size(theirs) > _BOUND:
            raise _HostByHost
        total = ours + theirs if op == "+" else ours - theirs
        return _Number(
            total, left.divisor * right.divisor // gcd(left.divisor, right.divisor), known
        )

    # --- texts ---

    def _text_column(self, term: tree.Expr) -> TextColumn | None:
        if not isinstance(term, tree.Name):
            return None
        return self.columns.texts.get(self._own_name(term.name))

    def _text_holds(self, column: TextColumn, node: tree.Infix, wanted: bool) -> Mask:
        """Where a text compares, or does not, by the answers for the few words there are."""
        first, right, op = node.terms[0], node.terms[1], node.ops[0]
        assert isinstance(first, tree.Name)
        if (
            len(node.terms) > 2
            or op not in _COMPARE
            or not isinstance(right, tree.Name | tree.Text)
        ):
            return self.nowhere
        word = right.name if isinstance(right, tree.Name) else right.text
        special = word in SPECIAL_VALUES.get(first.name, ())
        answers = [_text_holds(op, text, word, special) is wanted for text in column.words]
        if sum(answers) == 1:
            found: Mask = column.codes == answers.index(True)
            return found
        table: Mask = np.array([*answers, False], dtype=bool)
        return table.take(column.codes)

    def _constant_text(self, first: tree.Text, node: tree.Infix) -> _Number:
        right = node.terms[1]
        if len(node.terms) > 2 or node.ops[0] not in _COMPARE:
            return self._unknown()
        if not isinstance(right, tree.Name | tree.Text):
            return self._unknown()
        word = right.name if isinstance(right, tree.Name) else right.text
        holds = _text_holds(node.ops[0], first.text, word, special=False)
        return _Number(int(holds), 1, self.everywhere)


def _names(node: tree.Expr) -> set[str]:
    names: set[str] = set()
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, tree.Name | tree.Defined):
            names.update((part.name, ALIASES.get(part.name, part.name)))
        stack.extend(tree.children(part))
    return names


def _text_holds(op: str, left: str, right: str, special: bool) -> bool:
    if special:
        return op in ("==", "<=", ">=")
    answers = {"==": left == right, "!=": left != right, "<": left < right}
    answers |= {"<=": left <= right, ">": left > right, ">=": left >= right}
    return answers[op]


def _size(values: Integers | int) -> int:
    if isinstance(values, int):
        return abs(values)
    if not len(values):
        return 0
    return max(abs(int(values.max())), abs(int(values.min())))


def _product(left: Integers | int, right: Integers | int) -> Integers | int:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    ours, theirs = _size(left), _size(right)
    if max(ours, theirs, ours * theirs) > _BOUND:
        raise _HostByHost
    return left * right


def _same_divisor(left: _Number, right: _Number) -> tuple[Integers | int, Integers | int]:
    common = gcd(left.divisor, right.divisor)
    ours = _product(left.values, right.divisor // common)
    return ours, _product(right.values, left.divisor // common)


def _compared(op: str, left: _Number, right: _Number) -> Mask:
    if not isinstance(left.values, int) and isinstance(right.values, int):
        return _against_constant(op, left, right)
    if isinstance(left.values, int) and not isinstance(right.values, int):
        return _against_constant(_MIRRORED[op], right, left)
    if isinstance(left.values, int) and isinstance(right.values, int):
        ours, theirs = left.values * right.divisor, right.values * left.divisor
        constant: Mask = np.full(len(left.known), bool(_COMPARE[op](ours, theirs)))  # type: ignore[arg-type]
        return constant
    ours_many, theirs_many = _same_divisor(left, right)
    assert not isinstance(ours_many, int)
    return _COMPARE[op](ours_many, theirs_many)


def _against_constant(op: str, column: _Number, constant: _Number) -> Mask:
    """values/d op c as values op' t with t whole: exact however large the constant is."""
    assert isinstance(constant.values, int)
    assert not isinstance(column.values, int)
    whole, rest = divmod(constant.values * column.divisor, constant.divisor)
    if op in ("==", "!=") and (rest or abs(whole) > _BOUND):
        return np.full(len(column.values), op == "!=")
    if rest and op in (">=", "<"):
        whole += 1
    return _COMPARE[op](column.values, max(-_BOUND, min(_BOUND, whole)))

"""The tree of a resource requirement: frozen values, equal when they say the same thing.

`column` is where a node stood in the text (1-based); it takes no part in equality or hashing,
so that two spellings of one requirement give equal trees. The functions at the end build the
expression nodes in normal form: `&&` and `||` and runs of one operator level are flat, so depth
counts what a reader would call nesting, and a plain quoted word beside a comparison is a name.

The tree knows no resource types: whether `X86_64` is a value or a resource is decided by who
knows the types. Sizes with a unit are bytes already; bare numbers stay numbers.
"""

import re
from enum import StrEnum

from msgspec import Struct

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Node(Struct, frozen=True, kw_only=True, gc=False, eq=False):
    """What all nodes share: a place that does not count for equality."""

    column: int = 0

    def _said(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name != "column")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._said() == other._said()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._said()))


# --- expressions -------------------------------------------------------------------------------


class Number(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """A bare decimal, exact: digits / 10**places, in lowest form."""

    digits: int
    places: int = 0


class Size(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """A number with a size unit."""

    size_bytes: int


class Text(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """A quoted value, or a word that can be nothing but a value."""

    text: str


class Name(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """A bare word: a resource or, on the right of a comparison, perhaps a value."""

    name: str


class Defined(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """`defined(name)`: the host has the resource."""

    name: str


class Not(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """`!term`."""

    term: "Expr"


class Neg(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """`-term`."""

    term: "Expr"


class Infix(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """A run of operators of one level, applied from left to right: one more term than ops."""

    ops: tuple[str, ...]
    terms: tuple["Expr", ...]


class And(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """All terms hold."""

    terms: tuple["Expr", ...]


class Or(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """At least one term holds."""

    terms: tuple["Expr", ...]


Expr = Number | Size | Text | Name | Defined | Not | Neg | Infix | And | Or
Amount = Number | Size


# --- sections ----------------------------------------------------------------------------------


class Per(StrEnum):
    """What an amount is counted for; DEFAULT leaves it to the type's scope."""

    DEFAULT = ""
    JOB = "job"
    TASK = "task"
    HOST = "host"


class OrderKey(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """One key of order[]; `reverse` is the minus sign."""

    name: str
    reverse: bool = False


class Phase(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """An amount for a time: `duration_us` None is until the end, `decay` 1 falls to nothing."""

    amount: Amount
    duration_us: int | None = None
    decay: int = 0


class Reserve(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """One resource of rusage[]; more than one phase only for `mem`."""

    name: str
    phases: tuple[Phase, ...]
    per: Per = Per.DEFAULT
    threshold: Amount | None = None


class SpanForm(StrEnum):
    """The ways to spread tasks over hosts."""

    HOSTS = "hosts"
    PTILE = "ptile"
    BLOCK = "block"
    STRIPE = "stripe"
    GTILE = "gtile"


class Span(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """`count` is the number given (-1 for hosts=-1, 0 for none), `slots` says that '!' was
    given, `by_type` are (host type or model, count) pairs in the order given."""

    form: SpanForm
    count: int = 0
    slots: bool = False
    by_type: tuple[tuple[str, int], ...] = ()


class Same(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """One resource that must be equal on all hosts."""

    name: str


class Cu(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """Compute units; empty or 0 means not given."""

    type: str = ""
    pref: str = ""
    maxcus: int = 0
    usablecuslots: int = 0
    balance: bool = False
    excl: bool = False
    excl_level: str = ""


class Affinity(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """Processor units for every task: `count` times `units` of `unit`."""

    unit: str
    units: int = 1
    count: int = 1
    same: str = ""
    exclusive: str = ""
    exclusive_scope: str = ""
    cpubind: str = ""
    membind: str = ""
    distribute: str = ""
    pack_level: str = ""
    pack_count: int = 0


class Simple(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """The sections of one requirement; rusage is a tuple of alternatives of reserves."""

    select: Expr | None = None
    order: tuple[OrderKey, ...] = ()
    rusage: tuple[tuple[Reserve, ...], ...] = ()
    span: Span | None = None
    same: tuple[Same, ...] = ()
    cu: Cu | None = None
    affinity: Affinity | None = None


class Term(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """`count*{simple}`; None is the last term without a number."""

    count: int | None
    simple: Simple


class Compound(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """Different requirements for parts of the tasks."""

    terms: tuple[Term, ...]


class Branch(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """One alternative, considered after pending for `delay_us`."""

    body: Simple | Compound
    delay_us: int | None = None


class Alternatives(Node, frozen=True, kw_only=True, gc=False, eq=False):
    """Whole requirements tried in order."""

    branches: tuple[Branch, ...]


Tree = Simple | Compound | Alternatives


def simples(made: Tree) -> tuple[Simple, ...]:
    """The parts that stand alone: of a compound its terms, of alternatives those of each branch."""
    if isinstance(made, Simple):
        return (made,)
    if isinstance(made, Compound):
        return tuple(term.simple for term in made.terms)
    return tuple(simple for branch in made.branches for simple in simples(branch.body))


# --- building expressions in normal form --------------------------------------------------------

LEVELS = (
    frozenset({"==", "!="}),
    frozenset({"<", "<=", ">", ">="}),
    frozenset("+-"),
    frozenset("*/"),
)
COMPARISONS = LEVELS[0] | LEVELS[1]


def level_of(op: str) -> int:
    """How tightly an operator binds: an index into LEVELS."""
    return next(index for index, ops in enumerate(LEVELS) if op in ops)


def conjunction(terms: "list[Expr]") -> "Expr":
    """The terms joined by &&, flat."""
    if len(terms) == 1:
        return terms[0]
    flat = tuple(t for term in terms for t in (term.terms if isinstance(term, And) else (term,)))
    return And(terms=flat, column=terms[0].column)


def disjunction(terms: "list[Expr]") -> "Expr":
    """The terms joined by ||, flat."""
    if len(terms) == 1:
        return terms[0]
    flat = tuple(t for term in terms for t in (term.terms if isinstance(term, Or) else (term,)))
    return Or(terms=flat, column=terms[0].column)


def infix(ops: tuple[str, ...], terms: "tuple[Expr, ...]") -> "Expr":
    """The terms joined by operators of one level, the left one flattened into the run."""
    first = terms[0]
    if isinstance(first, Infix) and level_of(first.ops[0]) == level_of(ops[0]):
        return Infix(ops=first.ops + ops, terms=first.terms + terms[1:], column=first.column)
    if len(terms) == 2 and ops[0] in COMPARISONS and isinstance(first, Name):
        second = terms[1]
        if isinstance(second, Text) and WORD.fullmatch(second.text):
            terms = (first, Name(name=second.text, column=second.column))
    return Infix(ops=ops, terms=terms, column=first.column)


def children(node: "Expr") -> "tuple[Expr, ...]":
    """The parts of an expression node."""
    if isinstance(node, And | Or | Infix):
        return node.terms
    if isinstance(node, Not | Neg):
        return (node.term,)
    return ()

"""A tree judged against the resource types: names, kinds, units, what may be reserved.

The same text can be right on one site and wrong on another, so nothing here happens while
parsing. `problems` gives every fault in the order of the columns; `check` raises the first and
otherwise gives what is legal but probably not meant. Words on the right of a comparison with a
string resource are values; anywhere else a word must be a resource.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from xce.model.resources import ALIASES, BYTES, Direction, Kind, ResourceType
from xce.model.units import nearest
from xce.resreq import tree
from xce.resreq.errors import Code, Remark, ResreqError

Types = Mapping[str, ResourceType]
Findings = Iterator[ResreqError | Remark]

_LOCKS = frozenset({"lock", "lockU", "lockW", "lockM", "lockUW", "lockUM", "lockWM", "lockUWM"})
_STATUS_VALUES = _LOCKS | {"ok", "busy", "unavail"}
_ARITHMETIC = tree.LEVELS[2] | tree.LEVELS[3]


def check(made: tree.Tree, types: Types) -> tuple[Remark, ...]:
    """Raises the first fault; otherwise what is legal and probably not meant."""
    remarks = []
    for finding in _tree(made, types):
        if isinstance(finding, ResreqError):
            raise finding
        remarks.append(finding)
    return tuple(remarks)


def problems(made: tree.Tree, types: Types) -> tuple[ResreqError, ...]:
    """Every fault, in the order of the columns."""
    faults = [finding for finding in _tree(made, types) if isinstance(finding, ResreqError)]
    return tuple(sorted(faults, key=lambda fault: fault.column))


def type_of(name: str, types: Types) -> ResourceType | None:
    """The type of that name, by its own name or another one that is known for it."""
    return types.get(name) or types.get(ALIASES.get(name, ""))


def _tree(made: tree.Tree, types: Types) -> Findings:
    if isinstance(made, tree.Alternatives):
        for branch in made.branches:
            yield from _tree(branch.body, types)
    elif isinstance(made, tree.Compound):
        for term in made.terms:
            yield from _tree(term.simple, types)
    else:
        yield from _simple(made, types)


def _simple(made: tree.Simple, types: Types) -> Findings:
    if made.select is not None:
        yield from _truth(made.select, types)
    for key in made.order:
        yield from _order(key, types)
    for usage in made.rusage:
        yield from _usage(usage, types)
    for same in made.same:
        yield from _same(same, types)


def _unknown(name: str, column: int, types: Types, hint: str = "") -> ResreqError:
    near = _near(name, tuple(types))
    return ResreqError(
        Code.UNKNOWN_NAME,
        f"no resource is called {name!r}",
        column=column,
        end=column + len(name),
        found=name,
        hint=f"did you mean `{near}`?" if near else hint,
    )


@lru_cache(maxsize=4096)
def _near(name: str, known: tuple[str, ...]) -> str:
    return nearest(name, (*known, *ALIASES))


def _wrong(message: str, node: tree.Node, hint: str = "") -> ResreqError:
    return ResreqError(Code.WRONG_KIND, message, column=node.column, hint=hint)


# --- select ------------------------------------------------------------------------------------


def _truth(node: tree.Expr, types: Types) -> Findings:
    """A condition: anything that is true or false, numbers included."""
    if isinstance(node, tree.And | tree.Or | tree.Not):
        for child in tree.children(node):
            yield from _truth(child, types)
    elif isinstance(node, tree.Name):
        type_ = type_of(node.name, types)
        if type_ is None:
            yield _unknown(node.name, node.column, types)
        elif type_.kind is Kind.STRING:
            said = f"{node.name} is a text: it is neither true nor false"
            yield _wrong(said, node, f"compare it: {node.name}==VALUE")
    elif isinstance(node, tree.Text):
        yield _wrong(f"the text {node.text!r} is no condition", node)
    elif isinstance(node, tree.Size):
        yield _wrong("a size is no condition", node, "compare it with a resource")
    else:
        yield from _number(node, types)


def _number(node: tree.Expr, types: Types) -> Findings:
    """A number: a resource that has one, arithmetic, or a comparison (1 or 0)."""
    match node:
        case tree.Number() | tree.Size():
            return
        case tree.Defined():
            if type_of(node.name, types) is None:
                yield _unknown(node.name, node.column + len("defined("), types)
        case tree.Text():
            yield _wrong(f"the text {node.text!r} is no number", node)
        case tree.Name():
            type_ = type_of(node.name, types)
            if type_ is None:
                hint = "a value is compared with a text resource: type==VALUE"
                yield _unknown(node.name, node.column, types, hint)
            elif type_.kind is Kind.STRING:
                yield _wrong(f"{node.name} is a text, not a number", node)
        case tree.Infix():
            yield from _infix(node, types)
        case tree.Neg():
            yield from _number(node.term, types)
        case _:
            yield from _truth(node, types)


def _infix(node: tree.Infix, types: Types) -> Findings:
    text = next((term for term in node.terms if _is_text(term, types)), None)
    if text is None or node.ops[0] in _ARITHMETIC:
        for term in node.terms:
            yield from _number(term, types)
        if node.ops[0] in tree.COMPARISONS:
            yield from _fractions(node)
        return
    yield from _text_comparison(node, text, types)


def _is_text(term: tree.Expr, types: Types) -> bool:
    if isinstance(term, tree.Text):
        return True
    type_ = type_of(term.name, types) if isinstance(term, tree.Name) else None
    return type_ is not None and type_.kind is Kind.STRING


def _text_comparison(node: tree.Infix, text: tree.Expr, types: Types) -> Findings:
    left, right = node.terms[0], node.terms[1]
    if len(node.terms) > 2 or not isinstance(left, tree.Name):
        hint = "the resource stands on the left: type==VALUE"
        yield _wrong("texts are compared as resource, operator, value", text, hint)
        return
    type_ = type_of(left.name, types)
    if type_ is None:
        yield _unknown(left.name, left.column, types)
    elif type_.kind is not Kind.STRING:
        yield _wrong(f"{left.name} is a {type_.kind}, not a text", left)
    elif isinstance(right, tree.Number | tree.Size):
        said = f"{left.name} is a text: compare it with a text"
        yield _wrong(said, right, "quote the value")
    elif not isinstance(right, tree.Name | tree.Text):
        hint = "quote a value that has other signs than letters, digits and _"
        yield _wrong(f"{left.name} is a text: compare it with one value", right, hint)
    elif type_.name == "status":
        value = right.name if isinstance(right, tree.Name) else right.text
        if value not in _STATUS_VALUES:
            said = f"no host has the status {value!r}"
            near = nearest(value, _STATUS_VALUES)
            hint = f"did you mean `{near}`?" if near else ""
            yield ResreqError(Code.BAD_VALUE, said, column=right.column, hint=hint)


def _fractions(node: tree.Infix) -> Findings:
    left, right = node.terms[0], node.terms[-1]
    if not isinstance(left, tree.Name) or left.name != "ut":
        return
    if isinstance(right, tree.Number) and right.digits > 10**right.places:
        said = "ut is a fraction from 0.0 to 1.0 here, not a percentage"
        yield Remark(code="fraction", message=said, column=right.column)


# --- order, rusage, same -----------------------------------------------------------------------


def _order(key: tree.OrderKey, types: Types) -> Findings:
    type_ = type_of(key.name, types)
    column = key.column + (1 if key.reverse else 0)
    if type_ is None:
        yield _unknown(key.name, column, types)
    elif type_.kind in (Kind.STRING, Kind.BOOLEAN) or type_.direction is Direction.NONE:
        said = f"hosts cannot be ordered by {key.name}: it has no direction"
        yield ResreqError(Code.NOT_ORDERED, said, column=column)


def _usage(usage: tuple[tree.Reserve, ...], types: Types) -> Findings:
    seen: dict[str, str] = {}
    for reserve in usage:
        yield from _reserve(reserve, types)
        type_ = type_of(reserve.name, types)
        target = (type_.stands_for or type_.name) if type_ else reserve.name
        if target in seen:
            said = f"{reserve.name} and {seen[target]} are one resource"
            yield ResreqError(Code.DUPLICATE, said, column=reserve.column)
        seen[target] = reserve.name


def _reserve(reserve: tree.Reserve, types: Types) -> Findings:
    type_ = type_of(reserve.name, types)
    if type_ is None:
        yield _unknown(reserve.name, reserve.column, types)
        return
    if not type_.consumable:
        said = f"{reserve.name} cannot be reserved: nothing of it is used up"
        hint = "ask for it in select[ ]"
        yield ResreqError(
            Code.NOT_CONSUMABLE, said, column=reserve.column, found=reserve.name, hint=hint
        )
        return
    amounts = [phase.amount for phase in reserve.phases]
    if reserve.threshold is not None:
        amounts.append(reserve.threshold)
    for amount in amounts:
        yield from _amount(amount, type_)


def _amount(amount: tree.Amount, type_: ResourceType) -> Findings:
    if isinstance(amount, tree.Size):
        if type_.unit != BYTES:
            said = f"{type_.name} is counted, it has no size unit"
            yield ResreqError(Code.BAD_UNIT, said, column=amount.column)
    elif type_.unit != BYTES and (amount.digits * type_.scale) % 10**amount.places:
        said = f"{type_.name} is given in whole numbers"
        if type_.scale > 1:
            said = f"{type_.name} is given in parts of 1/{type_.scale}"
        yield ResreqError(Code.NOT_WHOLE, said, column=amount.column)


def _same(same: tree.Same, types: Types) -> Findings:
    type_ = type_of(same.name, types)
    if type_ is None:
        yield _unknown(same.name, same.column, types)
    elif type_.interval_us:
        said = f"same[ ] takes resources that do not change: {same.name} does"
        yield ResreqError(Code.NOT_STATIC, said, column=same.column)

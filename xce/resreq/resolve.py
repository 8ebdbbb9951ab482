"""A checked tree brought down to what the session needs: a `Need`.

An amount on a host resource counts per task, on a shared pool per job; `/task /host /job` says
otherwise. What its type says must be provisioned stays in the need under its own name; the
session makes a nameless claim of it. Sizes become bytes, other numbers the type's smallest part,
and a bare number compared with a size resource becomes a size, so that the stored text says what
was meant. A section that the session cannot honour is refused with its column, never dropped.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NoReturn

from xce.model.resources import (
    BYTES,
    SPECIAL_VALUES,
    InstanceNeed,
    Layer,
    Need,
    ResourceType,
    Scope,
)
from xce.model.units import MB, scaled_up
from xce.resreq import tree
from xce.resreq.check import check, type_of
from xce.resreq.errors import Code, ResreqError
from xce.resreq.print import canonical_select

Types = Mapping[str, ResourceType]

# Amounts live in 64-bit columns.
AMOUNT_MAX = 2**62
NOTHING: Mapping[str, str] = MappingProxyType({})


def resolve(made: tree.Tree, *, types: Types, local: Mapping[str, str] = NOTHING) -> Need:
    """The need of one job; `local` is the submitter's host type and model where known."""
    check(made, types)
    if not isinstance(made, tree.Simple):
        what = "an alternative" if isinstance(made, tree.Alternatives) else "a compound"
        _unsupported(f"{what} requirement", made)
    _supported(made)
    span_hosts, ptile = _span(made.span)
    amounts = _amounts(made.rusage[0] if made.rusage else (), types)
    instances = tuple(
        InstanceNeed(type=name, count_per_task=amount)
        for name, amount in sorted(amounts.pop("instance", {}).items())
    )
    return Need(
        select=canonical_select(normal(made.select, types, local)) if made.select else "",
        span_hosts=span_hosts,
        ptile=ptile,
        per_task=tuple(sorted(amounts.get("task", {}).items())),
        per_host=tuple(sorted(amounts.get("host", {}).items())),
        per_job=tuple(sorted(amounts.get("job", {}).items())),
        instances=instances,
    )


def _unsupported(what: str, node: tree.Node) -> NoReturn:
    raise ResreqError(
        Code.NOT_SUPPORTED_HERE,
        f"{what} cannot be honoured yet",
        column=node.column,
        hint="leave it out, or check it with `resreq check`",
    )


def _supported(made: tree.Simple) -> None:
    if made.order:
        _unsupported("order[ ]", made.order[0])
    if made.same:
        _unsupported("same[ ]", made.same[0])
    if made.cu is not None:
        _unsupported("cu[ ]", made.cu)
    if made.affinity is not None:
        _unsupported("affinity[ ]", made.affinity)
    if len(made.rusage) > 1:
        _unsupported("`||` in rusage[ ]", made.rusage[1][0])
    for reserve in made.rusage[0] if made.rusage else ():
        if len(reserve.phases) > 1:
            _unsupported("a list of amounts in rusage[ ]", reserve)
        if reserve.phases[0].duration_us is not None:
            _unsupported("duration in rusage[ ]", reserve)
        if reserve.threshold is not None:
            _unsupported("threshold in rusage[ ]", reserve)


def _span(span: tree.Span | None) -> tuple[int, int]:
    if span is None:
        return 0, 0
    if span.form is tree.SpanForm.HOSTS:
        return max(span.count, 0), 0
    if span.form is tree.SpanForm.PTILE and not span.slots and not span.by_type:
        return 0, span.count
    form = f"{span.form} with host types or '!'" if span.form is tree.SpanForm.PTILE else span.form
    _unsupported(f"span[{form}]", span)


def _amounts(usage: tuple[tree.Reserve, ...], types: Types) -> dict[str, dict[str, int]]:
    """Amounts by what they are counted for: task, host, job, instance."""
    found: dict[str, dict[str, int]] = {}
    for reserve in usage:
        type_ = type_of(reserve.name, types)
        assert type_ is not None, "checked above"
        amount = amount_in_base(reserve.phases[0].amount, type_)
        if amount == 0:
            continue
        kept = found.setdefault(_counted_for(reserve, type_), {})
        kept[type_.stands_for or type_.name] = amount
    return found


def _counted_for(reserve: tree.Reserve, type_: ResourceType) -> str:
    if type_.layer is Layer.INSTANCE or type_.stands_for:
        if reserve.per not in (tree.Per.DEFAULT, tree.Per.TASK):
            _unsupported(f"{reserve.name} per {reserve.per}", reserve)
        return "instance"
    if reserve.per is not tree.Per.DEFAULT:
        return reserve.per.value
    return "job" if type_.scope is Scope.SHARED else "task"


def amount_in_base(amount: tree.Amount, type_: ResourceType) -> int:
    """The amount in the type's base unit; what no column can hold is refused."""
    if isinstance(amount, tree.Size):
        base = amount.size_bytes
    else:
        factor = MB if type_.unit == BYTES else type_.scale
        base = scaled_up(amount.digits, amount.places, factor)
    if base > AMOUNT_MAX:
        said = f"no host can ever have this much {type_.name}"
        raise ResreqError(Code.TOO_LARGE, said, column=amount.column)
    return base


# --- select in normal form ----------------------------------------------------------------------


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

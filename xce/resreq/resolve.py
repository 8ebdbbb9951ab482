"""A checked tree brought down to what the session needs: a `Need`.

An amount on a host resource counts per task, on a shared pool per job; `/task /host /job` says
otherwise. What its type says must be provisioned stays in the need under its own name; the
session makes a nameless claim of it. Sizes become bytes, other numbers the type's smallest part,
and a bare number compared with a size resource becomes a size, so that the stored text says what
was meant. A threshold is a condition on the host, so it joins the select. `||` in rusage makes
alternatives that differ in their amounts only. Nothing is dropped: what cannot be honoured is
refused with its column.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice, product
from types import MappingProxyType

from msgspec import structs

from xce.model.need import WHOLE, Alternative, InstanceNeed, Need, Part, Term
from xce.model.resources import Direction, Layer, ResourceType
from xce.resreq import tree
from xce.resreq.check import check, type_of
from xce.resreq.errors import Code, ResreqError
from xce.resreq.needs.amounts import Amounts, amount_in_base, amounts_of
from xce.resreq.needs.normal import normal
from xce.resreq.needs.sections import cpus_of, units_of
from xce.resreq.parse import COMPAT, parse
from xce.resreq.print import canonical, canonical_select

Types = Mapping[str, ResourceType]

ALTERNATIVES_MAX = 64
NOTHING: Mapping[str, str] = MappingProxyType({})


def resolve(made: tree.Tree, *, types: Types, local: Mapping[str, str] = NOTHING) -> Need:
    """The need of one job; `local` is the submitter's host type and model where known."""
    check(made, types)
    found = [
        _alternative(one, types, local, delay_us=delay_us)
        for one, delay_us in alternatives_of(made)
    ]
    first = found[0]
    fields = {name: getattr(first.part, name) for name in Part.__struct_fields__}
    return Need(**fields, terms=first.terms, others=tuple(found[1:]))


Plain = tree.Simple | tree.Compound


def alternatives_of(made: tree.Tree) -> list[tuple[Plain, int]]:
    """The requirements that are tried in turn, without any `||`, each with its delay; a need's
    alternatives have the same numbers."""
    found = list(islice(_expanded(made), ALTERNATIVES_MAX + 1))
    if len(found) > ALTERNATIVES_MAX:
        said = f"more than {ALTERNATIVES_MAX} alternatives"
        raise ResreqError(Code.TOO_LARGE, said, column=made.column)
    return found


@lru_cache(maxsize=4096)
def effective(text: str, index: int) -> str:
    """The one alternative of a requirement that an allocation serves, in canonical text."""
    if "||" not in text:
        return text
    return canonical(alternatives_of(parse(text, mode=COMPAT).tree)[index][0])


def _expanded(made: tree.Tree) -> Iterator[tuple[Plain, int]]:
    if isinstance(made, tree.Alternatives):
        for branch in made.branches:
            for one, _ in _expanded(branch.body):
                yield one, branch.delay_us or 0
    elif isinstance(made, tree.Compound):
        for simples in product(*(_simples(term.simple) for term in made.terms)):
            terms = tuple(
                structs.replace(term, simple=simple)
                for term, simple in zip(made.terms, simples, strict=True)
            )
            yield structs.replace(made, terms=terms), 0
    else:
        for simple in _simples(made):
            yield simple, 0


def _simples(made: tree.Simple) -> list[tree.Simple]:
    """One for each alternative of rusage."""
    if len(made.rusage) < 2:
        return [made]
    return [structs.replace(made, rusage=(usage,)) for usage in made.rusage]


def _alternative(
    made: Plain, types: Types, local: Mapping[str, str], *, delay_us: int
) -> Alternative:
    if isinstance(made, tree.Simple):
        return Alternative(part=_part(made, types, local), delay_us=delay_us)
    terms = tuple(
        Term(tasks=term.count or 0, part=_part(term.simple, types, local)) for term in made.terms
    )
    return Alternative(part=terms[0].part, terms=terms, delay_us=delay_us)


def _part(made: tree.Simple, types: Types, local: Mapping[str, str]) -> Part:
    usage = made.rusage[0] if made.rusage else ()
    amounts = amounts_of(usage, types)
    return structs.replace(
        _span(made),
        select=_select(made.select, usage, types, local),
        per_task=amounts.pairs("task"),
        per_host=amounts.pairs("host"),
        per_job=amounts.pairs("job"),
        instances=_instances(amounts),
        timed=tuple(amounts.timed),
        order=tuple(_order(key, types) for key in made.order),
        same=tuple(_own(key.name, types) for key in made.same),
        units=units_of(made.cu),
        cpus=cpus_of(made.affinity),
    )


def _own(name: str, types: Types) -> str:
    type_ = type_of(name, types)
    return type_.name if type_ else name


def _order(key: tree.OrderKey, types: Types) -> tuple[str, int]:
    """A key with its direction: 1 = small values first. Load is best when small, room when
    large; the minus sign turns it round."""
    type_ = type_of(key.name, types)
    assert type_ is not None, "checked above"
    natural = 1 if type_.direction is Direction.INCREASING else -1
    return type_.name, -natural if key.reverse else natural


def _span(made: tree.Simple) -> Part:
    span = made.span
    if span is None:
        return Part()
    match span.form:
        case tree.SpanForm.HOSTS:
            return Part(span_hosts=max(span.count, 0))
        case tree.SpanForm.BLOCK:
            return Part(block=span.count)
        case tree.SpanForm.STRIPE:
            return Part(stripe=1, stripe_most=span.count)
        case tree.SpanForm.GTILE:
            return Part(gtile=WHOLE if span.slots else span.count)
        case _:
            keys = {key.name for key in made.same}
            by = ("type" if "type" in keys else "model") if span.by_type else ""
            ptile = WHOLE if span.slots else span.count
            return Part(ptile=ptile, tile_by=by, tiles=tuple(sorted(span.by_type)))


def _instances(amounts: Amounts) -> tuple[InstanceNeed, ...]:
    return tuple(
        InstanceNeed(type=name, count_per_task=amount, per=per)
        for (per, name), amount in sorted(amounts.instances.items(), key=lambda pair: pair[0][1])
    )


def _select(
    select: tree.Expr | None,
    usage: tuple[tree.Reserve, ...],
    types: Types,
    local: Mapping[str, str],
) -> str:
    """The select and the thresholds of an alternative of rusage, in normal form."""
    terms = [normal(select, types, local)] if select is not None else []
    terms.extend(
        _threshold(reserve, reserve.threshold, types)
        for reserve in usage
        if reserve.threshold is not None
    )
    return canonical_select(tree.conjunction(terms)) if terms else ""


def _threshold(reserve: tree.Reserve, level: tree.Amount, types: Types) -> tree.Expr:
    """A host must be on the good side of the threshold."""
    type_ = type_of(reserve.name, types)
    assert type_ is not None, "checked above"
    if type_.layer is Layer.INSTANCE or type_.stands_for:
        said = f"{reserve.name} is counted in pieces: it has no level for a threshold"
        raise ResreqError(Code.BAD_VALUE, said, column=reserve.column)
    op = "<=" if type_.direction is Direction.INCREASING else ">="
    name = tree.Name(name=type_.name, column=reserve.column)
    return normal(tree.infix((op,), (name, level)), types, NOTHING)


__all__ = ["alternatives_of", "amount_in_base", "effective", "normal", "resolve"]

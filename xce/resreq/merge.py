"""Several requirements made into one: the -R of one job, and the levels job, application, queue.

Several -R of a job are equals: conditions and reservations add up, and what can only be said
once may not be said differently. Levels have a rank: select conditions are joined with &&, of
each resource the reservation of the highest level wins and the missing ones come from below,
`same` is united, and of order, span, cu and affinity the highest level that has one counts. A
compound or alternative requirement of a level is taken whole; of the levels below it only the
queue's simple one is merged into each of its parts.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import structs

from xce.model.resources import BUILT_IN, ResourceType
from xce.resreq import tree
from xce.resreq.allowed import Range, within_queue, within_ranges
from xce.resreq.errors import Code, Remark, ResreqError
from xce.resreq.parse import STRICT, Parsed, parse
from xce.resreq.syntax.assemble import join_rusage, judge_span

Types = Mapping[str, ResourceType]

# More alternatives than this are not made by multiplying the alternatives of two levels.
PRODUCT_MAX = 200

Key = TypeVar("Key", bound=tree.Node)


# --- several -R of one job --------------------------------------------------------------------


def merge_requirements(texts: Sequence[str], *, mode: str = STRICT) -> Parsed:
    """The one requirement of several -R; a refusal carries the text that it is about."""
    if len(texts) == 1:
        return parse(texts[0], mode=mode)
    merged = tree.Simple()
    conditions: list[tree.Expr | None] = []
    remarks: list[Remark] = []
    for text in texts:
        parsed = parse(text, mode=mode, partial=True)
        remarks.extend(parsed.warnings)
        try:
            added = _only_simple(parsed.tree)
            conditions.append(added.select)
            merged = _joined(merged, added)
        except ResreqError as error:
            error.text = text
            raise
    merged = structs.replace(merged, select=_all_of(*conditions))
    judge_span(merged)
    return Parsed(tree=merged, warnings=tuple(remarks))


def _only_simple(made: tree.Tree) -> tree.Simple:
    if isinstance(made, tree.Simple):
        return made
    what = "a compound" if isinstance(made, tree.Compound) else "an alternative"
    said = f"{what} requirement is the only -R of its job"
    raise ResreqError(Code.CONFLICT, said, column=made.column)


def _joined(first: tree.Simple, second: tree.Simple) -> tree.Simple:
    """Both but for their conditions, which are joined at the end."""
    rusage = first.rusage or second.rusage
    if first.rusage and second.rusage:
        rusage = join_rusage(first.rusage, second.rusage)
    return tree.Simple(
        order=_united(first.order, second.order),
        rusage=rusage,
        span=_one_of("span", first.span, second.span),
        same=_united(first.same, second.same),
        cu=_one_of("cu", first.cu, second.cu),
        affinity=_one_of("affinity", first.affinity, second.affinity),
    )


def _all_of(*conditions: tree.Expr | None) -> tree.Expr | None:
    """The conditions joined by &&, each once."""
    terms: list[tree.Expr] = []
    for condition in conditions:
        if condition is None:
            continue
        parts = condition.terms if isinstance(condition, tree.And) else (condition,)
        terms.extend(parts)
    return tree.conjunction(list(dict.fromkeys(terms))) if terms else None


def _united(first: tuple[Key, ...], second: tuple[Key, ...]) -> tuple[Key, ...]:
    return first + tuple(key for key in second if key not in first)


def _one_of(name: str, first: Key | None, second: Key | None) -> Key | None:
    if first is None or second is None or first == second:
        return first if first is not None else second
    said = f"a second {name}[ ] says something else than the first"
    raise ResreqError(Code.CONFLICT, said, column=second.column)


# --- job over application over queue ----------------------------------------------------------


def merge_levels(
    *,
    job: tree.Tree | None = None,
    application: tree.Tree | None = None,
    queue: tree.Tree | None = None,
    ranges: Sequence[Range] = (),
    types: Types = BUILT_IN,
) -> tree.Tree | None:
    """What counts for a job: None when no level asks for anything. `ranges` are those that the
    queue lets its jobs reserve."""
    upper = job or application
    if isinstance(job, tree.Simple) and isinstance(application, tree.Simple):
        upper = _over(job, application)
    if upper is None:
        return queue
    within_ranges(upper, ranges, types)
    if not isinstance(queue, tree.Simple):
        return upper
    within_queue(upper, queue, ranges, types)
    if isinstance(upper, tree.Simple):
        # A job that asks for anything is not ordered by its queue.
        below = queue if job is None else _without_order(queue)
        return _over(upper, below)
    if len(queue.rusage) > 1:
        what = "compound" if isinstance(upper, tree.Compound) else "alternative"
        said = f"`||` in the queue's rusage[ ] does not go with a {what} requirement"
        fault = ResreqError(Code.CONFLICT, said, column=queue.rusage[1][0].column)
        raise fault.known_as(f"{what.upper()}_QUEUE_RUSAGE_OR")
    return _into_parts(upper, queue)


def _without_order(level: tree.Simple) -> tree.Simple:
    return structs.replace(level, order=())


def _into_parts(upper: tree.Compound | tree.Alternatives, queue: tree.Simple) -> tree.Tree:
    if isinstance(upper, tree.Compound):
        return _into_terms(upper, queue)
    branches = []
    for branch in upper.branches:
        body = branch.body
        merged = _into_terms(body, queue) if isinstance(body, tree.Compound) else _over(body, queue)
        branches.append(tree.Branch(body=merged, delay_us=branch.delay_us, column=branch.column))
    return tree.Alternatives(branches=tuple(branches), column=upper.column)


def _into_terms(upper: tree.Compound, queue: tree.Simple) -> tree.Compound:
    terms = tuple(
        tree.Term(count=term.count, simple=_over(term.simple, queue), column=term.column)
        for term in upper.terms
    )
    return tree.Compound(terms=terms, column=upper.column)


def _over(upper: tree.Simple, lower: tree.Simple) -> tree.Simple:
    """The upper level with what it lacks from the lower one."""
    return tree.Simple(
        select=_all_of(upper.select, lower.select),
        order=upper.order or lower.order,
        rusage=_usages_over(upper.rusage, lower.rusage),
        span=upper.span or lower.span,
        same=_united(upper.same, lower.same),
        cu=upper.cu or lower.cu,
        affinity=upper.affinity or lower.affinity,
        column=upper.column,
    )


Usage = tuple[tree.Reserve, ...]


def _usages_over(upper: tuple[Usage, ...], lower: tuple[Usage, ...]) -> tuple[Usage, ...]:
    if not upper or not lower:
        return upper or lower
    if len(upper) * len(lower) > PRODUCT_MAX and min(len(upper), len(lower)) > 1:
        said = f"{len(upper)} times {len(lower)} alternatives are too many to merge"
        raise ResreqError(Code.TOO_LARGE, said, column=upper[0][0].column)
    return tuple(_usage_over(high, low) for high in upper for low in lower)


def _usage_over(upper: Usage, lower: Usage) -> Usage:
    below = {reserve.name: reserve for reserve in lower}
    above = {reserve.name for reserve in upper}
    kept = tuple(_reserve_over(reserve, below.get(reserve.name)) for reserve in upper)
    return kept + tuple(reserve for reserve in lower if reserve.name not in above)


def _reserve_over(upper: tree.Reserve, lower: tree.Reserve | None) -> tree.Reserve:
    """The upper reserve; a duration, decay, method or threshold it lacks comes from below."""
    if lower is None:
        return upper
    phases = upper.phases
    if len(phases) == len(lower.phases) == 1 and phases[0].duration_us is None:
        below = lower.phases[0]
        phase = tree.Phase(
            amount=phases[0].amount,
            duration_us=below.duration_us,
            decay=below.decay,
            column=phases[0].column,
        )
        phases = (phase,)
    return tree.Reserve(
        name=upper.name,
        phases=phases,
        per=upper.per or lower.per,
        threshold=upper.threshold if upper.threshold is not None else lower.threshold,
        column=upper.column,
    )

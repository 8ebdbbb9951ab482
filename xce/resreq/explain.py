"""A requirement in plain words, for people who ask what their string means.

The words say what the session will do with it: what an amount counts for, which hosts go first,
how tasks spread. They are for reading only; nothing parses them. A condition that has no simple
wording is shown in its canonical spelling.
"""

from collections.abc import Iterable, Mapping

from xce.model.resources import BYTES, Direction, Kind, Layer, ResourceType, Scope
from xce.model.units import MB, format_duration, format_size
from xce.resreq import tree
from xce.resreq.check import type_of
from xce.resreq.print import amount_text, canonical_select

Types = Mapping[str, ResourceType]


def explain(made: tree.Tree, *, types: Types, tasks: int = 1) -> str:
    """One sentence without its full stop; compound and alternative ones have `; ` between parts."""
    if isinstance(made, tree.Alternatives):
        return "; ".join(
            _branch(index, branch, types, tasks) for index, branch in enumerate(made.branches)
        )
    if isinstance(made, tree.Compound):
        return _compound(made, types, tasks)
    return _simple(made, types, tasks)


def _branch(index: int, branch: tree.Branch, types: Types, tasks: int) -> str:
    wait = ""
    if branch.delay_us is not None:
        wait = f" after {format_duration(branch.delay_us)} of waiting,"
    body = explain(branch.body, types=types, tasks=tasks)
    return f"either {body}" if index == 0 else f"or{wait or ' else'} {body}"


def _compound(made: tree.Compound, types: Types, tasks: int) -> str:
    given = sum(term.count or 0 for term in made.terms)
    parts = (
        _simple(term.simple, types, max(tasks - given, 1) if term.count is None else term.count)
        for term in made.terms
    )
    return "; ".join(parts)


def _simple(made: tree.Simple, types: Types, tasks: int) -> str:
    parts = [_count(tasks, "task")]
    if made.span is not None:
        parts.append(_span(made.span))
    if made.select is not None:
        parts.append(f"on hosts with {_condition(made.select, types, inside=False)}")
    parts.extend(_order(key, types) for key in made.order)
    if made.rusage:
        usages = (" and ".join(_reserve(r, types) for r in usage) for usage in made.rusage)
        parts.append(f"reserving {', or else '.join(usages)}")
    if made.same:
        parts.append(f"all hosts with the same {_listed([key.name for key in made.same])}")
    if made.cu is not None:
        parts.extend(_cu(made.cu))
    if made.affinity is not None:
        parts.append(_affinity(made.affinity))
    return ", ".join(parts)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _listed(words: Iterable[str], joiner: str = "and") -> str:
    given = list(words)
    return given[0] if len(given) == 1 else f"{', '.join(given[:-1])} {joiner} {given[-1]}"


# --- select ------------------------------------------------------------------------------------

_MORE = {
    ">": "more than {0} {1}",
    ">=": "at least {0} {1}",
    "<": "less than {0} {1}",
    "<=": "at most {0} {1}",
    "==": "exactly {0} {1}",
    "!=": "not {0} {1}",
}
_LEVEL = {
    ">": "{1} above {0}",
    ">=": "{1} of at least {0}",
    "<": "{1} below {0}",
    "<=": "{1} of at most {0}",
    "==": "{1} {0}",
    "!=": "{1} other than {0}",
}


def _condition(node: tree.Expr, types: Types, *, inside: bool) -> str:
    match node:
        case tree.And() | tree.Or():
            joiner = " and " if isinstance(node, tree.And) else " or "
            text = joiner.join(_condition(term, types, inside=True) for term in node.terms)
            return f"({text})" if inside else text
        case tree.Not():
            return f"not {_condition(node.term, types, inside=True)}"
        case tree.Defined():
            return f"a resource {node.name}"
        case tree.Name():
            return node.name
        case tree.Infix():
            return _comparison(node, types) or canonical_select(node)
        case _:
            return canonical_select(node)


def _comparison(node: tree.Infix, types: Types) -> str:
    left, right = node.terms[0], node.terms[1]
    if len(node.terms) > 2 or node.ops[0] not in _MORE or not isinstance(left, tree.Name):
        return ""
    type_ = type_of(left.name, types)
    if isinstance(right, tree.Name | tree.Text):
        word = right.name if isinstance(right, tree.Name) else right.text
        known = type_ is not None and type_.kind is Kind.STRING
        if not known or node.ops[0] not in ("==", "!="):
            return ""
        if word in ("any", "local") and node.ops[0] == "==":
            return f"any {left.name}" if word == "any" else f"the {left.name} of the submitter"
        return _LEVEL[node.ops[0]].format(word, left.name)
    if not isinstance(right, tree.Number | tree.Size):
        return ""
    if type_ is not None and type_.unit == BYTES:
        fact = type_.layer is Layer.ATTRIBUTE
        return _MORE[node.ops[0]].format(_size(right), left.name if fact else f"{left.name} free")
    return _LEVEL[node.ops[0]].format(amount_text(right), left.name)


def _size(amount: tree.Amount) -> str:
    if isinstance(amount, tree.Size):
        return format_size(amount.size_bytes)
    whole, rest = divmod(amount.digits * MB, 10**amount.places)
    return f"{amount_text(amount)}MB" if rest else format_size(whole)


# --- the other sections -------------------------------------------------------------------------


def _order(key: tree.OrderKey, types: Types) -> str:
    type_ = type_of(key.name, types)
    most_first = type_ is not None and type_.direction is Direction.DECREASING
    which = "most" if most_first != key.reverse else "least"
    return f"hosts with the {which} {key.name} first"


def _reserve(reserve: tree.Reserve, types: Types) -> str:
    type_ = type_of(reserve.name, types)
    per = reserve.per.value
    if not per:
        per = "job" if type_ is not None and type_.scope is Scope.SHARED else "task"
    text = ", then ".join(_phase(phase, type_) for phase in reserve.phases)
    text = f"{text} of {reserve.name} per {per}"
    if reserve.threshold is not None:
        text += f" where at least {amount_text(reserve.threshold)} is left"
    return text


def _phase(phase: tree.Phase, type_: ResourceType | None) -> str:
    sized = type_ is not None and type_.unit == BYTES
    text = _size(phase.amount) if sized else amount_text(phase.amount)
    if phase.duration_us is not None:
        text += f" for {format_duration(phase.duration_us)}"
    return f"{text}, falling to nothing," if phase.decay else text


def _span(span: tree.Span) -> str:
    pairs = _listed(f"{count} per {name}" for name, count in span.by_type) if span.by_type else ""
    match span.form:
        case tree.SpanForm.HOSTS:
            return "all on one host" if span.count > 0 else "on any number of hosts"
        case tree.SpanForm.PTILE:
            rest = "as many per host as it has slots" if span.slots else ""
            if span.count:
                rest = f"{span.count} per host"
            return ", but ".join(part for part in (rest, pairs) if part)
        case tree.SpanForm.BLOCK:
            return f"in blocks of {span.count} on one host each"
        case tree.SpanForm.STRIPE:
            most = f", at most {span.count} per host" if span.count else ""
            return f"spread evenly over hosts{most}"
        case tree.SpanForm.GTILE:
            return "its GPUs on one socket" if span.slots else f"{span.count} GPUs per socket"


_PREFERENCES = {
    "bestfit": "in as few {0}s as possible",
    "config": "{0}s in their configured order",
    "maxavail": "the roomiest {0}s first",
    "minavail": "the fullest {0}s first",
}


def _cu(cu: tree.Cu) -> list[str]:
    unit = cu.type or "compute unit"
    parts = []
    if cu.maxcus == 1:
        parts.append(f"packed into one {unit}")
    elif cu.maxcus:
        parts.append(f"in at most {cu.maxcus} {unit}s")
    if cu.pref:
        parts.append(_PREFERENCES[cu.pref].format(unit))
    if cu.usablecuslots:
        parts.append(f"at least {_count(cu.usablecuslots, 'slot')} in each {unit}")
    if cu.balance:
        parts.append(f"equally many in each {unit}")
    if cu.excl:
        parts.append(f"with no other job in its {cu.excl_level or unit}s")
    return parts or [f"by {unit}s"]


def _affinity(affinity: tree.Affinity) -> str:
    text = f"each task on {_count(affinity.units * affinity.count, affinity.unit)}"
    if affinity.same:
        text += f" of one {affinity.same}"
    if affinity.exclusive:
        others = "task of the job" if affinity.exclusive_scope != "alljobs" else "job"
        text += f", no other {others} on its {affinity.exclusive}"
    if affinity.cpubind:
        text += f", bound to its {affinity.cpubind}"
    if affinity.membind:
        text += ", memory from there" + (" only" if affinity.membind == "localonly" else " first")
    if affinity.distribute in ("balance", "pack"):
        spread = "spread over the host" if affinity.distribute == "balance" else "packed together"
        text += f", tasks {spread}"
    return text

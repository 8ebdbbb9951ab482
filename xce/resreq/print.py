"""The one printed form of a tree: `parse(canonical(tree)).tree == tree`.

Sections come in the order select order rusage span same cu affinity, values that say nothing
are left out, sizes and durations have the largest unit that divides them, and parentheses stand
only where the tree needs them. So two spellings of one requirement print alike.
"""

from xce.model.units import format_decimal, format_duration, format_size
from xce.resreq import tree
from xce.resreq.tree import WORD

# How tightly an expression binds; a part that binds less tightly than its place asks for ( ).
_OR, _AND, _INFIX, _UNARY, _ATOM = 0, 1, 2, 6, 7


def canonical(made: tree.Tree) -> str:
    """The text of a whole requirement."""
    if isinstance(made, tree.Alternatives):
        return " || ".join(_branch(branch) for branch in made.branches)
    if isinstance(made, tree.Compound):
        return _compound(made)
    return _simple(made)


def canonical_select(node: tree.Expr) -> str:
    """The text of a select expression, without `select[ ]`."""
    return _expr(node, _OR)


def _branch(branch: tree.Branch) -> str:
    delay = "" if branch.delay_us is None else f"@{format_duration(branch.delay_us)}"
    return f"{{{canonical(branch.body)}}}{delay}"


def _compound(made: tree.Compound) -> str:
    return " + ".join(
        f"{'' if term.count is None else f'{term.count}*'}{{{_simple(term.simple)}}}"
        for term in made.terms
    )


def _simple(made: tree.Simple) -> str:
    sections = []
    if made.select is not None:
        sections.append(f"select[{_expr(made.select, _OR)}]")
    if made.order:
        keys = ":".join(f"{'-' if key.reverse else ''}{key.name}" for key in made.order)
        sections.append(f"order[{keys}]")
    if made.rusage:
        usages = (",".join(_reserve(reserve) for reserve in usage) for usage in made.rusage)
        sections.append(f"rusage[{'||'.join(usages)}]")
    if made.span is not None:
        sections.append(f"span[{_span(made.span)}]")
    if made.same:
        sections.append(f"same[{':'.join(key.name for key in made.same)}]")
    if made.cu is not None:
        sections.append(f"cu[{_cu(made.cu)}]")
    if made.affinity is not None:
        sections.append(f"affinity[{_affinity(made.affinity)}]")
    return " ".join(sections)


# --- expressions -------------------------------------------------------------------------------


def _expr(node: tree.Expr, place: int) -> str:
    text, strength = _bare(node)
    return f"({text})" if strength < place else text


def _bare(node: tree.Expr) -> tuple[str, int]:
    """The text without outer parentheses, and how tightly it binds."""
    match node:
        case tree.Number() | tree.Size():
            return amount_text(node), _ATOM
        case tree.Name():
            return node.name, _ATOM
        case tree.Text():
            return _quoted(node.text), _ATOM
        case tree.Defined():
            return f"defined({node.name})", _ATOM
        case tree.Not():
            return f"!{_expr(node.term, _UNARY)}", _UNARY
        case tree.Neg():
            return f"-{_expr(node.term, _UNARY)}", _UNARY
        case tree.And():
            return " && ".join(_expr(term, _AND + 1) for term in node.terms), _AND
        case tree.Or():
            return " || ".join(_expr(term, _OR + 1) for term in node.terms), _OR
        case tree.Infix():
            return _run(node)


def _run(node: tree.Infix) -> tuple[str, int]:
    strength = _INFIX + tree.level_of(node.ops[0])
    parts = [_expr(node.terms[0], strength)]
    for op, term in zip(node.ops, node.terms[1:], strict=True):
        parts.append(f"{op}{_expr(term, strength + 1)}")
    return "".join(parts), strength


def _quoted(text: str) -> str:
    return f'"{text}"' if "'" in text else f"'{text}'"


def amount_text(amount: tree.Amount) -> str:
    """A number, or a size with its unit."""
    if isinstance(amount, tree.Size):
        return format_size(amount.size_bytes)
    return format_decimal(amount.digits, amount.places)


# --- sections ----------------------------------------------------------------------------------


def _reserve(reserve: tree.Reserve) -> str:
    phases = reserve.phases
    per = f"/{reserve.per}" if reserve.per else ""
    if len(phases) == 1:
        text = f"{reserve.name}={amount_text(phases[0].amount)}{per}"
        if phases[0].duration_us is not None:
            text += f":duration={format_duration(phases[0].duration_us)}"
            text += f":decay={phases[0].decay}" if phases[0].decay else ""
    else:
        amounts = " ".join(amount_text(phase.amount) for phase in phases)
        text = f"{reserve.name}=({amounts}){per}:duration=({_durations(phases)})"
        if any(phase.decay for phase in phases):
            text += f":decay=({' '.join(str(phase.decay) for phase in phases)})"
    if reserve.threshold is not None:
        text += f":threshold={amount_text(reserve.threshold)}"
    return text


def _durations(phases: tuple[tree.Phase, ...]) -> str:
    return " ".join(format_duration(p.duration_us) for p in phases if p.duration_us is not None)


def _span(span: tree.Span) -> str:
    first = "'!'" if span.slots else str(span.count) if span.count else ""
    pairs = ",".join(f"{_type_name(name)}:{count}" for name, count in span.by_type)
    value = ",".join(part for part in (first, pairs) if part)
    return f"{span.form}={value}" if value else span.form.value


def _type_name(name: str) -> str:
    return name if WORD.fullmatch(name) else _quoted(name)


def _cu(cu: tree.Cu) -> str:
    parts = [f"type={cu.type}" if cu.type else "", f"pref={cu.pref}" if cu.pref else ""]
    parts.append(f"maxcus={cu.maxcus}" if cu.maxcus else "")
    parts.append(f"usablecuslots={cu.usablecuslots}" if cu.usablecuslots else "")
    parts.append("balance" if cu.balance else "")
    if cu.excl:
        parts.append(f"excl={cu.excl_level}" if cu.excl_level else "excl")
    return ":".join(part for part in parts if part)


def _affinity(affinity: tree.Affinity) -> str:
    inner = [str(affinity.units)]
    if affinity.same:
        inner.append(f"same={affinity.same}")
    if affinity.exclusive:
        scope = f",{affinity.exclusive_scope}" if affinity.exclusive_scope else ""
        inner.append(f"exclusive=({affinity.exclusive}{scope})")
    times = f"*{affinity.count}" if affinity.count > 1 else ""
    parts = [f"{affinity.unit}({','.join(inner)}){times}"]
    if affinity.cpubind:
        parts.append(f"cpubind={affinity.cpubind}")
    if affinity.membind:
        parts.append(f"membind={affinity.membind}")
    if affinity.distribute:
        pack = f"({affinity.pack_level}={affinity.pack_count})" if affinity.pack_level else ""
        parts.append(f"distribute={affinity.distribute}{pack}")
    return ":".join(parts)

"""The values of rusage[], span[], cu[] and affinity[] from their parts.

The grammar reads these sections as keys and values; here the keys get their meaning. A `:` group
of rusage that shares a duration is split into one reserve per resource, each with its own copy,
so that two spellings of one reservation are one tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from xce.resreq import tree
from xce.resreq.errors import Code, ResreqError
from xce.resreq.syntax.values import (
    amount_of,
    choice_of,
    column_of,
    count_of,
    duration_of,
    refuse,
    unquoted,
)

if TYPE_CHECKING:
    from lark import Token

_USAGE_OPTIONS = ("duration", "decay", "threshold")
PHASED = "mem"


class UsagePart(Struct, frozen=True, gc=False, kw_only=True):
    """`key=value` or `key=(values)` in rusage, as read."""

    key: Token
    values: tuple[Token, ...]
    listed: bool
    per: Token | None


def build_usage(parts: list[UsagePart]) -> tuple[tree.Reserve, ...]:
    """One `:` group: resources, then what they share."""
    resources: list[UsagePart] = []
    options: dict[str, UsagePart] = {}
    for part in parts:
        key = str(part.key)
        if key not in _USAGE_OPTIONS:
            if options:
                hint = f"separate it from the group before with `,`: `,{key}=`"
                said = f"resource {key!r} after {next(iter(options))} in one `:` group"
                raise refuse(part.key, Code.SYNTAX, said, hint=hint)
            resources.append(part)
        elif not resources:
            said = f"{key} before the resource it is for"
            raise refuse(part.key, Code.SYNTAX, said, expected=("a resource",))
        elif key in options:
            raise refuse(part.key, Code.DUPLICATE, f"{key} is given twice in one group")
        elif part.per is not None:
            raise refuse(part.per, Code.SYNTAX, f"{key} takes no /{part.per}")
        else:
            options[key] = part
    if any(part.listed for part in resources):
        return (_phased(resources, options),)
    return tuple(_single(part, options) for part in resources)


def _per(part: UsagePart) -> tree.Per:
    if part.per is None:
        return tree.Per.DEFAULT
    return tree.Per(choice_of(part.per, "an amount's method", ("host", "task", "job")))


def _threshold(options: dict[str, UsagePart]) -> tree.Amount | None:
    part = options.get("threshold")
    return amount_of(_one(part)) if part else None


def _one(part: UsagePart) -> Token:
    if part.listed:
        said = f"{part.key} takes a list only beside a list of amounts"
        raise refuse(part.values[0], Code.BAD_VALUE, said)
    return part.values[0]


def _decay(token: Token) -> int:
    if token not in ("0", "1"):
        said = f"decay cannot be {str(token)!r}"
        raise refuse(token, Code.BAD_VALUE, said, expected=("`0`", "`1`"))
    return int(token)


def _single(part: UsagePart, options: dict[str, UsagePart]) -> tree.Reserve:
    duration, decay = options.get("duration"), options.get("decay")
    duration_us = duration_of(_one(duration)) if duration else None
    # Without a duration there is nothing to fall over, so decay says nothing.
    falls = _decay(_one(decay)) if decay else 0
    phase = tree.Phase(
        amount=amount_of(part.values[0]),
        duration_us=duration_us,
        decay=falls if duration_us is not None else 0,
        column=column_of(part.values[0]),
    )
    return tree.Reserve(
        name=str(part.key),
        phases=(phase,),
        per=_per(part),
        threshold=_threshold(options),
        column=column_of(part.key),
    )


def _phased(resources: list[UsagePart], options: dict[str, UsagePart]) -> tree.Reserve:
    part = next(part for part in resources if part.listed)
    if part.key != PHASED:
        said = f"only {PHASED} takes a list of amounts"
        raise refuse(part.key, Code.BAD_VALUE, said)
    if len(resources) > 1:
        other = next(p for p in resources if p is not part)
        hint = f"separate it with `,`: `,{other.key}=`"
        raise refuse(other.key, Code.CONFLICT, "a list of amounts stands alone", hint=hint)
    phases = _phases(part, options)
    return tree.Reserve(
        name=str(part.key),
        phases=phases,
        per=_per(part),
        threshold=_threshold(options),
        column=column_of(part.key),
    )


def _phases(part: UsagePart, options: dict[str, UsagePart]) -> tuple[tree.Phase, ...]:
    amounts = [amount_of(token) for token in part.values]
    count = len(amounts)
    durations = _list(options.get("duration"))
    decays = _list(options.get("decay"))
    if len(durations) not in (count, count - 1):
        said = f"{count} amounts need {count - 1} or {count} durations, not {len(durations)}"
        raise refuse(durations[0] if durations else part.key, Code.BAD_VALUE, said)
    if len(decays) > count:
        said = f"{count} amounts have {len(decays)} decays"
        raise refuse(decays[count], Code.BAD_VALUE, said)
    for index in range(1, count):
        if _larger(amounts[index], amounts[index - 1]):
            said = "the amounts of the phases may not grow"
            raise refuse(part.values[index], Code.BAD_VALUE, said)
    spans = [duration_of(token) for token in durations]
    falls = [_decay(token) for token in decays]
    return tuple(
        tree.Phase(
            amount=amount,
            duration_us=spans[index] if index < len(spans) else None,
            decay=falls[index] if index < len(falls) and index < len(spans) else 0,
            column=amount.column,
        )
        for index, amount in enumerate(amounts)
    )


def _list(part: UsagePart | None) -> tuple[Token, ...]:
    if part is None:
        return ()
    if not part.listed:
        hint = f"write {part.key}=({part.values[0]})"
        said = f"{part.key} of a list of amounts is a list"
        raise refuse(part.values[0], Code.BAD_VALUE, said, hint=hint)
    return part.values


def _larger(left: tree.Amount, right: tree.Amount) -> bool:
    """Compares as `mem` does: a bare number is MB."""
    a, b = _as_bytes(left), _as_bytes(right)
    return a[0] * b[1] > b[0] * a[1]


def _as_bytes(amount: tree.Amount) -> tuple[int, int]:
    if isinstance(amount, tree.Size):
        return amount.size_bytes, 1
    return amount.digits << 20, 10**amount.places


# --- span --------------------------------------------------------------------------------------


class SpanItem(Struct, frozen=True, gc=False, kw_only=True):
    """One comma-separated part of span[]: a key with a value, or only a type with its count."""

    key: Token | None
    value: Token | None = None
    minus: bool = False
    bang: bool = False
    by_type: tuple[Token, Token] | None = None

    @property
    def token(self) -> Token:
        """The token to point at."""
        if self.key is not None:
            return self.key
        assert self.by_type is not None
        return self.by_type[0]


def build_span(items: list[SpanItem]) -> tree.Span:
    """span[]: one key; only ptile goes on with types and counts."""
    head = items[0]
    forms = tuple(form.value for form in tree.SpanForm)
    if head.key is None:
        said = "span begins with one of its keys"
        raise refuse(head.token, Code.BAD_VALUE, said, expected=_quoted(forms))
    form = tree.SpanForm(choice_of(head.key, "a key of span", forms))
    for item in items[1:]:
        if item.key is not None:
            raise refuse(item.key, Code.CONFLICT, f"a second key in span, after {form}")
    pairs = [item.by_type for item in items if item.by_type is not None]
    if pairs and form is not tree.SpanForm.PTILE:
        said = f"{form} takes no host types"
        raise refuse(pairs[0][0], Code.BAD_VALUE, said)
    if len(items) > 1 and head.by_type is None and not head.bang:
        said = "a list of host types begins with '!' or a type"
        raise refuse(items[1].token, Code.BAD_VALUE, said)
    return tree.Span(
        form=form,
        count=_span_count(head, form),
        slots=head.bang,
        by_type=_by_type(pairs),
        column=column_of(head.key),
    )


def _quoted(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"`{word}`" for word in words)


def _span_count(item: SpanItem, form: tree.SpanForm) -> int:
    assert item.key is not None
    if item.bang or item.by_type is not None:
        if form not in (tree.SpanForm.PTILE, tree.SpanForm.GTILE):
            raise refuse(item.value or item.key, Code.BAD_VALUE, f"{form} takes a number")
        return 0
    if item.value is None:
        if form is tree.SpanForm.STRIPE:
            return 0
        raise refuse(item.key, Code.BAD_VALUE, f"{form} needs a value", hint=f"{form}=1")
    if form is tree.SpanForm.HOSTS:
        if item.value != "1":
            said = f"span[hosts=] is 1 or -1, not {'-' if item.minus else ''}{item.value}"
            hint = "span[ptile=N] sets the tasks per host; -n sets the tasks"
            raise refuse(item.value, Code.BAD_VALUE, said, hint=hint)
        return -1 if item.minus else 1
    if item.minus:
        raise refuse(item.value, Code.BAD_VALUE, f"{form} is at least 1, not -{item.value}")
    return count_of(item.value, form.value)


def _by_type(pairs: list[tuple[Token, Token]]) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for name, count in pairs:
        word = unquoted(name)
        if word in counts:
            raise refuse(name, Code.DUPLICATE, f"host type {word!r} is given twice")
        counts[word] = count_of(count, f"the tasks per host of {word}")
    return tuple(counts.items())


# --- cu ----------------------------------------------------------------------------------------

_CU_KEYS = ("type", "pref", "maxcus", "usablecuslots", "balance", "excl")
_CU_PREFERENCES = ("bestfit", "config", "maxavail", "minavail")


def build_cu(items: list[tuple[Token, Token | None]]) -> tree.Cu:
    """cu[]: every key at most once."""
    fields: dict[str, object] = {}
    for key, value in items:
        word = choice_of(key, "a key of cu", _CU_KEYS)
        if word in fields:
            raise refuse(key, Code.DUPLICATE, f"{word} is given twice in cu")
        fields.update(_cu_field(word, key, value))
    cu = tree.Cu(column=column_of(items[0][0]), **fields)  # type: ignore[arg-type]
    if cu.balance and (cu.usablecuslots or cu.pref == "bestfit"):
        other = "usablecuslots" if cu.usablecuslots else "pref=bestfit"
        raise ResreqError(Code.CONFLICT, f"cu[balance] does not go with {other}", column=cu.column)
    return cu


def _cu_field(word: str, key: Token, value: Token | None) -> dict[str, object]:
    if word == "balance":
        if value is not None:
            raise refuse(value, Code.BAD_VALUE, "balance takes no value")
        return {"balance": True}
    if word == "excl":
        return {"excl": True, "excl_level": str(value) if value is not None else ""}
    if value is None:
        raise refuse(key, Code.BAD_VALUE, f"{word} needs a value")
    if word == "pref":
        return {"pref": choice_of(value, "pref", _CU_PREFERENCES)}
    if word == "type":
        if value.type != "NAME":
            raise refuse(value, Code.BAD_VALUE, "type is a level of the compute units")
        return {"type": str(value)}
    return {word: count_of(value, word)}


# --- affinity ----------------------------------------------------------------------------------

_UNITS = ("numa", "socket", "core", "thread", "cpu", "mcm")
_OPTIONS = {
    "cpubind": ("numa", "socket", "core", "thread", "cpu"),
    "membind": ("localonly", "localprefer"),
    "distribute": ("any", "balance", "pack"),
}


class AffinityUnit(Struct, frozen=True, gc=False, kw_only=True):
    """`core(2,same=socket,exclusive=(socket,injob))*2` as read."""

    unit: Token
    units: Token | None
    inner: tuple[tuple[Token, ...], ...]
    times: Token | None


def build_affinity(head: AffinityUnit, options: list[list[Token]]) -> tree.Affinity:
    """affinity[]: one unit, then options, each at most once."""
    fields: dict[str, object] = {}
    for inner in head.inner:
        _put(fields, inner[0], _inner(inner))
    for option in options:
        key = choice_of(option[0], "an option of affinity", tuple(_OPTIONS))
        found: dict[str, object] = {key: choice_of(option[1], key, _OPTIONS[key])}
        if len(option) > 2:
            if option[1] != "pack":
                raise refuse(option[2], Code.BAD_VALUE, f"{option[1]} takes nothing in ( )")
            found["pack_level"] = choice_of(option[2], "the level to pack into", _UNITS)
            found["pack_count"] = count_of(option[3], "the number to pack into")
        _put(fields, option[0], found)
    return tree.Affinity(
        unit=choice_of(head.unit, "a processor unit", _UNITS),
        units=count_of(head.units, "the number of units") if head.units else 1,
        count=count_of(head.times, "the repeat count") if head.times else 1,
        column=column_of(head.unit),
        **fields,  # type: ignore[arg-type]
    )


def _inner(inner: tuple[Token, ...]) -> dict[str, object]:
    key = choice_of(inner[0], "an option of a processor unit", ("same", "exclusive"))
    level = choice_of(inner[1], "a level", _UNITS)
    scope = choice_of(inner[2], "the scope", ("injob", "alljobs")) if len(inner) > 2 else ""
    if key == "same":
        if scope:
            raise refuse(inner[2], Code.BAD_VALUE, "same takes one level")
        return {"same": level}
    return {"exclusive": level, "exclusive_scope": scope}


def _put(fields: dict[str, object], token: Token, found: dict[str, object]) -> None:
    for key in found:
        if key in fields:
            raise refuse(token, Code.DUPLICATE, f"{token} is given twice in affinity")
    fields.update(found)

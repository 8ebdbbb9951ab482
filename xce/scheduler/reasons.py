"""Pend reasons: typed codes with numbers, a scope and a cure, and the sentences they are shown as.

A reason is data. Its text is made here and nowhere else, from the code's template and the
reason's numbers. There is one ranked reason per class: the most telling one, with the hosts
counted per cause beside it. `render` gives the page that lists them.
"""

from typing import Any

from msgspec import Struct

from xce.model.resources import BUILT_IN, BYTES
from xce.model.units import format_moment, format_size
from xce.scheduler.codes import TABLE, Code, CodeText, Cure, Scope

HAS_ROOM = "has room"
"""The cause under which hosts are counted that could take one member."""


class PendReason(Struct, frozen=True, gc=False, kw_only=True):
    """Why a class waits. `needed` and `available` are amounts of `what`; `where` names the host
    or domain with the best offer; `role` the role that is short; `hosts` counts every host of
    the cluster under its cause, largest count first; `until_us` is the moment that it is about."""

    code: Code
    scope: Scope
    cure: Cure
    what: str = ""
    needed: int = 0
    available: int = 0
    where: str = ""
    role: str = ""
    detail: str = ""
    used: int = 0
    hosts: tuple[tuple[str, int], ...] = ()
    until_us: int = 0

    def text(self) -> str:
        """The sentence for people, with the numbers in it."""
        return sentence(self)


def reason(code: Code, **numbers: Any) -> PendReason:
    """A reason of this code; scope and cure come from the table."""
    row = TABLE[code]
    return PendReason(code=code, scope=row.scope, cure=row.cure, **numbers)


def amount_text(what: str, amount: int) -> str:
    """An amount in the unit that people use for it: `6`, `64GB`, `1.5`."""
    type_ = BUILT_IN.get(what)
    if type_ is not None and type_.unit == BYTES:
        return format_size(amount)
    if type_ is not None and type_.scale > 1:
        return f"{amount / type_.scale:g}"
    return str(amount)


def sentence(why: PendReason) -> str:
    """The reason as one plain sentence."""
    have = amount_text(why.what, why.available)
    most = f"no host has more than {have}" if why.available else f"no host has any {why.what}"
    return TABLE[why.code].sentence.format(
        what=why.what,
        needed=amount_text(why.what, why.needed),
        available=have,
        where=why.where,
        role=why.role or "job",
        detail=why.detail,
        used=amount_text(why.what, why.used),
        whose=f" ({why.detail})" if why.detail else "",
        most=most,
        until=f" until {format_moment(why.until_us)}" if why.until_us else "",
        at=f", at {format_moment(why.until_us)}" if why.until_us else "",
    )


def hosts_text(why: PendReason) -> str:
    """The hosts per cause: `3 x short of gpu, 1 x host_down`; "" when none was counted. Hosts that
    have room for one member are no cause of what can never fit together."""
    never = why.cure == Cure.NEVER
    told = [(cause, count) for cause, count in why.hosts if not (never and cause == HAS_ROOM)]
    return ", ".join(f"{count} x {cause}" for cause, count in told)


def render() -> str:
    """docs/pend-reasons.md, from the table."""
    lines = [
        "# Pend reasons",
        "",
        "Made from `xce/scheduler/reasons.py`; do not edit by hand.",
        "",
        "`cure` says when it is worth looking again: `at_once`, `on_free` (something is given",
        "back), `on_change` (hosts or configuration change), `never`.",
        "",
        "| code | about | cure | meaning | shown as |",
        "|---|---|---|---|---|",
    ]
    for code, row in TABLE.items():
        lines.append(f"| `{code}` | {row.scope} | {row.cure} | {row.meaning} | {row.sentence} |")
    return "\n".join([*lines, ""])


__all__ = [
    "HAS_ROOM",
    "TABLE",
    "Code",
    "CodeText",
    "Cure",
    "PendReason",
    "Scope",
    "amount_text",
    "hosts_text",
    "reason",
    "render",
    "sentence",
]

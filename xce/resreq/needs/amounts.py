"""The amounts of one alternative of rusage in base units, by what they are counted for.

What is asked of an instance type is counted apart from amounts; a counter that stands for an
instance type asks for those. The amount of a reservation that changes with time is that of its
first phase, since later ones are never larger; how it goes on is kept beside it.
"""

from collections.abc import Mapping

from xce.model.need import Phase, Timed
from xce.model.resources import BYTES, Layer, ResourceType, Scope
from xce.model.units import MB, scaled_up
from xce.resreq import tree
from xce.resreq.check import type_of
from xce.resreq.errors import Code, ResreqError

Types = Mapping[str, ResourceType]

# Amounts live in 64-bit columns.
AMOUNT_MAX = 2**62


class Amounts:
    """What is reserved: amounts and instances under (per, name), and what changes with time."""

    def __init__(self) -> None:
        self.counters: dict[tuple[str, str], int] = {}
        self.instances: dict[tuple[str, str], int] = {}
        self.timed: list[Timed] = []

    def pairs(self, per: str) -> tuple[tuple[str, int], ...]:
        """The amounts counted for a task, a host or the job, sorted by name."""
        return tuple(sorted((name, n) for (p, name), n in self.counters.items() if p == per))


def amounts_of(usage: tuple[tree.Reserve, ...], types: Types) -> Amounts:
    """The amounts of one alternative of rusage."""
    found = Amounts()
    for reserve in usage:
        type_ = type_of(reserve.name, types)
        assert type_ is not None, "checked by the caller"
        amount = amount_in_base(reserve.phases[0].amount, type_)
        if amount == 0:
            continue
        changes = len(reserve.phases) > 1 or reserve.phases[0].duration_us is not None
        if type_.layer is Layer.INSTANCE or type_.stands_for:
            if changes:
                raise _no_part(reserve)
            per = reserve.per.value or "task"
            found.instances[per, type_.stands_for or type_.name] = amount
            continue
        per = reserve.per.value or ("job" if type_.scope is Scope.SHARED else "task")
        found.counters[per, type_.name] = amount
        # LSF: neither applies to a shared resource whose amount does not change by itself.
        if changes and not (type_.scope is Scope.SHARED and not type_.interval_us):
            found.timed.append(Timed(name=type_.name, per=per, phases=_phases(reserve, type_)))
    return found


def _no_part(reserve: tree.Reserve) -> ResreqError:
    return ResreqError(
        Code.NOT_SUPPORTED_HERE,
        f"{reserve.name} is held whole until the end: it cannot be reserved for a time",
        column=reserve.column,
        hint="leave out the duration",
    )


def _phases(reserve: tree.Reserve, type_: ResourceType) -> tuple[Phase, ...]:
    return tuple(
        Phase(
            amount=amount_in_base(phase.amount, type_),
            duration_us=phase.duration_us or 0,
            decay=phase.decay,
        )
        for phase in reserve.phases
    )


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

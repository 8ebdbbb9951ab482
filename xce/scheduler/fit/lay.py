"""Laying units of one role on a host: chosen, taken from the ledger, remembered as a cell.

A cell is all that one role puts on one host in one go: whole members, or tasks of one member.
It keeps which instances and ports each unit got, so that shares and claims can be made from it
later without asking the ledger again.
"""

from msgspec import Struct, structs

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.cpus import Bound, bound_units
from xce.scheduler.fit.demand import Load, MemberNeed
from xce.scheduler.fit.picks import Limits, Picked, pick
from xce.scheduler.fit.processors import CPU
from xce.scheduler.ledger import Amounts, Bits, Taking

NOTHING = Picked((), ())


class Cell(Struct, frozen=True, gc=False, kw_only=True):
    """Units of a role on a host. `member` is the rank of a member that spans hosts, -1 where the
    units are whole members; `spot` the host's place in topology order. `bound` has the processors
    of each unit's tasks."""

    role: int
    member: int
    host: int
    spot: int
    units: int
    first: bool
    anchored: bool
    picked: Picked
    ports: tuple[int, ...]
    taking: Taking
    bound: tuple[tuple[Bound, ...], ...] = ()


def blank(
    role: int,
    member: int,
    host: int,
    spot: int,
    units: int,
    *,
    first: bool = False,
    anchored: bool = False,
) -> Cell:
    """A cell before anything is chosen for it."""
    return Cell(
        role=role,
        member=member,
        host=host,
        spot=spot,
        units=units,
        first=first,
        anchored=anchored,
        picked=NOTHING,
        ports=(),
        taking=Taking(host),
    )


def lay(work: Workspace, need: MemberNeed, cell: Cell, limits: Limits, salt: int) -> Cell | None:
    """The cell with its instances and ports, taken from the ledger; None when they do not fit."""
    load = need.load(cell.first, cell.anchored)
    picked: Picked | None = NOTHING
    if load.fixed_items or load.unit_items:
        picked = pick(work, load, cell.host, cell.units, limits)
    if picked is None:
        return None
    wanted = load.fixed_ports + load.unit_ports * cell.units
    ports = work.ledger.choose_ports(cell.host, wanted, salt) if wanted else ()
    if len(ports) < wanted:
        return None
    bound = _bound(work, load, cell)
    if bound is None:
        return None
    bits = _bits(load, picked)
    if bound:
        bits += ((CPU, sum(one.held for unit in bound for one in unit)),)
    taking = Taking(cell.host, _amounts(load, cell.units), bits, ports)
    if work.snapshot.pools and not work.ledger.has(taking):
        return None
    work.ledger.take(taking)
    return structs.replace(cell, picked=picked, ports=ports, taking=taking, bound=bound)


def _bound(work: Workspace, load: Load, cell: Cell) -> tuple[tuple[Bound, ...], ...] | None:
    """Processors for each unit, None when they do not suffice."""
    if load.cpus is None:
        return ()
    cpus = work.hosts.cpus[cell.host]
    if cpus is None:
        return None
    free = work.ledger.mask(CPU, cell.host)
    found = bound_units(cpus, free, load.cpus, load.unit_tasks, cell.units)
    return tuple(found) if len(found) == cell.units else None


def _amounts(load: Load, units: int) -> Amounts:
    total = {name: amount * units for name, amount in load.unit}
    for name, amount in load.fixed:
        total[name] = total.get(name, 0) + amount
    return tuple(sorted(total.items()))


def _bits(load: Load, picked: Picked) -> Bits:
    total: dict[str, int] = {}
    for item, bits in zip(load.fixed_items, picked.fixed, strict=True):
        total[item.type] = total.get(item.type, 0) | bits
    for unit in picked.units:
        for item, bits in zip(load.unit_items, unit, strict=True):
            total[item.type] = total.get(item.type, 0) | bits
    return tuple(sorted(total.items()))

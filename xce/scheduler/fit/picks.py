"""Which instances of one host go to which unit.

Whole units are kept inside one domain below the host where one holds them: all units of the host
in the tightest domain that has room for them; else domain by domain, roomiest first; a unit is
split over domains only when none holds it and its request does not say `same`. Kinds of request
that are harder to serve go first, and take what no other kind wants before anything else.

The result is a choice, not a taking: the ledger is only read.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from xce.model.need import WHOLE
from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.demand import Item, Load
from xce.scheduler.snapshot import HostTable

Groups = tuple[tuple[int, ...], ...]


class Picked(Struct, frozen=True, gc=False):
    """Bits per fixed item, and per unit and unit item, in the order of the load's items."""

    fixed: tuple[int, ...]
    units: tuple[tuple[int, ...], ...]


class Limits(Struct, frozen=True, gc=False):
    """`restrict` limits the bits per type; `rivals` are what other roles will want, too."""

    restrict: Mapping[str, int] | None = None
    rivals: tuple[Item, ...] = ()


def groups_of(table: HostTable, type_: str, host: int) -> Groups:
    """Per level below the host (finest first), the masks of its domains in name order."""
    key = ("groups", type_, host)
    if key not in table.memo:
        row = table.instances[type_][host] if type_ in table.instances else {}
        levels = []
        for level in table.finer():
            by_name: dict[str, int] = {}
            for number, instance in row.items():
                name = dict(instance.domains).get(level, "")
                if name:
                    by_name[name] = by_name.get(name, 0) | 1 << number
            levels.append(tuple(by_name[name] for name in sorted(by_name)))
        table.memo[key] = tuple(levels)
    found: Groups = table.memo[key]
    return found


def sockets_of(table: HostTable, type_: str, host: int) -> tuple[int, ...]:
    """The masks of a type's instances by the socket (else memory node) that they say they are
    at, in the order of its name; those that say nothing are in none."""
    key = ("sockets", type_, host)
    if key not in table.memo:
        by_name: dict[str, int] = {}
        rows = table.instances.get(type_)
        for number, instance in (rows[host] if rows else {}).items():
            said = dict(instance.attributes)
            where = said.get("socket", said.get("numa"))
            if where is not None:
                by_name[str(where)] = by_name.get(str(where), 0) | 1 << number
        table.memo[key] = tuple(by_name[name] for name in sorted(by_name))
    found: tuple[int, ...] = table.memo[key]
    return found


def tiled(work: Workspace, item: Item, host: int, free: int) -> int:
    """The free bits that a request may draw on: at most `tile` of each socket, lowest first."""
    kept = 0
    for socket in sockets_of(work.hosts, item.type, host):
        left = free & socket
        for _ in range(item.tile):
            kept |= left & -left
            left &= left - 1
    return kept


def _on_one_socket(work: Workspace, item: Item, host: int, free: int, amount: int) -> int:
    """The tightest socket's bits where one holds the amount, else all."""
    sockets = [free & socket for socket in sockets_of(work.hosts, item.type, host)]
    holding = [bits for bits in sockets if bits.bit_count() >= amount]
    return min(holding, key=lambda bits: (bits.bit_count(), bits & -bits), default=free)


def pick(work: Workspace, load: Load, host: int, units: int, limits: Limits) -> Picked | None:
    """Instances for the fixed part and `units` units on one host, None if they do not fit."""
    kinds = [(item, 1) for item in load.fixed_items] + [(item, units) for item in load.unit_items]
    free = {
        item.type: work.ledger.mask(item.type, host)
        & (-1 if limits.restrict is None else limits.restrict.get(item.type, 0))
        for item, _ in kinds
    }
    eligible = [work.eligible(item.type, item.select)[host] for item, _ in kinds]
    found: list[list[int]] = [[] for _ in kinds]
    for index in _hardest_first(work, kinds, eligible):
        item, times = kinds[index]
        wanted = _narrower(work, host, kinds, eligible, index, limits.rivals)
        groups = groups_of(work.hosts, item.type, host)
        room = free[item.type] & eligible[index]
        if item.tile > 0:
            room = tiled(work, item, host, room)
        elif item.tile == WHOLE:
            room = _on_one_socket(work, item, host, room, item.count * times)
        bits = _for_kind(room, item, times, groups, wanted, work)
        if bits is None:
            return None
        found[index] = bits
        for part in bits:
            free[item.type] &= ~part
    fixed = tuple(bits[0] for bits in found[: len(load.fixed_items)])
    per_kind = found[len(load.fixed_items) :]
    return Picked(fixed, tuple(zip(*per_kind, strict=True)) if per_kind else ((),) * units)


def _hardest_first(
    work: Workspace, kinds: Sequence[tuple[Item, int]], eligible: Sequence[int]
) -> list[int]:
    if len(kinds) == 1:
        return [0]
    finer = work.hosts.finer()
    return sorted(
        range(len(kinds)),
        key=lambda i: (
            eligible[i].bit_count(),
            kinds[i][0].same not in finer,
            -kinds[i][0].count,
            i,
        ),
    )


def _narrower(
    work: Workspace,
    host: int,
    kinds: Sequence[tuple[Item, int]],
    eligible: Sequence[int],
    index: int,
    rivals: Sequence[Item],
) -> int:
    """Bits of one kind that other kinds, or other roles, with less choice want."""
    type_, own = kinds[index][0].type, eligible[index]
    others = [bits for j, bits in enumerate(eligible) if j != index and kinds[j][0].type == type_]
    others.extend(
        work.eligible(rival.type, rival.select)[host] for rival in rivals if rival.type == type_
    )
    wanted = 0
    for bits in others:
        if bits != own and bits.bit_count() <= own.bit_count():
            wanted |= bits
    return wanted


def _for_kind(
    free: int, item: Item, times: int, groups: Groups, wanted: int, work: Workspace
) -> list[int] | None:
    """Bits for each of `times` units of one item."""
    finer = work.hosts.finer()
    same = finer.index(item.same) if item.same in finer else -1
    whole = _tightest(free, item.count * times, groups)
    if whole:
        free = whole
    chosen: list[int] = []
    sticky = 0
    for _ in range(times):
        region, sticky = _region(free, item.count, groups, same, sticky)
        bits = _lowest(region, item.count, groups, wanted)
        if bits is None:
            return None
        chosen.append(bits)
        free &= ~bits
    return chosen


def bits_of(work: Workspace, item: Item, free: int, groups: Groups) -> int:
    """The bits of one unit that nothing else competes with, where `free` has enough of them."""
    found = _for_kind(free, item, 1, groups, 0, work)
    assert found is not None, "the caller counted them"
    return found[0]


def _tightest(free: int, amount: int, groups: Groups) -> int:
    """The free bits of the domain that holds `amount` with the fewest left, finest level first."""
    for level in groups:
        holding = [free & group for group in level if (free & group).bit_count() >= amount]
        if holding:
            return min(holding, key=lambda bits: (bits.bit_count(), bits & -bits))
    return 0


def _region(free: int, amount: int, groups: Groups, same: int, sticky: int) -> tuple[int, int]:
    """Where the next unit goes: the domain of the last one, else the roomiest that holds it."""
    if sticky and (free & sticky).bit_count() >= amount:
        return free & sticky, sticky
    for index, level in enumerate(groups):
        if 0 <= same < index:
            break
        holding = [group for group in level if (free & group).bit_count() >= amount]
        if holding:
            best = max(holding, key=lambda g: ((free & g).bit_count(), -(g & -g)))
            return free & best, best
    return (0, 0) if same >= 0 else (free, 0)


def _lowest(free: int, amount: int, groups: Groups, wanted: int) -> int | None:
    """`amount` bits: unwanted by others first, roomiest domains first, low numbers first."""
    if free.bit_count() < amount:
        return None
    taken = 0
    for part in (free & ~wanted, free & wanted) if wanted else (free,):
        for bit in _in_order(part, groups[::-1]):
            if taken.bit_count() == amount:
                return taken
            taken |= bit
    return taken


def _in_order(free: int, levels: Groups) -> list[int]:
    """Single bits, sub-domains kept whole and roomiest first, what has no domain last."""
    if not levels:
        return [1 << n for n in range(free.bit_length()) if free >> n & 1]
    inner = sorted(
        (free & group for group in levels[0] if free & group),
        key=lambda bits: (-bits.bit_count(), bits & -bits),
    )
    ordered: list[int] = []
    for bits in inner:
        ordered.extend(_in_order(bits, levels[1:]))
    rest = free & ~sum(inner)
    return ordered + _in_order(rest, ())

"""How a piece's units lie on a row of ordered hosts: the shape of its span, unit by unit of cu[].

Pure counting over a `Row`. Without compute units the shape's own ways come in their order. With
them, first the units and the tasks of each are chosen (units.py), then each unit is filled as the
shape says; only the last unit is asked for further ways.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from xce.model.need import UnitNeed
from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import Hosts
from xce.scheduler.fit.demand import MemberNeed, Shape
from xce.scheduler.place.parallel import Spread, blocks, chunks, evenly, spreads, tiles
from xce.scheduler.place.topology import Window, is_finer, level_ids
from xce.scheduler.place.units import choices


class Row(Struct, frozen=True, gc=False, kw_only=True):
    """Hosts in order, with the units that fit on each, and on each as the first; the tile of each
    under span[ptile]; and the spots of each compute unit, in order of preference. `balanced`
    rows are filled evenly, domain by domain."""

    window: Window
    room: list[int]
    first: list[int]
    sizes: list[int]
    units: tuple[tuple[int, ...], ...]
    balanced: bool = False


def unit_spots(work: Workspace, level: str, hosts: Hosts) -> tuple[tuple[int, ...], ...]:
    """The places in `hosts` of each domain of a level, in the order in which they are met; none
    where no level is given, or one below the host."""
    if not level or is_finer(work.hosts, level):
        return ()
    ids, _ = level_ids(work.hosts, level)
    spots: dict[int, list[int]] = {}
    for spot, unit in enumerate(ids[hosts].tolist()):
        spots.setdefault(unit, []).append(spot)
    return tuple(tuple(found) for found in spots.values())


def layouts(need: MemberNeed, row: Row, units: int) -> Iterator[Spread]:
    """Every way to lay the units on the row."""
    asked = need.part.units
    if row.balanced and row.units:
        rooms = [_capacity(need, row, spots) for spots in row.units]
        for choice in choices(rooms, units, UnitNeed(balance=True)):
            yield from _unit_by_unit(need, row, choice)
        return
    if asked is None:
        yield from _shaped(need, row, tuple(range(len(row.room))), units, begins=True)
        return
    if need.shape is Shape.ONE_HOST:
        asked = UnitNeed() if asked.least <= need.tasks else UnitNeed(least=units + 1)
    rooms = [_capacity(need, row, spots) for spots in row.units]
    for choice in choices(rooms, units, asked):
        yield from _unit_by_unit(need, row, choice)


def _unit_by_unit(
    need: MemberNeed, row: Row, choice: Sequence[tuple[int, int]]
) -> Iterator[Spread]:
    head: list[tuple[int, int]] = []
    for unit, tasks in choice[:-1]:
        ways = _shaped(need, row, row.units[unit], tasks, begins=not head)
        found = next(ways, None)
        if found is None:
            return
        head.extend(found)
    unit, tasks = choice[-1]
    for spread in _shaped(need, row, row.units[unit], tasks, begins=not head):
        yield (*head, *spread)


def _shaped(
    need: MemberNeed, row: Row, spots: tuple[int, ...], units: int, *, begins: bool
) -> Iterator[Spread]:
    """The shape's ways over some of the row's spots; `begins` where the member's first host is
    among them."""
    room = [row.room[spot] for spot in spots]
    first = [row.first[spot] for spot in spots] if begins else room
    for spread in _ways(need, row, spots, (room, first), units):
        yield tuple((spots[i], count) for i, count in spread)


def _ways(
    need: MemberNeed,
    row: Row,
    spots: tuple[int, ...],
    figures: tuple[list[int], list[int]],
    units: int,
) -> Iterator[Spread]:
    room, first = figures
    match need.shape:
        case Shape.PTILE if need.ptile > 0 and not need.part.tiles:
            return chunks(room, first, units, need.ptile)
        case Shape.PTILE:
            return tiles(room, first, units, [row.sizes[spot] for spot in spots])
        case Shape.BLOCK:
            return blocks(room, first, units, need.part.block)
        case Shape.STRIPE:
            return evenly(room, first, units, need.part.stripe_most)
        case _:
            return spreads(room, first, units)


def _capacity(need: MemberNeed, row: Row, spots: Sequence[int]) -> int:
    """The units that a compute unit can hold, from above."""
    match need.shape:
        case Shape.PTILE:
            return sum(min(row.room[spot], row.sizes[spot]) for spot in spots)
        case Shape.BLOCK:
            return sum(row.room[spot] // need.part.block * need.part.block for spot in spots)
        case Shape.STRIPE if need.part.stripe_most:
            return sum(min(row.room[spot], need.part.stripe_most) for spot in spots)
        case _:
            return sum(row.room[spot] for spot in spots)

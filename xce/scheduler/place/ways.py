"""The ways to lay one piece of an ask: which windows, which hosts in which order, how many units.

A piece is what is laid in one go: all members of a role that run on one host each, or one member
by itself. Its ways come greediest first; each is only a proposal until it is laid, which picks
instances, processors and ports and takes everything from the ledger.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import caps, tangled
from xce.scheduler.fit.demand import Item, Load
from xce.scheduler.fit.lay import Cell, blank, lay
from xce.scheduler.fit.picks import Limits, pick
from xce.scheduler.place.layouts import Row, layouts, unit_spots
from xce.scheduler.place.parallel import Spread
from xce.scheduler.place.rows import narrowed, partitions, ranked, sizes_of, unit_level
from xce.scheduler.place.scopes import RolePlan, Scopes
from xce.scheduler.place.topology import Window
from xce.scheduler.snapshot import Column


class Piece(Struct, frozen=True, gc=False):
    """What is laid in one go: all members of a one-host role (`member` -1), or of one of its
    segments (then `member` is the segment's number), or one member. `segment` has the units that
    one domain must hold, 0 where the role has no segments."""

    plan: RolePlan
    member: int
    units: int
    segment: int = 0

    def joins(self, other: "Piece") -> bool:
        """Whether it goes where the other piece of its role went."""
        length = self.plan.role.topology.segment
        if not length:
            return True
        return self.plan.by_member and self.member // length == other.member // length


class Way(Struct, frozen=True, gc=False):
    """Hosts in their order with the units for each, and the window that the role's next member
    is to be laid in."""

    kept: Window
    row: Window
    spread: Spread


def pieces_of(plans: Sequence[RolePlan], counts: Sequence[int]) -> list[Piece]:
    """The pieces of so many members of each role, in the order of roles, ranks and terms."""
    pieces: list[Piece] = []
    for plan, count in zip(plans, counts, strict=True):
        length = plan.role.topology.segment
        if not plan.by_member:
            if length:
                for number, first in enumerate(range(0, count, length)):
                    units = min(length, count - first)
                    pieces.append(Piece(plan, number, units, units))
            else:
                pieces.append(Piece(plan, -1, count))
            continue
        parts = [part for part in plans if part.owner == plan.owner]
        for rank in range(count) if parts[0] is plan else ():
            together = min(length, count - rank // length * length) if length else 0
            pieces.extend(Piece(part, rank, part.piece, together * part.piece) for part in parts)
    return [piece for piece in pieces if piece.units]


class Ways:
    """The ways of all pieces of one ask; `salt` turns the choice of ports."""

    def __init__(
        self, work: Workspace, scopes: Scopes, plans: Sequence[RolePlan], salt: int
    ) -> None:
        self.work = work
        self.salt = salt
        self._scopes = scopes
        self._rivals = _rivals(plans)

    def of(
        self, piece: Piece, scope: Window, kept: Window | None, beside: Window | None = None
    ) -> Iterator[Way]:
        """Every window of the piece's role with every spread over its hosts: the `kept` one of
        the members before, or the same domain as the member's other terms have `beside` it."""
        need = piece.plan.need
        if kept:
            windows = iter((kept,))
        elif piece.segment:
            windows = self._scopes.of_segment(piece.plan, scope, piece.segment)
        else:
            windows = self._scopes.of_role(piece.plan, scope)
        for window in windows:
            if beside is not None and (window.level, window.name) != (beside.level, beside.name):
                continue
            ordered = ranked(self.work, need, window)
            for part in partitions(self.work, need, ordered):
                chosen = part is not ordered or need.part.units is not None
                for row in self._rows(piece, part):
                    for spread in layouts(need, row, piece.units):
                        yield Way(window if chosen else row.window, row.window, spread)

    def _rows(self, piece: Piece, window: Window) -> Iterator[Row]:
        """The window with, in turn, each host in front that can bear what sits on the first; with
        the units that fit on each host, and on each as the first."""
        row = narrowed(window, window.hosts[piece.plan.units[window.hosts] > 0])
        plain = piece.plan.need.load(False, False)
        left = caps(self.work, plain, row.hosts, row.limits)
        if int(np.minimum(left, piece.units).sum()) < piece.units:
            return
        row = narrowed(row, row.hosts[left > 0])
        room = self._exact(piece, row, plain, left[left > 0])
        begin = piece.plan.need.load(True, piece.member <= 0)
        first = room
        if begin != plain:
            first = self._exact(piece, row, begin, caps(self.work, begin, row.hosts, row.limits))
        bearing = [i for i, cap in enumerate(first) if cap > 0]
        if len(bearing) == sum(cap > 0 for cap in room):
            yield self._row(piece, row, room, first)
            return
        for front in bearing:
            order = [front, *(i for i in range(len(room)) if i != front)]
            hosts = row.hosts[np.array(order, dtype=np.intp)]
            turned = narrowed(row, hosts)
            yield self._row(piece, turned, [room[i] for i in order], [first[i] for i in order])

    def _row(self, piece: Piece, row: Window, room: list[int], first: list[int]) -> Row:
        need = piece.plan.need
        return Row(
            window=row,
            room=room,
            first=first,
            sizes=sizes_of(self.work, need, row.hosts),
            units=unit_spots(self.work, self._unit_level(piece), row.hosts),
            balanced=self._is_balanced(piece),
        )

    def _is_balanced(self, piece: Piece) -> bool:
        """Whether the piece's members are to be spread evenly over domains."""
        return piece.plan.role.topology.balanced and piece.member < 0

    def _unit_level(self, piece: Piece) -> str:
        """The level whose domains the layout looks at one by one, "" for none."""
        units = piece.plan.need.part.units
        if units is not None:
            return unit_level(self.work.hosts, units)
        if not self._is_balanced(piece):
            return ""
        return piece.plan.role.topology.inner

    def _exact(self, piece: Piece, row: Window, load: Load, room: Column) -> list[int]:
        """The room per host, made exact where requests draw on the same instances."""
        counts: list[int] = room.tolist()
        if tangled(load):
            limits = Limits(row.restrict, self._rivals[piece.plan.index])
            for i, host in enumerate(row.hosts.tolist()):
                counts[i] = min(counts[i], piece.units)
                while counts[i] and pick(self.work, load, host, counts[i], limits) is None:
                    counts[i] -= 1
        return counts

    def lay(self, piece: Piece, way: Way) -> list[Cell] | None:
        """The piece laid that way and taken; None when it does not fit, with part of it taken."""
        cells: list[Cell] = []
        for spot, units in way.spread:
            cell = blank(
                piece.plan.index,
                piece.member,
                int(way.row.hosts[spot]),
                spot,
                units,
                first=not cells,
                anchored=not cells and piece.member <= 0,
            )
            laid = lay(
                self.work,
                piece.plan.need,
                cell,
                Limits(way.row.restrict, self._rivals[piece.plan.index]),
                self.salt,
            )
            if laid is None:
                return None
            cells.append(laid)
        return cells


def _rivals(plans: Sequence[RolePlan]) -> list[tuple[Item, ...]]:
    """Per role, what the other roles ask for of instances."""
    items = [plan.need.items(1, True) + plan.need.anchor.items for plan in plans]
    return [
        tuple(item for j, others in enumerate(items) if j != i for item in others)
        for i in range(len(plans))
    ]

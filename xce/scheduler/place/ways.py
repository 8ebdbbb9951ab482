"""The ways to lay one piece of an ask: which windows, which hosts in which order, how many units.

A piece is what is laid in one go: all members of a role that run on one host each, or one member
that spans hosts. Its ways come greediest first; each is only a proposal until it is laid, which
picks instances and ports and takes everything from the ledger.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct, structs

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import Hosts, caps, tangled
from xce.scheduler.fit.demand import Item, Load, Shape
from xce.scheduler.fit.lay import Cell, blank, lay
from xce.scheduler.fit.picks import Limits, pick
from xce.scheduler.place.parallel import Spread, chunks, spreads
from xce.scheduler.place.scopes import RolePlan, Scopes
from xce.scheduler.place.topology import Window
from xce.scheduler.snapshot import Column


class Piece(Struct, frozen=True, gc=False):
    """What is laid in one go: all members of a one-host role, or one member that spans hosts."""

    plan: RolePlan
    member: int
    units: int


def pieces_of(plans: Sequence[RolePlan], counts: Sequence[int]) -> list[Piece]:
    """The pieces of so many members of each role, in the order of roles and ranks."""
    pieces: list[Piece] = []
    for plan, count in zip(plans, counts, strict=True):
        if plan.need.shape is Shape.ONE_HOST:
            pieces.append(Piece(plan, -1, count))
        else:
            pieces.extend(Piece(plan, rank, plan.need.tasks) for rank in range(count))
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
        self, piece: Piece, scope: Window, kept: Window | None
    ) -> Iterator[tuple[Window, Spread]]:
        """Every window of the piece's role with every spread over its hosts."""
        need = piece.plan.need
        windows = iter((kept,)) if kept else self._scopes.of_role(piece.plan, scope)
        for window in windows:
            for row, room, first in self._rows(piece, window):
                ways = (
                    chunks(room, first, piece.units, need.ptile)
                    if need.shape is Shape.PTILE
                    else spreads(room, first, piece.units)
                )
                for spread in ways:
                    yield row, spread

    def _rows(self, piece: Piece, window: Window) -> Iterator[tuple[Window, list[int], list[int]]]:
        """The window with, in turn, each host in front that can bear what sits on the first; with
        the units that fit on each host, and on each as the first."""
        row = _narrowed(window, window.hosts[piece.plan.units[window.hosts] > 0])
        plain = piece.plan.need.load(False, False)
        left = caps(self.work, plain, row.hosts, row.limits)
        if int(np.minimum(left, piece.units).sum()) < piece.units:
            return
        row = _narrowed(row, row.hosts[left > 0])
        room = self._exact(piece, row, plain, left[left > 0])
        begin = piece.plan.need.load(True, piece.member <= 0)
        first = room
        if begin != plain:
            first = self._exact(piece, row, begin, caps(self.work, begin, row.hosts, row.limits))
        bearing = [i for i, cap in enumerate(first) if cap > 0]
        if len(bearing) == sum(cap > 0 for cap in room):
            yield row, room, first
            return
        for front in bearing:
            order = [front, *(i for i in range(len(room)) if i != front)]
            hosts = row.hosts[np.array(order, dtype=np.intp)]
            yield _narrowed(row, hosts), [room[i] for i in order], [first[i] for i in order]

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

    def lay(self, piece: Piece, window: Window, spread: Spread) -> list[Cell] | None:
        """The piece laid that way and taken; None when it does not fit, with part of it taken."""
        cells: list[Cell] = []
        hosts = window.hosts
        for spot, units in spread:
            cell = blank(
                piece.plan.index,
                piece.member,
                int(hosts[spot]),
                spot,
                units,
                first=not cells,
                anchored=not cells and piece.member <= 0,
            )
            laid = lay(
                self.work,
                piece.plan.need,
                cell,
                Limits(window.restrict, self._rivals[piece.plan.index]),
                self.salt,
            )
            if laid is None:
                return None
            cells.append(laid)
        return cells


def _narrowed(window: Window, hosts: Hosts) -> Window:
    """The window with these of its hosts."""
    return structs.replace(window, hosts=hosts)


def _rivals(plans: Sequence[RolePlan]) -> list[tuple[Item, ...]]:
    """Per role, what the other roles ask for of instances."""
    items = [plan.need.items(1, True) + plan.need.anchor.items for plan in plans]
    return [
        tuple(item for j, others in enumerate(items) if j != i for item in others)
        for i in range(len(plans))
    ]

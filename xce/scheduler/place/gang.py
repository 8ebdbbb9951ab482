"""The search: a place for every role of an ask in one decision, or nothing taken at all.

Windows (topology.py) are tried in their order; inside one, roles are laid one after the other,
and a dead end takes back the last choice that has another way. First all roles are asked for
whole; where that has no place and a role may be smaller, all minima are laid first, then roles
grow in their order, and the window that holds most members wins (the first one of equals).

A plain job is a group of one here. The search is bounded: a step is one host of one choice, and
when it took `search_bound` steps more than one straight placing it stops and says so
(`exhausted`).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct, structs

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import Hosts, caps, tangled
from xce.scheduler.fit.demand import Shape
from xce.scheduler.fit.lay import Cell, blank, lay
from xce.scheduler.fit.picks import Limits, pick
from xce.scheduler.place.growth import more_members
from xce.scheduler.place.parallel import Spread, chunks, spreads
from xce.scheduler.place.scopes import RolePlan, Scopes
from xce.scheduler.place.topology import Window
from xce.scheduler.snapshot import Ask


class Piece(Struct, frozen=True, gc=False):
    """What is laid in one go: all members of a one-host role, or one member that spans hosts."""

    plan: RolePlan
    member: int
    units: int


class Frame:
    """A laid piece that can be asked for its next way."""

    def __init__(self, piece: Piece, mark: int) -> None:
        self.piece = piece
        self.mark = mark
        self.ways: Iterator[tuple[Window, Spread]] = iter(())
        self.window: Window | None = None
        self.cells: list[Cell] = []


class Search:
    """One ask's search on one workspace. After `run` the ledger holds what the cells took."""

    def __init__(self, work: Workspace, ask: Ask, plans: Sequence[RolePlan], salt: int) -> None:
        self.work = work
        self.ask = ask
        self.plans = plans
        self.scopes = Scopes(work, ask, plans)
        self.salt = salt
        self.steps = 0
        self.bound = self._allowance()
        self.exhausted = False
        items = [need.items(1, True) + need.anchor.items for need in (p.need for p in plans)]
        self.rivals = [
            tuple(item for j, others in enumerate(items) if j != i for item in others)
            for i in range(len(plans))
        ]

    def _allowance(self) -> int:
        """The snapshot's bound, beyond the steps that one straight placing takes."""
        straight = sum(plan.needed(plan.role.count) for plan in self.plans)
        return self.work.snapshot.search_bound + straight

    def run(self) -> list[Cell] | None:
        """The cells of a placement that is now taken, or None with the ledger as it was."""
        whole = [plan.role.count for plan in self.plans]
        for scope in self.scopes.windows(whole) if self._roomy(whole) else ():
            cells = self._solve(scope, whole)
            if cells is not None:
                return cells
            if self.exhausted:
                break
        least = [min(plan.role.min, plan.role.count) for plan in self.plans]
        return self._grown(least) if least != whole and self._roomy(least) else None

    def _roomy(self, counts: Sequence[int]) -> bool:
        """Whether each role by itself has room enough in the cluster."""
        return all(
            int(np.minimum(plan.units, plan.needed(count)).sum()) >= plan.needed(count)
            for plan, count in zip(self.plans, counts, strict=True)
        )

    def _grown(self, least: Sequence[int]) -> list[Cell] | None:
        """The most members that any window holds beyond the minima."""
        self.bound, self.exhausted = self.steps + self._allowance(), False
        best: list[Cell] = []
        for scope in self.scopes.windows(least):
            with self.work.ledger.trial():
                cells = self._solve(scope, least, grow=True)
                if cells is not None and self._members(cells) > self._members(best):
                    best = cells
            if self.exhausted:
                break
        for cell in best:
            self.work.ledger.take(cell.taking)
        return best or None

    def _members(self, cells: Sequence[Cell]) -> int:
        ones = sum(cell.units for cell in cells if cell.member < 0)
        return ones + len({(cell.role, cell.member) for cell in cells if cell.member >= 0})

    def _solve(
        self, scope: Window, counts: Sequence[int], *, grow: bool = False
    ) -> list[Cell] | None:
        """The pieces in turn, backing out of dead ends; no recursion, however many there are."""
        ledger = self.work.ledger
        pieces = self._pieces(counts)
        frames: list[Frame] = []
        start = ledger.mark()
        while len(frames) < len(pieces):
            self._open(frames, pieces[len(frames)], scope)
            while frames and not self._advance(frames):
                ledger.rollback(frames.pop().mark)
            if not frames or self.exhausted:
                ledger.rollback(start)
                return None
        cells = [cell for frame in frames for cell in frame.cells]
        return cells + self._growth(frames, scope, counts) if grow else cells

    def _pieces(self, counts: Sequence[int]) -> list[Piece]:
        pieces: list[Piece] = []
        for plan, count in zip(self.plans, counts, strict=True):
            if plan.need.shape is Shape.ONE_HOST:
                pieces.append(Piece(plan, -1, count))
            else:
                pieces.extend(Piece(plan, rank, plan.need.tasks) for rank in range(count))
        return [piece for piece in pieces if piece.units]

    def _open(self, frames: list[Frame], piece: Piece, scope: Window) -> None:
        frame = Frame(piece, self.work.ledger.mark())
        before = frames[-1] if frames else None
        window = None
        if before is not None and before.piece.plan is piece.plan:
            window = before.window
        frame.ways = self._ways(piece, scope, window)
        frames.append(frame)

    def _advance(self, frames: list[Frame]) -> bool:
        """Lays the last frame's next way; False when it has none left."""
        frame = frames[-1]
        ledger = self.work.ledger
        ledger.rollback(frame.mark)
        for window, spread in frame.ways:
            self.steps += 1 + len(spread)
            if self.steps > self.bound:
                self.exhausted = True
                return False
            cells = self._lay(frame.piece, window, spread)
            if cells is not None:
                frame.window, frame.cells = window, cells
                return True
            ledger.rollback(frame.mark)
        return False

    def _ways(
        self, piece: Piece, scope: Window, kept: Window | None
    ) -> Iterator[tuple[Window, Spread]]:
        """Every window of the piece's role with every spread over its hosts."""
        need = piece.plan.need
        windows = iter((kept,)) if kept else self.scopes.of_role(piece.plan, scope)
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
        left = caps(self.work, piece.plan.need.load(False, False), row.hosts, row.limits)
        if int(np.minimum(left, piece.units).sum()) < piece.units:
            return
        row = _narrowed(row, row.hosts[left > 0])
        room, first = self._caps(piece, row, first=False), self._caps(piece, row, first=True)
        bearing = [i for i, cap in enumerate(first) if cap > 0]
        if len(bearing) == sum(cap > 0 for cap in room):
            yield row, room, first
            return
        for front in bearing:
            self.steps += 1
            order = [front, *(i for i in range(len(room)) if i != front)]
            hosts = row.hosts[np.array(order, dtype=np.intp)]
            yield _narrowed(row, hosts), [room[i] for i in order], [first[i] for i in order]

    def _caps(self, piece: Piece, row: Window, *, first: bool) -> list[int]:
        """Units per host of the row; exact also where requests draw on the same instances."""
        need = piece.plan.need
        load = need.load(first, first and piece.member <= 0)
        room = caps(self.work, load, row.hosts, row.limits).tolist()
        if tangled(load):
            limits = Limits(row.restrict, self.rivals[piece.plan.index])
            for i, host in enumerate(row.hosts.tolist()):
                room[i] = min(room[i], piece.units)
                while room[i] and pick(self.work, load, host, room[i], limits) is None:
                    room[i] -= 1
        return [int(count) for count in room]

    def _lay(self, piece: Piece, window: Window, spread: Spread) -> list[Cell] | None:
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
                Limits(window.restrict, self.rivals[piece.plan.index]),
                self.salt,
            )
            if laid is None:
                return None
            cells.append(laid)
        return cells

    def _growth(self, frames: Sequence[Frame], scope: Window, counts: Sequence[int]) -> list[Cell]:
        """Members beyond the minima: role by role in their order, as many as fit."""
        grown: list[Cell] = []
        for plan, count in zip(self.plans, counts, strict=True):
            mine = [frame for frame in frames if frame.piece.plan is plan]
            if plan.need.shape is Shape.ONE_HOST:
                grown.extend(self._more_members(plan, mine, scope, plan.role.count - count))
                continue
            for rank in range(count, plan.role.count):
                mine = self._one_more(Piece(plan, rank, plan.need.tasks), mine, scope)
                if not mine:
                    break
                grown.extend(mine[-1].cells)
        return grown

    def _more_members(
        self, plan: RolePlan, mine: list[Frame], scope: Window, wanted: int
    ) -> list[Cell]:
        """A role without a minimum begins with one member; then the rest follows."""
        begun: list[Cell] = []
        if not mine and wanted:
            mine = self._one_more(Piece(plan, -1, 1), mine, scope)
            begun = [cell for frame in mine for cell in frame.cells]
            wanted -= 1
        if not mine or not wanted:
            return begun
        window = mine[-1].window
        assert window is not None
        return begun + more_members(self.work, plan.need, window, mine[-1].cells, wanted, self.salt)

    def _one_more(self, piece: Piece, mine: list[Frame], scope: Window) -> list[Frame]:
        """The role's frames with one more piece laid, or none when it does not fit."""
        frames = list(mine)
        self._open(frames, piece, scope)
        return frames if self._advance(frames) else []


def _narrowed(window: Window, hosts: Hosts) -> Window:
    """The window with these of its hosts."""
    return structs.replace(window, hosts=hosts)

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

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.lay import Cell
from xce.scheduler.place.growth import more_members
from xce.scheduler.place.scopes import RolePlan, Scopes
from xce.scheduler.place.topology import Window
from xce.scheduler.place.ways import Piece, Way, Ways, pieces_of
from xce.scheduler.snapshot import Ask


class Frame:
    """A laid piece that can be asked for its next way."""

    def __init__(self, piece: Piece, mark: int) -> None:
        self.piece = piece
        self.mark = mark
        self.ways: Iterator[Way] = iter(())
        self.window: Window | None = None
        self.cells: list[Cell] = []


class Search:
    """One ask's search on one workspace. After `run` the ledger holds what the cells took."""

    def __init__(self, work: Workspace, ask: Ask, plans: Sequence[RolePlan], salt: int) -> None:
        self.work = work
        self.ask = ask
        self.plans = plans
        self.scopes = Scopes(work, ask, plans)
        self.ways = Ways(work, self.scopes, plans, salt)
        self.steps = 0
        self.bound = self._allowance()
        self.exhausted = False

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

    def _solve(
        self, scope: Window, counts: Sequence[int], *, grow: bool = False
    ) -> list[Cell] | None:
        """The pieces in turn, backing out of dead ends; no recursion, however many there are."""
        ledger = self.work.ledger
        pieces = pieces_of(self.plans, counts)
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

    def _open(self, frames: list[Frame], piece: Piece, scope: Window) -> None:
        """Begins a piece in the window of the role's earlier members, and of its other terms."""
        frame = Frame(piece, self.work.ledger.mark())
        mine = [one for one in frames if one.piece.plan.owner == piece.plan.owner]
        near = [one for one in mine if piece.joins(one.piece)]
        kept = [one.window for one in near if one.piece.plan is piece.plan]
        beside = near[-1].window if near and not kept else None
        frame.ways = self.ways.of(piece, scope, kept[-1] if kept else None, beside)
        frames.append(frame)

    def _advance(self, frames: list[Frame]) -> bool:
        """Lays the last frame's next way; False when it has none left."""
        frame = frames[-1]
        ledger = self.work.ledger
        ledger.rollback(frame.mark)
        for way in frame.ways:
            self.steps += 1 + len(way.spread)
            if self.steps > self.bound:
                self.exhausted = True
                return False
            cells = self.ways.lay(frame.piece, way)
            if cells is not None:
                frame.window, frame.cells = way.kept, cells
                return True
            ledger.rollback(frame.mark)
        return False

    def _growth(self, frames: Sequence[Frame], scope: Window, counts: Sequence[int]) -> list[Cell]:
        """Members beyond the minima: role by role in their order, as many as fit. What lies in
        segments, or balanced, stays as it is."""
        grown: list[Cell] = []
        for plan, count in zip(self.plans, counts, strict=True):
            mine = [frame for frame in frames if frame.piece.plan.owner == plan.owner]
            if plan.role.topology.segment or plan.role.topology.balanced:
                continue
            if not plan.by_member:
                grown.extend(self._more_members(plan, mine, scope, plan.role.count - count))
                continue
            parts = [part for part in self.plans if part.owner == plan.owner]
            for rank in range(count, plan.role.count) if parts[0] is plan else ():
                before = len(mine)
                mine = self._one_more_each(parts, rank, mine, scope)
                if not mine:
                    break
                grown.extend(cell for frame in mine[before:] for cell in frame.cells)
        return grown

    def _one_more_each(
        self, parts: Sequence[RolePlan], rank: int, mine: list[Frame], scope: Window
    ) -> list[Frame]:
        """One more member with all its terms, or none of them."""
        mark = self.work.ledger.mark()
        for part in parts:
            mine = self._one_more(Piece(part, rank, part.piece), mine, scope)
            if not mine:
                self.work.ledger.rollback(mark)
                break
        return mine

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
        return begun + more_members(
            self.work, plan.need, window, mine[-1].cells, wanted, self.ways.salt
        )

    def _one_more(self, piece: Piece, mine: list[Frame], scope: Window) -> list[Frame]:
        """The role's frames with one more piece laid, or none when it does not fit."""
        frames = list(mine)
        self._open(frames, piece, scope)
        return frames if self._advance(frames) else []

    def _members(self, cells: Sequence[Cell]) -> int:
        """How many members the cells are."""
        by_member = [plan.by_member for plan in self.plans]
        ones = sum(cell.units for cell in cells if not by_member[cell.role])
        owners = {(self.plans[c.role].owner, c.member) for c in cells if by_member[c.role]}
        return ones + len(owners)

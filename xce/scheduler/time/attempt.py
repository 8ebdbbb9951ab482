"""One ask tried on one workspace: the same search as a session's, and what it would be granted."""

from collections.abc import Sequence

from msgspec import Struct

from xce.model.placing import Share
from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.lay import Cell
from xce.scheduler.fit.shares import PartCells, role_outcome
from xce.scheduler.place.classes import Choice, Term, choices_of, compile_ask, plans_of
from xce.scheduler.place.gang import Search
from xce.scheduler.snapshot import Ask
from xce.scheduler.time.terms import share_of


class Found(Struct, frozen=True, gc=False):
    """Where an ask fits on a workspace, and the steps that the search took."""

    shares: tuple[Share, ...]
    steps: int

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts, each once, in order."""
        return tuple(dict.fromkeys(share.host for share in self.shares))


def attempt(work: Workspace, ask: Ask, now_us: int) -> Found | None:
    """The first choice of the ask that has a place; the ledger is as before afterwards."""
    steps = 0
    for choice in choices_of(ask, now_us)[0]:
        compiled = compile_ask(work, ask, choice)
        if compiled.refusal is not None:
            continue
        with work.ledger.trial():
            salt = ask.group or ask.roles[0].jobs[0]
            if compiled.serial is not None:
                cell = compiled.serial.place(salt)
                cells = [cell] if cell is not None else None
                steps += 1
            else:
                allowed = [term.allowed for term in compiled.terms]
                search = Search(work, ask, plans_of(work, compiled.terms, allowed), salt)
                cells = search.run()
                steps += search.steps
            if cells is not None:
                return Found(_shares(work, ask, choice, compiled.terms, cells), steps)
    return None


def _shares(
    work: Workspace, ask: Ask, choice: Choice, terms: Sequence[Term], cells: Sequence[Cell]
) -> tuple[Share, ...]:
    found: list[Share] = []
    for owner, (role, alternative) in enumerate(zip(ask.roles, choice, strict=True)):
        parts = [
            PartCells(term.need, [cell for cell in cells if cell.role == index])
            for index, term in enumerate(terms)
            if term.owner == owner
        ]
        members, claims = role_outcome(work, role, parts, alternative)
        found.extend(share for member in members for share in member.shares)
        found.extend(share_of(holding) for claim in claims for holding in claim.holdings)
    return tuple(found)

"""Who has to give way so that blocked work of a preemptive queue can begin.

First the proof: on what is free and what all candidates have, the work must find its place by the
session's own search; if it does not, nobody gives way. Then as few as are needed: one candidate
that is enough by itself, else the shortest row of candidates that is, from which each that is not
needed is taken out again. So no proper part of the victims would be enough. Candidates come in
the order in which they give way: the least important queue, then who began last.
"""

from collections.abc import Sequence

from msgspec import Struct

from xce.model.placing import Share
from xce.scheduler.candidates import Workspace
from xce.scheduler.ledger import Taking
from xce.scheduler.snapshot import Ask
from xce.scheduler.time.attempt import Found, attempt
from xce.scheduler.time.book import Book
from xce.scheduler.time.reserve import Starts
from xce.scheduler.time.terms import Victim

CANDIDATES_MAX = 256
ALONE_MAX = 64


class Way(Struct, frozen=True, gc=False):
    """Who gives way, and what the work is granted then."""

    victims: tuple[Victim, ...]
    shares: tuple[Share, ...]


class Preemption:
    """Looks for victims, on one book."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self.steps = 0

    def way(self, ask: Ask, candidates: Sequence[Victim], at_us: int, skip: int) -> Way | None:
        """The victims for an ask that is to begin at `at_us`; None where all of them together
        would not help, or nobody has to give way."""
        row = sorted(candidates, key=_order)[:CANDIDATES_MAX]
        if not row or self._fits(ask, row, at_us, skip) is None:
            return None
        if self._fits(ask, (), at_us, skip) is not None:
            return None
        for one in row[:ALONE_MAX]:
            found = self._fits(ask, (one,), at_us, skip)
            if found is not None:
                return Way((one,), found.shares)
        return self._fewest(ask, row, at_us, skip)

    def _fewest(self, ask: Ask, row: Sequence[Victim], at_us: int, skip: int) -> Way | None:
        low, high = 1, len(row)
        while low < high:
            middle = (low + high) // 2
            if self._fits(ask, row[:middle], at_us, skip) is None:
                low = middle + 1
            else:
                high = middle
        kept = list(row[:low])
        # Those that would lose most come last in the row: they are let off first.
        for one in reversed(row[:low]):
            less = [other for other in kept if other is not one]
            if self._fits(ask, less, at_us, skip) is not None:
                kept = less
        found = self._fits(ask, kept, at_us, skip)
        return Way(tuple(kept), found.shares) if found is not None else None

    def _fits(self, ask: Ask, victims: Sequence[Victim], at_us: int, skip: int) -> Found | None:
        takings: list[Taking] = []
        for one in victims:
            takings.extend(self._book.takings_of(one.shares))
        until_us = Starts.until_us(ask, at_us)
        now_us = self._book.now_us
        gone = [one.who for one in victims]
        snapshot = self._book.later(now_us, until_us, skip, without=takings, gone=gone)
        found = attempt(Workspace(snapshot), ask, now_us)
        self.steps += 1 + (found.steps if found is not None else 0)
        return found


def _order(one: Victim) -> tuple[int, int, int, int]:
    return (one.priority, -one.since_us, -one.group, -one.job)

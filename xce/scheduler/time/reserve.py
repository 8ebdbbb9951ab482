"""When blocked work can begin at the earliest, and what is reserved for it from then on.

Something can only begin to fit when something else ends: the moments of the book are all that is
tried. While nothing else is reserved, later moments are freer, so the first one that fits is
found by halving; where others have reservations, the moments from there on are tried in turn,
PROBES_MAX of them. Each trial is the session's own search on the snapshot of that moment.
"""

from msgspec import Struct

from xce.model.placing import Share
from xce.scheduler.candidates import Workspace
from xce.scheduler.reasons import Code
from xce.scheduler.snapshot import Ask
from xce.scheduler.time.attempt import Found, attempt
from xce.scheduler.time.book import Book
from xce.scheduler.time.terms import FOREVER_US, JITTER_US, Hold

PROBES_MAX = 200
CURABLE = frozenset(
    {
        Code.SHORT_ON_HOST,
        Code.SHORT_TOGETHER,
        Code.MEMBERS_SHORT,
        Code.DOMAIN_SHORT,
        Code.SCATTERED,
        Code.NOT_LAID,
        Code.SEARCH_BOUND,
        Code.RESERVED,
        Code.WOULD_DELAY,
        Code.NO_RUN_LIMIT,
    }
)
"""Reasons that end when something ends: who waits for a limit or a queue reserves nothing."""


class Start(Struct, frozen=True, gc=False):
    """The earliest start of an ask, and what it would be granted then."""

    at_us: int
    end_us: int
    shares: tuple[Share, ...]


class Starts:
    """Looks for the earliest starts of blocked asks, on one book."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self.steps = 0

    def earliest(self, ask: Ask, skip: int = 0) -> Start | None:
        """The first moment from which the ask fits for all of its length without disturbing a
        reservation other than `skip`; None where no end is known that would let it fit."""
        moments = self._book.moments(skip)
        low, high = 0, len(moments)
        if not moments or self._probe(ask, moments[-1], skip, alone=True) is None:
            return None
        while low < high:
            middle = (low + high) // 2
            if self._probe(ask, moments[middle], skip, alone=True) is None:
                low = middle + 1
            else:
                high = middle
        for at_us in moments[low : low + PROBES_MAX]:
            found = self._probe(ask, at_us, skip, alone=False)
            if found is not None:
                return Start(at_us, self.until_us(ask, at_us), found.shares)
        return None

    def stands(self, ask: Ask, hold: Hold) -> bool:
        """Whether what is reserved can be had when it was to begin."""
        book = self._book
        at_us = max(hold.from_us, book.now_us)
        snapshot = book.later(at_us + JITTER_US, self.until_us(ask, at_us), hold.number)
        work = Workspace(snapshot)
        for taking in book.takings_of(hold.shares):
            if not work.usable[taking.host] or not work.ledger.holds(taking):
                return False
            work.ledger.take(taking)
        return len(book.takings_of(hold.shares)) == len(hold.shares)

    def _probe(self, ask: Ask, at_us: int, skip: int, *, alone: bool) -> Found | None:
        until_us = self.until_us(ask, at_us)
        work = Workspace(self._book.later(at_us, until_us, skip, alone=alone))
        found = attempt(work, ask, at_us)
        self.steps += 1 + (found.steps if found is not None else 0)
        return found

    @staticmethod
    def until_us(ask: Ask, at_us: int) -> int:
        """When the ask is over if it begins then."""
        return at_us + ask.length_us if ask.length_us else FOREVER_US

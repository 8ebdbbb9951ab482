"""Suspended work that is to go on: it gets back what it lent, on the same hosts, or it waits.

It stands in the order of what waits. There is nothing to choose, so it either fits or not; where it
does not, what is free of it is kept for the rest of the session, so that nobody behind it takes
bit by bit what it waits for.
"""

from collections.abc import Iterator, Sequence

from xce.scheduler.candidates import Workspace
from xce.scheduler.ledger import Ledger, Taking
from xce.scheduler.reasons import Code, PendReason, reason
from xce.scheduler.snapshot import Ask, Back, ResumeAsk, SameAsk

PREFIX = "resume "
"""Before the label of who is to go on, in the place of a class."""


def in_order(
    resumes: Sequence[ResumeAsk], asks: Sequence[Ask | SameAsk]
) -> Iterator[Ask | SameAsk | ResumeAsk]:
    """Both in the order of what waits; of equals, who ran already goes first."""
    rest = list(reversed(resumes))
    for ask in asks:
        while rest and rest[-1].order <= ask.order:
            yield rest.pop()
        yield ask
    yield from reversed(rest)


def take_back(work: Workspace, ask: ResumeAsk) -> PendReason | None:
    """Takes all of it and gives None; else keeps what is free of it and says what is short."""
    names = work.hosts.names
    if ask.away is not None:
        host, standing = ask.away
        return reason(Code.RESUME_AWAY, where=host, detail=standing)
    short: tuple[str, int, int, int] | None = None
    for part in ask.parts:
        taken, missing = _free_of(work.ledger, part)
        work.ledger.take(taken)
        short = short or missing
    if short is None:
        return None
    what, needed, available, row = short
    numbers = {"what": what, "needed": needed, "available": available, "where": names[row]}
    return reason(Code.RESUME_SHORT, **numbers)


def _free_of(ledger: Ledger, part: Back) -> tuple[Taking, tuple[str, int, int, int] | None]:
    """What is free of a part, and what of it is short: name, needed, free, host."""
    short: tuple[str, int, int, int] | None = None
    counters, bits = [], []
    for name, amount in part.counters:
        free = max(0, int(ledger.column(name)[part.host]))
        counters.append((name, min(free, amount)))
        if free < amount:
            short = short or (name, amount, free, part.host)
    for type_, mask in part.bits:
        free_bits = ledger.mask(type_, part.host) & mask
        bits.append((type_, free_bits))
        if free_bits != mask:
            short = short or (type_, mask.bit_count(), free_bits.bit_count(), part.host)
    return Taking(part.host, tuple(counters), tuple(bits)), short

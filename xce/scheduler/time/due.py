"""What is due and cannot be had by all: those reserved first have it.

Forecasts fail, so that more may be due than there is. If each of two holders then left alone what
is kept for the other, neither would ever begin. So what is due is cut, in the order of numbers, to
what is free: the first holder finds its place, and the others wait for what is left.
"""

from collections.abc import Mapping, Sequence

from msgspec import structs

from xce.scheduler.ledger import Ledger, Taking
from xce.scheduler.time.terms import ADVANCE, Hold

Takings = Mapping[int, Sequence[Taking]]


def cut(ledger: Ledger, holds: Mapping[int, Hold], takings: Takings, now_us: int) -> Takings:
    """The takings of all reservations, those of what is due as far as they can be had together;
    what is kept in advance comes first. Nothing of the ledger may be set aside."""
    due = [hold for hold in holds.values() if hold.from_us <= now_us]
    if len(due) < 2:
        return takings
    found = dict(takings)
    with ledger.trial():
        for hold in sorted(due, key=lambda one: (one.kind != ADVANCE, one.number)):
            found[hold.number] = [_taken(ledger, taking) for taking in takings[hold.number]]
    return found


def _taken(ledger: Ledger, taking: Taking) -> Taking:
    """What is free of a taking; from then on it is not."""
    host = taking.host
    free = ((name, n, int(ledger.column(name)[host])) for name, n in taking.counters)
    bits = ((type_, mask & ledger.mask(type_, host)) for type_, mask in taking.bits)
    least = structs.replace(
        taking,
        counters=tuple((name, max(0, min(amount, there))) for name, amount, there in free),
        bits=tuple((type_, mask) for type_, mask in bits if mask),
        ports=tuple(sorted(ledger.free_ports_of(host).intersection(taking.ports))),
    )
    ledger.take(least)
    return least

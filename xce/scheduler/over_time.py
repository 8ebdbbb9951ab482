"""What a holder's reservation has come down to: duration, decay and phases of rusage[ ].

A reservation counts from the start of its holder. Within a phase the amount is whole or, with
decay, falls in a straight line; after the last phase with a duration nothing is reserved. All is
exact in integers: an amount that falls is rounded up, so that nothing is lent that is still held.
Time is data; whoever asks says how much of it has passed.
"""

from collections.abc import Iterator, Sequence

from xce.model.need import PER_HOST, PER_JOB, Part, Phase, Timed
from xce.model.placing import Share

Amounts = tuple[tuple[str, int], ...]
DECAY_STEPS = 8
"""How often a session looks again while an amount falls in a straight line."""


def amount_at(phases: Sequence[Phase], elapsed_us: int) -> int:
    """What is still reserved after so long."""
    for phase in phases:
        if not phase.duration_us:
            return phase.amount
        if elapsed_us < phase.duration_us:
            left_us = phase.duration_us - max(0, elapsed_us)
            return -(-phase.amount * left_us // phase.duration_us) if phase.decay else phase.amount
        elapsed_us -= phase.duration_us
    return 0


def fallen(share: Share, part: Part, elapsed_us: int, *, first: bool) -> Amounts:
    """What a share no longer reserves of the amounts that were granted, by counter; `first` is
    the member's first host, where what counts for the job is held."""
    granted = dict(share.counters)
    found = []
    for timed in part.timed:
        if timed.per == PER_JOB and not first:
            continue
        times = 1 if timed.per in (PER_HOST, PER_JOB) else share.tasks
        begun = timed.phases[0].amount * times
        left = amount_at(timed.phases, elapsed_us) * times
        lent = min(begun - left, granted.get(timed.name, 0))
        if lent > 0:
            found.append((timed.name, lent))
    return tuple(sorted(found))


def falls_us(timed: Sequence[Timed]) -> tuple[int, ...]:
    """When, after the start, an amount is less than before: at the end of each phase, and at even
    steps of a phase that decays."""
    return tuple(sorted({at for one in timed for at in _falls(one.phases)}))


def _falls(phases: Sequence[Phase]) -> Iterator[int]:
    begun_us = 0
    for phase in phases:
        if not phase.duration_us:
            return
        steps = DECAY_STEPS if phase.decay else 1
        for step in range(1, steps + 1):
            yield begun_us + phase.duration_us * step // steps
        begun_us += phase.duration_us

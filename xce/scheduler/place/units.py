"""Compute units (cu[ ]): which domains of a level a member uses, and how many tasks in each.

Pure counting over units in order of preference: `room[i]` tasks fit into unit i. As many ways as
there are choices of units come one after the other, the preferred first; with `most` only choices
of so few units are entered, pruned by what the best of the rest could still hold. `balance` takes
the fewest units that can share evenly (shares differ by one at most), `bestfit` the fewest units
with the least left over.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from xce.model.need import BEST_FIT, UnitNeed

Choice = tuple[tuple[int, int], ...]
FITS_MAX = 2_000


def choices(room: Sequence[int], tasks: int, need: UnitNeed) -> Iterator[Choice]:
    """Every way to use units, as (unit, tasks) pairs in order of preference."""
    most = need.most or len(room)
    room = [holds if holds >= need.least else 0 for holds in room]
    if need.balance:
        yield from _balanced(room, tasks, most)
    elif need.pref == BEST_FIT:
        yield from _best(room, tasks, most, need.least)
    else:
        for units in islice(_few(room, tasks, most), FITS_MAX):
            filled = _filled(room, units, tasks, need.least)
            if filled:
                yield filled


def _few(room: Sequence[int], tasks: int, most: int) -> Iterator[tuple[int, ...]]:
    """Choices of at most `most` units that hold the tasks, in lexicographic order; each stops as
    soon as it holds them."""
    chosen: list[int] = []
    held, unit = 0, 0
    while True:
        while held < tasks and unit < len(room) and len(chosen) < most:
            if held + _best_of(room, unit, most - len(chosen)) < tasks:
                break
            if room[unit]:
                chosen.append(unit)
                held += room[unit]
            unit += 1
        if held >= tasks:
            yield tuple(chosen)
        if not chosen:
            return
        unit = chosen.pop()
        held -= room[unit]
        unit += 1


def _best_of(room: Sequence[int], begin: int, count: int) -> int:
    """What the roomiest `count` units from `begin` on hold."""
    if count >= len(room) - begin:
        return sum(room[begin:])
    return sum(sorted(room[begin:], reverse=True)[:count])


def _filled(room: Sequence[int], units: Sequence[int], tasks: int, least: int) -> Choice:
    """The units filled in order, each with at least `least` tasks; () where that cannot be."""
    least = max(1, least)
    shares = []
    for index, unit in enumerate(units):
        share = min(room[unit], tasks - least * (len(units) - index - 1))
        if share < least:
            return ()
        shares.append((unit, share))
        tasks -= share
    return tuple(shares) if not tasks else ()


def _balanced(room: Sequence[int], tasks: int, most: int) -> Iterator[Choice]:
    for count in range(1, min(most, len(room), tasks) + 1):
        share, larger = divmod(tasks, count)
        chosen: list[tuple[int, int]] = []
        for unit, holds in enumerate(room):
            if larger and holds > share:
                chosen.append((unit, share + 1))
                larger -= 1
            elif holds >= share and len(chosen) + larger < count:
                chosen.append((unit, share))
            if len(chosen) == count:
                yield tuple(chosen)
                break


def _best(room: Sequence[int], tasks: int, most: int, least: int) -> Iterator[Choice]:
    """Fewest units, then least left over; where there are very many choices of so many units,
    the roomiest ones and the tightest that holds the rest."""
    spots = [unit for unit, holds in enumerate(room) if holds]
    for count in range(1, min(most, len(spots)) + 1):
        if _best_of(room, 0, count) < tasks:
            continue
        found = []
        for number, units in enumerate(combinations(spots, count)):
            held = sum(room[unit] for unit in units)
            filled = _filled(room, units, tasks, least) if held >= tasks else ()
            if filled:
                found.append((held - tasks, units, filled))
            if number >= FITS_MAX:
                found.extend(_tightest(room, spots, tasks, count, least))
                break
        for _, _, filled in sorted(found):
            yield filled


def _tightest(
    room: Sequence[int], spots: Sequence[int], tasks: int, count: int, least: int
) -> Iterator[tuple[int, tuple[int, ...], Choice]]:
    ordered = sorted(spots, key=lambda unit: (-room[unit], unit))
    base = ordered[: count - 1]
    wanted = tasks - sum(room[unit] for unit in base)
    for last in sorted(ordered[count - 1 :], key=lambda unit: (room[unit], unit)):
        if room[last] >= wanted:
            units = tuple(sorted((*base, last)))
            filled = _filled(room, units, tasks, least)
            if filled:
                yield sum(room[unit] for unit in units) - tasks, units, filled
            return

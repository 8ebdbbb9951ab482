"""The ways to spread units over an ordered row of hosts, greediest first.

Pure counting: `caps[i]` units fit on spot i, `first[i]` if it is the first spot used (where
claims and per-job amounts sit as well). Units are whole members of a role that run on one host
each, or the tasks of one member that spans hosts. Every way is met once, the one that fills the
spots in order comes first, and ways that the spots left over cannot complete are not entered.
`tiles` and `evenly` are greedy: they propose few ways.
"""

from collections.abc import Iterator, Sequence

Spread = tuple[tuple[int, int], ...]


def spreads(caps: Sequence[int], first: Sequence[int], units: int) -> Iterator[Spread]:
    """Every way to lay `units` on the spots, as (spot, units) pairs in spot order."""
    rest = _room_after(caps)
    chosen: list[tuple[int, int]] = []
    spot, left = 0, units
    while True:
        while left and spot < len(caps) and left <= rest[spot]:
            count = min(caps[spot] if chosen else first[spot], left)
            if count > 0:
                chosen.append((spot, count))
                left -= count
            spot += 1
        if not left:
            yield tuple(chosen)
        backed = _back(chosen, rest, left)
        if backed is None:
            return
        spot, left = backed


def chunks(caps: Sequence[int], first: Sequence[int], units: int, size: int) -> Iterator[Spread]:
    """Every way to lay chunks of `size` units on spots of their own, what remains on one more."""
    whole, remainder = divmod(units, size)
    ones = [min(1, cap // size) for cap in caps]
    ones_first = [min(1, cap // size) for cap in first]
    for spread in spreads(ones, ones_first, whole):
        full = tuple((spot, size) for spot, _ in spread)
        if not remainder:
            yield full
            continue
        used = {spot for spot, _ in spread}
        for spot, cap in enumerate(caps):
            if spot not in used and cap >= remainder:
                yield (*full, (spot, remainder))


def tiles(
    caps: Sequence[int], first: Sequence[int], units: int, sizes: Sequence[int]
) -> Iterator[Spread]:
    """Tiles of each spot's own size in spot order, what remains (less than a tile) on one more
    spot; one way for each spot to begin with."""
    for begin in range(len(caps)):
        chosen: list[tuple[int, int]] = []
        left = units
        rest = [spot for spot in range(begin) if sizes[spot]]
        for spot in range(begin, len(caps)):
            size = min(sizes[spot], left)
            if size and (caps[spot] if chosen else first[spot]) >= size:
                chosen.append((spot, size))
                left -= size
            elif sizes[spot]:
                rest.append(spot)
        last = next((s for s in rest if chosen and min(caps[s], sizes[s]) >= left), None)
        if left and last is not None:
            chosen.append((last, left))
            left = 0
        if not left and chosen and chosen[0][0] == begin:
            yield tuple(chosen)


def blocks(caps: Sequence[int], first: Sequence[int], units: int, size: int) -> Iterator[Spread]:
    """Every way to lay whole blocks of `size` units; none where they do not come out even."""
    if units % size:
        return
    whole = [cap // size for cap in caps]
    whole_first = [cap // size for cap in first]
    for spread in spreads(whole, whole_first, units // size):
        yield tuple((spot, count * size) for spot, count in spread)


def evenly(caps: Sequence[int], first: Sequence[int], units: int, most: int) -> Iterator[Spread]:
    """The one way that takes a unit from each spot in turn, at most `most` (0 = any) of each."""
    room = [min(cap, most) if most else cap for cap in caps]
    begin = next((spot for spot, cap in enumerate(room) if cap and first[spot]), None)
    if begin is None:
        return
    room = [0] * begin + [min(room[begin], first[begin]), *room[begin + 1 :]]
    given = [0] * len(room)
    left = units
    while left:
        open_ = [spot for spot, cap in enumerate(room) if given[spot] < cap]
        if not open_:
            return
        step = min(left // len(open_), *(room[spot] - given[spot] for spot in open_))
        for spot in open_ if step else open_[:left]:
            given[spot] += step or 1
        left = units - sum(given)
    yield tuple((spot, count) for spot, count in enumerate(given) if count)


def _room_after(caps: Sequence[int]) -> list[int]:
    """Per spot, the room from it to the end."""
    rest = [0] * (len(caps) + 1)
    for spot in range(len(caps) - 1, -1, -1):
        rest[spot] = rest[spot + 1] + max(0, caps[spot])
    return rest


def _back(chosen: list[tuple[int, int]], rest: Sequence[int], left: int) -> tuple[int, int] | None:
    """Takes one unit off the last choice that can spare it; None when all ways were met."""
    while chosen:
        spot, count = chosen.pop()
        left += count
        if left - (count - 1) > rest[spot + 1]:
            continue
        if count > 1:
            chosen.append((spot, count - 1))
            left -= count - 1
        return spot + 1, left
    return None

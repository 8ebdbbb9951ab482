"""The ways to spread units over an ordered row of hosts, greediest first.

Pure counting: `caps[i]` units fit on spot i, `first[i]` if it is the first spot used (where
claims and per-job amounts sit as well). Units are whole members of a role that run on one host
each, or the tasks of one member that spans hosts. Every way is met once, the one that fills the
spots in order comes first, and ways that the spots left over cannot complete are not entered.
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

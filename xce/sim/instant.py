"""The order of what happens at one instant."""

from enum import IntEnum, StrEnum


class Rank(IntEnum):
    """The order at one instant."""

    DUE = 0
    END = 1
    HOST = 2
    ARRIVAL = 3
    LATE_END = 4
    LOOK = 5


class Order(StrEnum):
    """TOGETHER: one session for all events of an instant. APART: what ends at its limit is over
    first; then a session behind each arrival, then one behind each other end."""

    TOGETHER = "together"
    APART = "apart"


def rank_of_end(due: bool | None) -> Rank:
    """What a host reports: of an end it may be said whether it was expected (`due`) then."""
    if due is None:
        return Rank.END
    return Rank.DUE if due else Rank.LATE_END

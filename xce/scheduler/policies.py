"""The named policies of the order. A site adds its own here: one function, one line of the table.

A policy of the order gives one whole number for a piece of work; smaller goes first. A queue names
several (`order = ["fairshare", "priority", "fcfs"]`): the first decides, the next between equals.
Whatever they say, the order ends in submission and id, so it is always total. `fairshare` is not a
number of the work: between the work that the policies before it hold equal, it picks the account
with the highest dynamic priority, anew after each booking.

A number may depend on the work and on settings, never on the time: work is kept in order, and what
is written down once must stay true. Ageing is therefore a number that all work has from the start:
whoever came earlier is ahead by as much as the later one would have to catch up.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Struct

FAIRSHARE = "fairshare"


class Waits(Struct, frozen=True, gc=False):
    """What an order policy may look at. Priority grows by `age_add` every `age_every_us`."""

    priority: int
    submit_us: int
    tasks: int = 1
    age_add: int = 0
    age_every_us: int = 1


def _fcfs(work: Waits) -> int:
    """First come, first served."""
    return work.submit_us


def _priority(work: Waits) -> int:
    """Higher priority first; with ageing, what it would be at one and the same moment."""
    if not work.age_add:
        return -work.priority
    return work.age_add * work.submit_us - work.priority * work.age_every_us


def _smallest(work: Waits) -> int:
    """Fewer tasks first."""
    return work.tasks


def _largest(work: Waits) -> int:
    """More tasks first."""
    return -work.tasks


ORDERS: Mapping[str, Callable[[Waits], int]] = MappingProxyType(
    {"fcfs": _fcfs, "priority": _priority, "smallest": _smallest, "largest": _largest}
)
NAMES = (*ORDERS, FAIRSHARE)


def parts(policies: tuple[str, ...], work: Waits) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers of the policies before `fairshare`; of those after it, and the submission."""
    named = policies[:-1] if policies[-1:] == ("fcfs",) else policies
    at = named.index(FAIRSHARE) if FAIRSHARE in named else 0
    before = tuple(ORDERS[name](work) for name in named[:at])
    after = tuple(ORDERS[name](work) for name in named[at:] if name != FAIRSHARE)
    return before, (*after, work.submit_us)

"""The total order of what waits, and a list that is kept in it.

A key is (- queue priority, - priority, submission, kind, number): larger priorities first, then
who came first; the last two make it total, since jobs and groups are numbered by counters of
their own; a job's number is its place among jobs and elements (`ids.place_of`). Pending work is
kept in order as it comes and goes; a session never sorts it.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Generic, TypeVar

from xce.model.ids import place_of

Key = tuple[int, ...]
Item = TypeVar("Item")


def order_key(
    queue_priority: int, priority: int, submitted: int, *, group: int = 0, job: int = 0
) -> Key:
    """The key of one ask; `submitted` is the time or lsn of its submission."""
    return (-queue_priority, -priority, submitted, 1 if group else 0, group or place_of(job))


class Ordered(Generic[Item]):
    """Items by order key, kept sorted: adding and removing cost a search, walking costs nothing
    but the walk."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self._items: dict[Key, Item] = {}

    def put(self, key: Key, item: Item) -> None:
        """Adds the item, or replaces the one under the same key."""
        if key not in self._items:
            insort(self._keys, key)
        self._items[key] = item

    def drop(self, key: Key) -> None:
        """Takes out what is under the key, if anything is."""
        if self._items.pop(key, None) is not None:
            del self._keys[bisect_left(self._keys, key)]

    def __iter__(self) -> Iterator[Item]:
        return (self._items[key] for key in self._keys)

    def __len__(self) -> int:
        return len(self._keys)

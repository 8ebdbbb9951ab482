"""What waits, in order: one sorted row of order keys per class, merged when a session asks.

Work that a session has nothing to do with costs nothing: classes known not to fit are left out
whole, and of each other class only as many are taken as could possibly be placed. An order key
ends in (1, group number) or (0, job key), so it names its ask by itself.
"""

from bisect import bisect_left, insort
from collections.abc import Container, Iterator
from heapq import merge
from itertools import islice

OrderKey = tuple[int, ...]
Waiter = tuple[int, int, str]


class Waiting:
    """All pending plain jobs and gangs."""

    def __init__(self) -> None:
        self._rows: dict[str, list[OrderKey]] = {}
        self._count = 0

    def put(self, order: OrderKey, class_key: str) -> None:
        """It begins to wait."""
        row = self._rows.setdefault(class_key, [])
        if row and row[-1] > order:
            insort(row, order)
        else:
            row.append(order)
        self._count += 1

    def drop(self, order: OrderKey, class_key: str) -> None:
        """It waits no more."""
        row = self._rows[class_key]
        del row[bisect_left(row, order)]
        if not row:
            del self._rows[class_key]
        self._count -= 1

    def __len__(self) -> int:
        return self._count

    def walk(self, skip: Container[str] = (), each: int | None = None) -> Iterator[Waiter]:
        """(group, job key, class) in order; classes of `skip` left out, at most `each` of one."""
        rows = [_named(key, row, each) for key, row in self._rows.items() if key not in skip]
        for order, class_key in merge(*rows):
            number = order[-1]
            yield (number, 0, class_key) if order[-2] else (0, number, class_key)


def _named(class_key: str, row: list[OrderKey], each: int | None) -> Iterator[tuple[OrderKey, str]]:
    """The first of a row, each with its class: a function of its own, because `merge` reads all
    rows side by side and each must keep its own name."""
    for order in islice(row, each):
        yield order, class_key

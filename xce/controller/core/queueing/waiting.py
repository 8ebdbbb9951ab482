"""What waits, in order: one sorted row of order keys per class, merged when a session asks.

Work that a session has nothing to do with costs nothing: classes known not to fit are left out
whole, and of each other class only as many are taken as could possibly be placed. An order key
ends in (1, group number) or (0, the job's place), so it names its ask by itself. All of a
class is of one queue, one owner and one share group, so of one account.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Container, Iterable, Iterator

from xce.model.ids import key_at
from xce.scheduler.order import Key, Place

Waiter = tuple[int, int, str]
Placed = tuple[Place, Waiter]
Each = Callable[[Waiter], int]


class Waiting:
    """All pending plain jobs and gangs."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Key]] = {}
        self._accounts: dict[str, tuple[str, int]] = {}
        self._known: dict[int, tuple[Key, str]] = {}

    def put(self, place: Place, class_key: str) -> None:
        """It begins to wait."""
        key, row = place.key, self._rows.get(class_key)
        if row is None:
            self._rows[class_key] = [key]
            if place.account:
                self._accounts[class_key] = (place.account, place.fixed)
        elif row[-1] > key:
            insort(row, key)
        else:
            row.append(key)
        self._known[-key[-1] if key[-2] else key[-1]] = (key, class_key)

    def drop(self, number: int) -> None:
        """It waits no more: the job at that place among jobs, or a gang by its number below
        zero."""
        key, class_key = self._known.pop(number)
        row = self._rows[class_key]
        del row[bisect_left(row, key)]
        if not row:
            del self._rows[class_key]
            self._accounts.pop(class_key, None)

    def drop_all(self, numbers: Iterable[int]) -> None:
        """The same for many; of a class it is mostly those that stand first."""
        gone: dict[str, list[Key]] = {}
        pop = self._known.pop
        for number in numbers:
            key, class_key = pop(number)
            keys = gone.get(class_key)
            if keys is None:
                gone[class_key] = [key]
            else:
                keys.append(key)
        for class_key, keys in gone.items():
            row = self._rows[class_key]
            if row[: len(keys)] == keys:
                del row[: len(keys)]
            else:
                for key in keys:
                    del row[bisect_left(row, key)]
            if not row:
                del self._rows[class_key]
                self._accounts.pop(class_key, None)

    def ahead(self, place: Place) -> tuple[int, int]:
        """How many stand before a place, and how many there are: of one account where the queue is
        shared, else of all that share nothing."""
        rows = [
            row
            for class_key, row in self._rows.items()
            if self._accounts.get(class_key, ("", 0))[0] == place.account
        ]
        return sum(bisect_left(row, place.key) for row in rows), sum(map(len, rows))

    def discard(self, number: int) -> None:
        """It waits no more, if it did."""
        if number in self._known:
            self.drop(number)

    def __len__(self) -> int:
        return len(self._known)

    def walk(self) -> Iterator[Waiter]:
        """(group, job key, class) by their keys."""
        for key, class_key in self._merged((), None):
            yield _waiter(key, class_key)

    def places(self, skip: Container[str] = (), each: Each | None = None) -> Iterator[Placed]:
        """The same with the place of each, for a line; classes of `skip` left out, and of a class
        at most so many as `each` says, which is told the first one's number."""
        accounts = self._accounts
        for key, class_key in self._merged(skip, each):
            yield Place(key, *accounts.get(class_key, ())), _waiter(key, class_key)

    def accounts(self, skip: Container[str] = ()) -> list[str]:
        """The accounts that something waits for, sorted."""
        found = {one: None for key, (one, _) in self._accounts.items() if key not in skip}
        return sorted(found)

    def _merged(self, skip: Container[str], each: Each | None) -> list[tuple[Key, str]]:
        """Rows are sorted already, which makes sorting all of them a merge."""
        found: list[tuple[Key, str]] = []
        for class_key, row in self._rows.items():
            if class_key not in skip:
                most = each(_waiter(row[0], class_key)) if each is not None else None
                found += [(key, class_key) for key in (row if most is None else row[:most])]
        found.sort()
        return found


def _waiter(key: Key, class_key: str) -> Waiter:
    number = key[-1]
    return (number, 0, class_key) if key[-2] else (0, key_at(number), class_key)

"""What waits, in order: one sorted row of order keys per class, merged when a session asks.

Work that a session has nothing to do with costs nothing: classes known not to fit are left out
whole, and of each other class only as many are taken as could possibly be placed. An order key
ends in (1, group number) or (0, the job's place), so it names its ask by itself.
"""

from bisect import bisect_left, insort
from collections.abc import Container, Iterator
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

from xce.model.group import Group
from xce.model.ids import array_key, is_array_key, job_number, key_at
from xce.model.job import Job
from xce.model.waiting.array import Array
from xce.scheduler.order import order_key

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State

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
            yield (number, 0, class_key) if order[-2] else (0, key_at(number), class_key)


def _named(class_key: str, row: list[OrderKey], each: int | None) -> Iterator[tuple[OrderKey, str]]:
    """The first of a row, each with its class: a function of its own, because `merge` reads all
    rows side by side and each must keep its own name."""
    for order in islice(row, each):
        yield order, class_key


class Ordering:
    """Where work stands in the order of what waits, by the configuration in force."""

    def __init__(self, state: "State") -> None:
        self._state = state
        self._ranks: dict[str, int] = {}

    def order_of_job(self, job: Job | Array) -> tuple[int, ...]:
        """A plain job's place in the order of what waits; that of an array's elements, behind
        those of them that are jobs of their own."""
        key = array_key(job.number) if isinstance(job, Array) else job.key
        return order_key(self._rank(job.queue), job.priority, job.submit_us, job=key)

    def class_of(self, job: Job | Array) -> str:
        """What a plain job, or each element of an array, is equal to for placement."""
        return f"{job.queue}/{job.owner}/{self._state.placing_of(job.spec)}"

    def order_of_group(self, group: Group) -> tuple[int, ...]:
        """A gang's place in the order of what waits."""
        return order_key(
            self._rank(group.queue), group.priority, group.submit_us, group=group.number
        )

    def _rank(self, queue: str) -> int:
        """The queue's priority; remembered until the configuration changes."""
        rank = self._ranks.get(queue)
        if rank is None:
            found = self._state.config.queue(queue)
            rank = self._ranks[queue] = found.priority if found else 0
        return rank

    def _waiter(self, key: int) -> Job | Array:
        """The job, or the array of elements that wait together, under such a key."""
        if is_array_key(key):
            return self._state.arrays[job_number(key)]
        return self._state.jobs[key]


def same_place(old: Job | Array, new: Job | Array) -> bool:
    """Whether a change leaves a pending job where it is in the order."""
    return (old.queue, old.priority, old.submit_us, old.spec) == (
        new.queue,
        new.priority,
        new.submit_us,
        new.spec,
    )

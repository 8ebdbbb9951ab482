"""Deadlines that the state names, soonest first. Each is checked again before it acts."""

from heapq import heappop, heappush

Timer = tuple[int, str, int]


class Timers:
    """A heap of (when, what, key). Nothing is ever taken back: a deadline that no longer counts
    is found out when it is due."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []

    def set(self, at_us: int, what: str, key: int) -> None:
        """Look at `key` again at `at_us`."""
        heappush(self._heap, (at_us, what, key))

    def due(self, now_us: int, limit: int = 256) -> list[Timer]:
        """Take out the timers whose time has come, in order."""
        found: list[Timer] = []
        while self._heap and self._heap[0][0] <= now_us and len(found) < limit:
            timer = heappop(self._heap)
            if not found or found[-1] != timer:
                found.append(timer)
        return found

    def next_due_us(self) -> int | None:
        """When the next timer is due."""
        return self._heap[0][0] if self._heap else None

"""What each host has not been told for certain yet: entities, not messages.

An entry is the number of a launch or an attachment whose order may have changed, under a stamp.
A poll names the last stamp whose orders are durable on the host; older entries go, newer ones are
sent again, each as the state wants it now. A new leader begins with everything alive.
"""

import asyncio
from collections.abc import Iterable

ORDERS_MAX = 512
Entry = tuple[str, int]


class HostOutbox:
    """One host's entries, and the event that wakes its poll."""

    def __init__(self) -> None:
        self.stamp = 0
        self._entries: dict[Entry, int] = {}
        self._wake = asyncio.Event()
        self.asked: tuple[int, int] = (0, 0)

    def put(self, entries: Iterable[Entry]) -> None:
        """Orders of these entities may have changed."""
        for entry in entries:
            self.stamp += 1
            self._entries.pop(entry, None)
            self._entries[entry] = self.stamp
        self._wake.set()

    def clear(self) -> None:
        """Forget everything: the host is to reconcile first."""
        self._entries.clear()

    def told(self, stamp: int) -> None:
        """Orders up to `stamp` are durable on the host."""
        gone = [entry for entry, at in self._entries.items() if at <= stamp]
        for entry in gone:
            del self._entries[entry]

    def take(self) -> tuple[list[Entry], int]:
        """The oldest entries and the stamp that acknowledges them; the order is by stamp."""
        taken: list[Entry] = []
        last = self.stamp
        for entry, at in self._entries.items():
            if len(taken) == ORDERS_MAX:
                break
            taken.append(entry)
            last = at
        return taken, last if len(taken) < len(self._entries) else self.stamp

    def __len__(self) -> int:
        return len(self._entries)

    def nudge(self) -> None:
        """Wake the host's poll although no order changed."""
        self._wake.set()

    async def wait(self, timeout_s: float) -> None:
        """Until something changed or the time is over."""
        self._wake.clear()
        try:
            await asyncio.wait_for(self._wake.wait(), timeout_s)
        except TimeoutError:
            return

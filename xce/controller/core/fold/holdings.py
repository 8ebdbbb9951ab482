"""What is held: amounts of counters and pools, instances and their holders, ports in use."""

from collections.abc import Iterable
from typing import Any


class Changes:
    """Names of changed hosts, one after the other, for those who read on from where they stopped;
    what everybody has had time to read is dropped."""

    KEPT = 50_000

    def __init__(self) -> None:
        self._names: list[str] = []
        self._dropped = 0

    @property
    def count(self) -> int:
        """How many there were: where the next reader goes on."""
        return self._dropped + len(self._names)

    def add(self, hosts: Iterable[str]) -> None:
        """Something about these hosts changed."""
        self._names.extend(hosts)
        if len(self._names) > 2 * self.KEPT:
            del self._names[: self.KEPT]
            self._dropped += self.KEPT

    def since(self, count: int) -> dict[str, None] | None:
        """The hosts that changed since, each once; None where that is too long ago."""
        if count < self._dropped:
            return None
        return dict.fromkeys(self._names[count - self._dropped :])


class Holdings:
    """Sums over allocations and claims. `freed` counts what may let waiting work fit."""

    def __init__(self) -> None:
        self.used: dict[str, dict[str, int]] = {}
        self.pooled: dict[str, int] = {}
        self.holders: dict[str, tuple[str, int]] = {}
        self.ports: dict[str, dict[int, None]] = {}
        self.freed = 0
        self.changes = Changes()
        self.told: tuple[tuple[int, int], frozenset[str]] = ((-1, -1), frozenset())
        self._touched: dict[str, None] = {}

    def _touch(self, host: str) -> None:
        self._touched[host] = None

    def _use(self, host: str, counters: Any, sign: int) -> None:
        used = self.used.setdefault(host, {})
        self.freed += sign < 0
        for name, amount in counters:
            if name:
                add(used, name, sign * amount)
                if "@" in name:
                    add(self.pooled, name, sign * amount)
        self._touch(host)

    def _hold(self, host: str, keys: Any, holder: tuple[str, int]) -> None:
        for key in keys:
            if not key:
                continue
            other = self.holders.get(key)
            if other is not None and other != holder:
                raise AssertionError(f"instance {key} is held by {other} and {holder}")
            self.holders[key] = holder
            if "/port/" in key:
                self.ports.setdefault(host, {})[_port(key)] = None
        self._touch(host)

    def _give_back(self, host: str, keys: Any, holder: tuple[str, int]) -> None:
        for key in keys:
            if key and self.holders.get(key) == holder:
                del self.holders[key]
                if "/port/" in key:
                    self.ports[host].pop(_port(key), None)
        self._touch(host)


def add(counts: dict[str, int], name: str, amount: int) -> None:
    """Add to a count; one that is nothing is not there."""
    counts[name] = counts.get(name, 0) + amount
    if not counts[name]:
        del counts[name]


def _port(key: str) -> int:
    return int(key.rsplit("/", 1)[1])

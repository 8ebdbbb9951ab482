"""What is held: amounts of counters and pools, instances and their holders, ports in use."""

from typing import Any


class Holdings:
    """Sums over allocations and claims. `freed` counts what may let waiting work fit."""

    def __init__(self) -> None:
        self.used: dict[str, dict[str, int]] = {}
        self.pooled: dict[str, int] = {}
        self.holders: dict[str, tuple[str, int]] = {}
        self.ports: dict[str, dict[int, None]] = {}
        self.freed = 0
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

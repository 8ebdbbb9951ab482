"""What is held: amounts of counters and pools, instances and their holders, ports in use.

And how often each host changed, also on trial: versions are put back with what was tried.
"""

from collections.abc import Callable, Iterable
from typing import Any

from xce.model.placing import Share


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
            if key:
                self._take(host, key, holder)
        self._touch(host)

    def _take(self, host: str, key: str, holder: tuple[str, int]) -> None:
        other = self.holders.get(key)
        if other is not None and other != holder:
            raise AssertionError(f"instance {key} is held by {other} and {holder}")
        self.holders[key] = holder
        if "/port/" in key:
            self.ports.setdefault(host, {})[_port(key)] = None

    def granted(self, share: Share, holder: tuple[str, int]) -> None:
        """A whole share came to be held; the change of its host is the caller's to count."""
        host = share.host
        used = self.used.get(host)
        if used is None:
            used = self.used[host] = {}
        for name, amount in share.counters:
            used[name] = used.get(name, 0) + amount
            if "@" in name:
                add(self.pooled, name, amount)
        holders = self.holders
        for key in share.instances:
            if key in holders or "/port/" in key:
                self._take(host, key, holder)
            else:
                holders[key] = holder

    def _give_back(self, host: str, keys: Any, holder: tuple[str, int]) -> None:
        for key in keys:
            if key and self.holders.get(key) == holder:
                del self.holders[key]
                if "/port/" in key:
                    self.ports[host].pop(_port(key), None)
        self._touch(host)


class Trials(Holdings):
    """`version[host]` counts the changes of a host that placement can see: one for each planned
    group, one for any other record. Within a trial what cannot be put back waits."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = 0
        self.version: dict[str, int] = {}
        self._trial: dict[str, int] | None = None
        self._before = (0, 0)
        self._later: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    def settle(self) -> None:
        """Count what was touched since the last call as one change of each host."""
        touched, self._touched = self._touched, {}
        self.count_changes(touched)

    def count_changes(self, hosts: Iterable[str]) -> None:
        """One change of each of these hosts, as often as it is named."""
        self.changes.add(hosts)
        version, trial = self.version, self._trial
        for host in hosts:
            before = version.get(host, 0)
            if trial is not None and host not in trial:
                trial[host] = before
            version[host] = before + 1

    def begin_trial(self) -> None:
        """From here on versions may be put back at the end; what cannot be put back waits."""
        self._trial, self._before = {}, (self.freed, self.waits)
        self._later = []

    def end_trial(self, *, kept: bool) -> None:
        """Put back the hosts' versions, or do what waited; the tables are already as they are to
        be."""
        assert self._trial is not None
        versions, self._trial = self._trial, None
        if kept:
            for act, args in self._later:
                act(*args)
        else:
            self.version.update(versions)
            self.changes.add(versions)
            self.changes.add(self._touched)
            self.freed, self.waits = self._before
        self._later, self._touched = [], {}

    def once_kept(self, act: Callable[..., None], *args: Any) -> None:
        """Do what cannot be put back: now, or when the trial under way has ended well."""
        if self._trial is None:
            act(*args)
        else:
            self._later.append((act, args))


def add(counts: dict[str, int], name: str, amount: int) -> None:
    """Add to a count; one that is nothing is not there."""
    counts[name] = counts.get(name, 0) + amount
    if not counts[name]:
        del counts[name]


def _port(key: str) -> int:
    return int(key.rsplit("/", 1)[1])

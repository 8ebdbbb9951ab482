"""The limits that the asks of one snapshot are under, each told once."""

from collections.abc import Sequence

from msgspec import structs

from xce.controller.core.arrays.elements import job_of
from xce.controller.core.fold.state import State
from xce.controller.core.queueing.limits import Who
from xce.scheduler.sharing.bounds import Bound, Column, HostBound
from xce.scheduler.snapshot import Ask


class Bounds:
    """Gathers bounds while asks are looked at one by one."""

    def __init__(self, state: State, names: Sequence[str]) -> None:
        self._state = state
        self._names = names
        self._known: dict[Who, tuple[tuple[int, ...], tuple[tuple[str, str], ...]]] = {}
        self._numbers: dict[tuple[str, str, str], int] = {}
        self.on_cluster: list[Bound] = []
        self.on_hosts: dict[str, HostBound] = {}

    def bounded(self, ask: Ask) -> Ask:
        """The ask with what it is under."""
        who = self._state.index.limits.who_of(job_of(self._state, ask.roles[0].jobs[0]))
        known = self._known.get(who)
        if known is None:
            known = self._known[who] = self._of(who)
        if known == ((), ()):
            return ask
        return structs.replace(ask, limits=known[0], host_limits=known[1])

    def _of(self, who: Who) -> tuple[tuple[int, ...], tuple[tuple[str, str], ...]]:
        book, numbers = self._state.index.limits, []
        for bound in book.bounds(who):
            key = (bound.name, bound.what, bound.whose)
            if key not in self._numbers:
                self._numbers[key] = len(self.on_cluster)
                self.on_cluster.append(bound)
            numbers.append(self._numbers[key])
        mine = book.on_hosts(who, self._names)
        self.on_hosts.update(mine)
        return tuple(numbers), tuple((name, bound.what) for name, bound in mine.items())

    def free(self) -> dict[str, Column]:
        """What limits on hosts leave, as counters."""
        return {name: bound.free for name, bound in self.on_hosts.items()}

    def shared(self) -> dict[str, Column]:
        """Those that several hosts have together."""
        found = ((name, bound.shared) for name, bound in self.on_hosts.items())
        return {name: column for name, column in found if column is not None}

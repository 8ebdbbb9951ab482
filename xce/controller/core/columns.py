"""What is free, host by host, kept in step: only hosts that changed are looked at again.

The indexes name each host whose placement anything changed. A viewer reads on from where it
stopped; all hosts are folded anew only when the table of hosts, the epoch or the log of changed
hosts is another one. Sessions get copies. What depends on the moment alone (falling reservations,
units closed for one job, pools) is no part of the columns: the view puts it over the copies.
"""

from collections.abc import Mapping

import numpy as np

from xce.controller.core.fold.state import State
from xce.model.host import Host
from xce.scheduler.fit.processors import CPU
from xce.scheduler.snapshot import Column, HostTable, Mask, Observed, Ranges, free_ranges

_UNUSABLE = {
    "JOINING": "host_joining",
    "SUSPECT": "host_suspect",
    "DOWN": "host_down",
    "GONE": "host_down",
    "DRAINING": "host_draining",
    "CLOSED": "host_closed",
}


def standing_of(state: State, host: Host) -> str:
    """ "" where the host may take work, else why not."""
    if host.liveness == "UP" and host.reconciled_epoch != state.epoch:
        return _UNUSABLE["JOINING"]
    return _UNUSABLE.get(host.liveness) or _UNUSABLE.get(host.admin, "")


class Columns:
    """The columns of one state. `standing`, `ports` are the same objects while nothing changed
    in them; the others are written to and must be copied."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._table: HostTable | None = None
        self._epoch = -1
        self._read = 0
        self.standing: tuple[str, ...] = ()
        self.ports: tuple[Ranges, ...] = ()
        self.free: dict[str, Column] = {}
        self.masks: dict[str, list[int]] = {}
        self.counts: dict[str, Column] = {}
        self.versions: list[int] = []
        self._held: dict[str, Column] = {}

    def follow(self, table: HostTable) -> None:
        """Brings the columns up to the state as it is."""
        changes, epoch = self._state.index.changes, self._state.epoch
        hosts = changes.since(self._read)
        self._read = changes.count
        if table is not self._table or epoch != self._epoch or hosts is None:
            self._table, self._epoch = table, epoch
            self._begin(table)
            rows = list(range(len(table.names)))
        else:
            rows = [table.index[name] for name in hosts if name in table.index]
        self._figure(table, rows)

    def _begin(self, table: HostTable) -> None:
        count = len(table.names)
        self.standing, self.ports = ("",) * count, ((),) * count
        self.free = {name: column.copy() for name, column in table.totals.items()}
        self.masks = {type_: list(rows) for type_, rows in table.all_masks().items()}
        self.counts = {type_: np.zeros(count, dtype=np.int64) for type_ in self.masks}
        self.versions = [0] * count
        self._held = {}

    def reported(
        self, table: HostTable, told: Mapping[str, Mask], seen: Mapping[str, Observed]
    ) -> dict[str, Column]:
        """What is free of counters that reporters know on some hosts (`told`), where any is seen:
        what was told last less what is held. Of what nobody tells nothing is."""
        found = {}
        for name, mask in told.items():
            if name not in seen:
                continue
            rest = seen[name].values - self._held_of(table, name)
            counted = self.free.get(name, 0)
            found[name] = np.where(mask, np.where(seen[name].known, rest, 0), counted)
        return found

    def _held_of(self, table: HostTable, name: str) -> Column:
        if name not in self._held:
            used = self._state.index.used
            held = (used.get(host, {}).get(name, 0) for host in table.names)
            self._held[name] = np.fromiter(held, dtype=np.int64, count=len(table.names))
        return self._held[name]

    def _figure(self, table: HostTable, rows: list[int]) -> None:
        state, index = self._state, self._state.index
        standing, ports = list(self.standing), list(self.ports)
        for row in rows:
            name = table.names[row]
            standing[row] = standing_of(state, state.hosts[name])
            ports[row] = free_ranges(table.ports[row], index.ports.get(name, ()))
            self.versions[row] = index.version.get(name, 0)
            used = index.used.get(name, {})
            for counter, column in self.free.items():
                column[row] = table.totals[counter][row] - used.get(counter, 0)
            for counter, column in self._held.items():
                column[row] = used.get(counter, 0)
            for type_, masks in self.masks.items():
                masks[row] = self._mask(table, type_, row)
                self.counts[type_][row] = masks[row].bit_count()
        if standing != list(self.standing):
            self.standing = tuple(standing)
        if ports != list(self.ports):
            self.ports = tuple(ports)

    def _mask(self, table: HostTable, type_: str, row: int) -> int:
        """The free instances of a type on a host."""
        holders, unfit = self._state.index.holders, self._state.index.unfit
        found = 0
        if type_ == CPU:
            name, cpus = table.names[row], table.cpus[row]
            for bit in cpus.thread if cpus is not None else ():
                if f"{name}/{CPU}/{bit.bit_length() - 1}" not in holders:
                    found |= bit
            return found
        for number, one in table.instances[type_][row].items():
            if one.key not in holders and one.key not in unfit:
                found |= 1 << number
        return found

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
        self._whole: dict[tuple[int, int], Ranges] = {}
        self._keys: dict[str, list[tuple[tuple[int, str], ...]]] = {}

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
        self._held, self._keys = {}, {}

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
        standing, ports, places = (
            list(self.standing),
            list(self.ports),
            np.array(rows, dtype=np.intp),
        )
        names = [table.names[row] for row in rows]
        for row, name in zip(rows, names, strict=True):
            standing[row] = standing_of(state, state.hosts[name])
            ports[row] = self._ports(table, row, index.ports.get(name, {}))
            self.versions[row] = index.version.get(name, 0)
        used = [index.used.get(name, {}) for name in names]
        for counter, column in self.free.items():
            taken = np.array([one.get(counter, 0) for one in used], dtype=np.int64)
            column[places] = table.totals[counter][places] - taken
        for counter, column in self._held.items():
            column[places] = [one.get(counter, 0) for one in used]
        for type_, masks in self.masks.items():
            for row in rows:
                masks[row] = self._mask(table, type_, row)
            self.counts[type_][places] = [masks[row].bit_count() for row in rows]
        if standing != list(self.standing):
            self.standing = tuple(standing)
        if ports != list(self.ports):
            self.ports = tuple(ports)

    def _ports(self, table: HostTable, row: int, held: Mapping[int, None]) -> Ranges:
        """The free ports of a host; most hosts have the same range, and hold none of it."""
        own = table.ports[row]
        if held:
            return free_ranges(own, held)
        found = self._whole.get(own)
        if found is None:
            found = self._whole[own] = free_ranges(own, ())
        return found

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
        for bit, key in self._instances(table, type_)[row]:
            if key not in holders and key not in unfit:
                found |= bit
        return found

    def _instances(self, table: HostTable, type_: str) -> list[tuple[tuple[int, str], ...]]:
        """Per host the bits and keys of a type's instances."""
        if type_ not in self._keys:
            self._keys[type_] = [
                tuple((1 << number, one.key) for number, one in row.items())
                for row in table.instances[type_]
            ]
        return self._keys[type_]

"""Hosts as a file describes them: one table per shape, `count` of them, to facts per host.

`name = "n%d"` with `count = 4` makes n1 to n4; their port ranges are equal parts of the range
given, because hosts that are played on one machine share its ports. Every GPU is named by a
uuid made of its host's name and its index, so that the same file always means the same things.
An emulated host is all that its table says; a real one is measured, and its table goes over that.
"""

from typing import Any

from xce.model.host import HostFacts, InstanceFacts
from xce.ops.config import fields
from xce.ops.config.file import Reader
from xce.ops.config.places import Path

_COUNTERS = ("slots", "mem", "swp", "tmp", "scratch")
HOSTS_MAX = 16_384


class HostReader:
    """Reads lists of host tables into facts by name."""

    def __init__(self, reader: Reader, levels: tuple[str, ...], defaults: dict[str, int]) -> None:
        self._reader = reader
        self._defaults = defaults
        self._levels = levels
        self._ranges: list[tuple[str, str, tuple[int, int]]] = []

    def read(self, value: Any, path: Path) -> dict[str, HostFacts]:
        """The facts of every host of a list of tables."""
        found: dict[str, HostFacts] = {}
        for index, table in enumerate(self._reader.tables(value, path, fields.HOST)):
            place: Path = (*path, index)
            gpus = self._reader.tables(table.get("gpus", []), (*place, "gpus"), fields.GPUS)
            self._check_domains(table, place)
            for at, group in enumerate(gpus):
                self._check_domains(group, (*place, "gpus", at))
            for name, ports in self._row(table, place):
                if name in found:
                    self._reader.fault((*place, "name"), f"there is a host '{name}' already")
                found[name] = self._facts(name, table, gpus, ports)
                self._check_ports(name, found[name], (*place, "ports"))
        return found

    def _row(self, table: dict[str, Any], place: Path) -> list[tuple[str, tuple[int, int]]]:
        """Names and port ranges of the hosts of one table."""
        pattern, count, first = table.get("name", ""), table.get("count", 1), table.get("first", 1)
        if not pattern:
            return []
        if count > 1 and "%d" not in pattern:
            self._reader.fault((*place, "name"), f"{count} hosts need a name with %d, like 'n%d'")
            return []
        if not 1 <= count <= HOSTS_MAX:
            self._reader.fault((*place, "count"), f"count: expected 1 to {HOSTS_MAX}")
            return []
        low, high = table.get("ports", (0, 0))
        share = (high - low + 1) // count if high else 0
        if high and not share:
            self._reader.fault((*place, "ports"), f"{high - low + 1} ports for {count} hosts")
        parts = [(low + i * share, low + (i + 1) * share - 1) for i in range(count)]
        return [
            (pattern.replace("%d", str(first + i)), parts[i] if share else (0, 0))
            for i in range(count)
        ]

    def _check_domains(self, table: dict[str, Any], place: Path) -> None:
        for level, _ in table.get("domains", ()):
            if level not in self._levels:
                self._reader.fault(
                    (*place, "domains", level),
                    f"there is no level '{level}'",
                    f"levels are {', '.join(self._levels)}",
                )

    def _check_ports(self, name: str, facts: HostFacts, path: Path) -> None:
        low, high = facts.ports
        for other, address, (start, end) in self._ranges:
            if high and end and address == facts.address and low <= end and start <= high:
                self._reader.fault(path, f"hosts {other} and {name} share ports of {address}")
                return
        self._ranges.append((name, facts.address, facts.ports))

    def _facts(
        self, name: str, table: dict[str, Any], gpus: list[dict[str, Any]], ports: tuple[int, int]
    ) -> HostFacts:
        counters = {key: table[key] for key in _COUNTERS if key in table}
        amounts = {**self._defaults, **counters, **dict(table.get("amounts", ()))}
        return HostFacts(
            address=table.get("address", "127.0.0.1"),
            counters=tuple(sorted(amounts.items())),
            attributes=table.get("attributes", ()),
            domains=table.get("domains", ()),
            instances=_instances(name, gpus),
            ports=ports,
        )


def overlay(measured: HostFacts, declared: HostFacts) -> HostFacts:
    """What a real host says: what was measured, where the file does not say otherwise."""
    return HostFacts(
        address=declared.address,
        counters=tuple(sorted({**dict(measured.counters), **dict(declared.counters)}.items())),
        attributes=tuple(
            sorted({**dict(measured.attributes), **dict(declared.attributes)}.items())
        ),
        domains=declared.domains or measured.domains,
        instances=declared.instances or measured.instances,
        ports=declared.ports if declared.ports[1] else measured.ports,
    )


def _instances(host: str, gpus: list[dict[str, Any]]) -> tuple[InstanceFacts, ...]:
    groups = [group for group in gpus for _ in range(group.get("count", 0))]
    return tuple(_gpu(f"GPU-{host}-{index}", group) for index, group in enumerate(groups))


def _gpu(uuid: str, group: dict[str, Any]) -> InstanceFacts:
    attributes: dict[str, Any] = {"uuid": uuid}
    attributes |= {key: group[key] for key in ("mem", "model") if key in group}
    return InstanceFacts(
        type="gpu",
        name=uuid,
        attributes=tuple(sorted(attributes.items())),
        domains=group.get("domains", ()),
    )

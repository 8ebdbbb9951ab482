"""Types, pools and reporters of a file: read by the tables of fields.py, judged by core's rules.

What a type or pool must be like is said once, in `controller/core/resources/rules.py`; here each
of its faults gets the place of its field. Reporters are no part of the configuration: they say
what agents of this file's hosts are to run.
"""

from typing import Any

from xce.agent.settings import Reporter
from xce.controller.core.resources.pools import Pools, labelled
from xce.controller.core.resources.rules import Fault, pool_faults, type_faults
from xce.model.config import TypeConfig
from xce.model.resources import ALIASES, BUILT_IN
from xce.model.units import nearest
from xce.ops.config import fields
from xce.ops.config.kinds import Field, pool_of
from xce.ops.config.places import Path


def named(found: dict[str, Any], known: dict[str, Field]) -> dict[str, Any]:
    """Values by the names that the configuration has for them."""
    return {known[name].to: value for name, value in found.items() if known[name].to}


class ResourceReader:
    """Reads the lists of types, pools and reporters of one document."""

    def __init__(self, reader: Any, levels: tuple[str, ...]) -> None:
        self._reader = reader
        self._levels = levels

    def types(self, document: dict[str, Any]) -> tuple[TypeConfig, ...]:
        """The types, each good by itself and no two of one name."""
        found = []
        tables = self._reader.tables(document.get("types", []), ("types",), fields.TYPE)
        for index, table in enumerate(tables):
            if "name" not in table:
                continue
            made = TypeConfig(**named(table, fields.TYPE))
            for fault in type_faults(made, self._levels):
                self._tell(("types", index), fault)
            found.append(made)
        self._unique([one.name for one in found], "types", "type")
        return tuple(found)

    def pools(self, document: dict[str, Any], types: tuple[TypeConfig, ...]) -> Pools:
        """The pools, over disjoint hosts for each type."""
        tables = self._reader.tables(document.get("pools", []), ("pools",), fields.POOL)
        places = [index for index, table in enumerate(tables) if "type" in table]
        pools = labelled([pool_of(named(tables[i], fields.POOL)) for i in places])
        for index, fault in pool_faults(pools, types):
            self._tell(("pools", places[index]), fault)
        return pools

    def reporters(
        self, document: dict[str, Any], types: tuple[TypeConfig, ...]
    ) -> tuple[Reporter, ...]:
        """The reporters, each of types that somebody declared as reported."""
        tables = self._reader.tables(document.get("reporters", []), ("reporters",), fields.REPORTER)
        known = {**dict.fromkeys((*BUILT_IN, *ALIASES)), **{one.name: one for one in types}}
        found = []
        for index, table in enumerate(tables):
            if "name" not in table or "command" not in table:
                continue
            made = Reporter(**named(table, fields.REPORTER))
            for name in made.types:
                self._judge_reported(("reporters", index), name, known)
            found.append(made)
        self._unique([one.name for one in found], "reporters", "reporter")
        return tuple(found)

    def observed(self, names: tuple[str, ...], types: tuple[TypeConfig, ...]) -> None:
        """The columns that ticks always carry must be reported ones."""
        reported = {name: None for name, one in BUILT_IN.items() if one.interval_us}
        reported |= {one.name: None for one in types if one.interval_us}
        for name in names:
            if name not in reported:
                near = nearest(name, reported)
                hint = f"did you mean '{near}'?" if near else "reported types have an interval"
                said = f"nothing reports '{name}'"
                self._reader.fault(("policies", "observe"), said, hint)

    def _judge_reported(self, place: Path, name: str, known: dict[str, TypeConfig | None]) -> None:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean '{near}'?" if near else "declare it in [[types]]"
            self._reader.fault((*place, "types"), f"there is no type '{name}'", hint)
            return
        own = known[name]
        if own is not None and not own.interval_us:
            said = f"the type '{name}' is not reported"
            self._reader.fault((*place, "types"), said, "give it an interval")

    def _tell(self, place: Path, fault: Fault) -> None:
        self._reader.fault((*place, fault.field), fault.message, fault.hint)

    def _unique(self, names: list[str], what: str, one: str) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                self._reader.fault((what, index), f"there is a {one} '{name}' already")

"""What a host says of itself: read from the machine, or from a file for an emulated host.

The file is TOML or JSON in one of two forms. The exact one has the fields of `HostFacts` and is
known by its `counters`. The short one is for people:

    address = "127.0.0.1"
    slots = 8
    mem = "64GB"                      # sizes as everywhere: a bare number is MB
    ports = [20000, 20099]
    [amounts]                         # other counters, in their base unit
    licences = 4
    [domains]                         # level = name
    block = "b0"
    [attributes]
    type = "X86_64"
    [[gpus]]                          # `count` of them; each becomes an instance of type gpu
    count = 8
    model = "H100"
    mem = "80GB"
    domains = {nvlink = "b0/n0"}

Without `uuid` a GPU gets one made of the host's name and its index. A bad file is one clear line.
"""

import json
import tomllib
from typing import Any

import msgspec

from xce.model.host import HostFacts
from xce.model.units import UnitError, parse_size
from xce.providers.cpus import processors
from xce.providers.gpu import NvmlProvider
from xce.providers.host import HostProvider

_SIZES = ("mem", "scratch", "swp", "tmp")
_KEYS = {
    "address", "amounts", "attributes", "domains", "gpus", "instances", "ports", "slots", *_SIZES
}  # fmt: skip


class FactsWrong(Exception):
    """The facts file cannot be used; the text says what and where."""


def real_facts(address: str = "127.0.0.1") -> HostFacts:
    """What this machine has."""
    host = HostProvider()
    return HostFacts(
        address=address,
        counters=host.counters(),
        attributes=host.attributes(),
        instances=NvmlProvider().discover(),
        cpus=processors(),
    )


def read_facts(path: str, host: str) -> HostFacts:
    """The facts that a file gives."""
    try:
        with open(path, "rb") as source:
            text = source.read()
        found = json.loads(text) if path.endswith(".json") else tomllib.loads(text.decode())
    except OSError as error:
        raise FactsWrong(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise FactsWrong(f"{path}: {error}") from error
    try:
        if "counters" in found:
            return msgspec.convert(found, HostFacts)
        return _short(found, host)
    except (UnitError, msgspec.ValidationError, FactsWrong) as error:
        raise FactsWrong(f"{path}: {error}") from error


def _short(found: dict[str, Any], host: str) -> HostFacts:
    unknown = sorted(set(found) - _KEYS)
    if unknown:
        known = ", ".join(sorted(_KEYS))
        raise FactsWrong(f"unknown field '{unknown[0]}'; known are {known}")
    amounts = {name: _size(found[name]) for name in _SIZES if name in found}
    amounts |= {"slots": found.get("slots", 1), **found.get("amounts", {})}
    instances = [one for table in found.get("gpus", ()) for one in _gpus(table, host)]
    numbered = [_numbered(one, index, host) for index, one in enumerate(instances)]
    facts = {
        "address": found.get("address", "127.0.0.1"),
        "counters": sorted(amounts.items()),
        "attributes": sorted(found.get("attributes", {}).items()),
        "domains": sorted(found.get("domains", {}).items()),
        "instances": [*numbered, *found.get("instances", ())],
        "ports": found.get("ports", (0, 0)),
    }
    return msgspec.convert(facts, HostFacts)


def _size(value: Any) -> int:
    return parse_size(str(value))


def _gpus(table: dict[str, Any], host: str) -> list[dict[str, Any]]:
    rest = {key: value for key, value in table.items() if key not in ("count", "domains", "mem")}
    if "mem" in table:
        rest["mem"] = _size(table["mem"])
    count = table.get("count", 1)
    if count > 1 and "uuid" in table:
        raise FactsWrong(f"host {host}: gpus with count = {count} cannot share one uuid")
    return [{"domains": table.get("domains", {}), "attributes": rest} for _ in range(count)]


def _numbered(one: dict[str, Any], index: int, host: str) -> dict[str, Any]:
    attributes = {"uuid": f"GPU-{host}-{index}", **one["attributes"]}
    return {
        "type": "gpu",
        "name": str(attributes.pop("name", index)),
        "attributes": sorted(attributes.items()),
        "domains": sorted(one["domains"].items()),
    }

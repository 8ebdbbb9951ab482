"""Clusters in few words: `128` slots in one pool, `100x8`, `100x8gpu`; or the hosts of a file."""

import csv
import re
from pathlib import Path

from msgspec import structs

from xce.model.config import BackfillConfig, Config, QueueConfig
from xce.model.host import HostFacts, InstanceFacts
from xce.sim.readers.form import BrokenTrace, text_of

SHAPE = re.compile(r"([1-9][0-9]{0,5})x([1-9][0-9]{0,5})(gpu)?\Z")
HOST_MEM = 1 << 50
POLICIES = {"fcfs": "strict", "easy": "easy", "conservative": "conservative", "none": "none"}
"""The names of policies in the literature, and in `[backfill]`."""
DEPTH_ALL = 1_000_000


def pool(slots: int) -> dict[str, HostFacts]:
    """One host with so many slots: a flat pool of processors."""
    return {"pool": _facts(slots, 0, "pool")}


def shaped(text: str) -> dict[str, HostFacts]:
    """Hosts that are all alike; ValueError says what was expected."""
    found = SHAPE.match(text)
    if found is None:
        raise ValueError(f"expected hosts like 100x8 or 100x8gpu, found {text!r}")
    count, each, gpus = int(found[1]), int(found[2]), bool(found[3])
    width = len(str(count))
    names = [f"n{number:0{width}d}" for number in range(1, count + 1)]
    return {name: _facts(each, each if gpus else 0, name) for name in names}


def _facts(slots: int, gpus: int, name: str) -> HostFacts:
    return HostFacts(
        counters=(("mem", HOST_MEM), ("slots", slots)),
        instances=tuple(InstanceFacts(type="gpu", name=f"GPU-{name}-{n}") for n in range(gpus)),
    )


def openb_hosts(path: Path) -> dict[str, HostFacts]:
    """The nodes of Alibaba's cluster-trace-gpu-v2023: thousandths of a processor are slots."""
    text, _ = text_of(path)
    found: dict[str, HostFacts] = {}
    for line, row in enumerate(csv.DictReader(text.splitlines()), 2):
        try:
            gpus = int(row["gpu"] or 0)
            counters = (("mem", int(row["memory_mib"]) << 20), ("slots", int(row["cpu_milli"])))
            model = row.get("model") or ""
            attributes = (("model", model),) if model else ()
            name = row["sn"]
        except (KeyError, ValueError, TypeError) as error:
            raise BrokenTrace(f"{path}:{line}: is no node: {error!r}") from None
        cards = tuple(
            InstanceFacts(type="gpu", name=f"GPU-{name}-{n}", attributes=attributes)
            for n in range(gpus)
        )
        found[name] = HostFacts(counters=counters, instances=cards)
    return found


def total(hosts: dict[str, HostFacts], what: str) -> int:
    """How many slots, or GPUs, there are in all."""
    if what == "gpu":
        return sum(len(facts.instances) for facts in hosts.values())
    return sum(dict(facts.counters).get(what, 0) for facts in hosts.values())


def with_policy(config: Config, policy: str, depth: int, look: int) -> Config:
    """A configuration with this backfill policy for all its queues; `depth` and `look` 0 mean that
    all blocked ones reserve where the policy reserves for several, and that all are looked at."""
    name = POLICIES[policy]
    deep = depth or (DEPTH_ALL if name == "conservative" else 0)
    queues = tuple(structs.replace(one, backfill="", backfill_depth=0) for one in config.queues)
    own = structs.replace(config.backfill, policy=name, depth=deep, look=look)
    return structs.replace(config, backfill=own, queues=queues)


def plain_config() -> Config:
    """One queue, first come first served."""
    return Config(
        cluster="simulated", queues=(QueueConfig(name="normal"),), order=("fcfs",),
        backfill=BackfillConfig(look=0), tick_interval_us=0,
    )  # fmt: skip

"""Small clusters and requests as text, for the features of the requirement language.

A file is a list of cases; each begins with `== NAME`. Its lines:

    levels host rack row            the levels, finest first (this is the default)
    host a slots=4 mem=8GB rack=r1 gpus=0,0,1,1 cpus=2x4x1 zone=east
    used a slots=2 mem=1GB gpu=0,1 cpu=0-3
    told a r1m=0.5 mem=2GB          reported values; a host that is not named told nothing
    pool lic=4 a b                  hosts that see one pool
    before 2 span[hosts=1]          a job that is placed first
    waited 30s                      how long the jobs in question have waited
    4 order[mem] -> b:2 a:2         tasks, requirement (`-` = none), where they go

A place is `host:tasks`, in the order of the shares; behind it may stand `{0,1}` (the GPUs) or
`<0,1|2,3>` (what each task is bound to). `waits CODE` is a job that waits. Every case has at
least two requests with different answers: that is what shows the feature.
"""

import re
from pathlib import Path

import numpy as np
from msgspec import Struct, structs

from tests.kit.cluster import held, idle_snapshot, job
from xce.model.host import HostFacts, InstanceFacts
from xce.model.need import Need
from xce.model.placing import Binding
from xce.model.resources import BUILT_IN, BYTES, Kind, Layer, ResourceType, Scope
from xce.model.units import parse_duration, parse_size
from xce.resreq import parse, resolve
from xce.scheduler.plan import PlacedMember
from xce.scheduler.session import run_session
from xce.scheduler.snapshot import HostEntry, HostTable, Observed, Snapshot

FEATURES = Path(__file__).parent / "features"
GB = 2**30
COUNTERS = ("slots", "mem", "scratch", "swp", "tok", "lic")
TYPES = {
    **BUILT_IN,
    "big": ResourceType(name="big", layer=Layer.ATTRIBUTE, kind=Kind.BOOLEAN),
    "zone": ResourceType(name="zone", layer=Layer.ATTRIBUTE, kind=Kind.STRING),
    "tok": ResourceType(name="tok", consumable=True, direction=BUILT_IN["mem"].direction),
    "lic": ResourceType(name="lic", consumable=True, scope=Scope.SHARED),
}


class Scenario(Struct):
    """One case as written: its name, the lines of its cluster, and what is asked of it."""

    name: str
    lines: list[tuple[str, str]]
    asked: list[tuple[int, str, str]]


def scenarios() -> list[Scenario]:
    """Every case of every file, in the order of the files' names."""
    return [case for path in sorted(FEATURES.glob("*.txt")) for case in read(path)]


def read(path: Path) -> list[Scenario]:
    """The cases of one file."""
    found: list[Scenario] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("== "):
            found.append(Scenario(f"{path.stem}: {text[3:]}", [], []))
        elif " -> " in text:
            ask, _, place = text.rpartition(" -> ")
            tasks, _, resreq = ask.strip().partition(" ")
            resreq = "" if resreq.strip() == "-" else resreq.strip()
            found[-1].asked.append((int(tasks), resreq, place.strip()))
        elif found:
            word, _, rest = text.partition(" ")
            found[-1].lines.append((word, rest))
        else:
            raise ValueError(f"{path.name}:{number}: a line before the first case")
    return found


def answer(case: Scenario, tasks: int, resreq: str) -> str:
    """What the session says to a request, in the words of the files."""
    snapshot, before, waited_us = cluster(case)
    asks = [job(i, need(text), tasks=n) for i, (n, text) in enumerate(before, 1)]
    last = structs.replace(job(len(asks) + 1, need(resreq), tasks=tasks), pending_us=0)
    snapshot = structs.replace(snapshot, pending=(*asks, last), now_us=waited_us)
    plan = run_session(snapshot)
    for placement in plan.placements:
        if placement.job == last.roles[0].jobs[0]:
            return placed(placement.members[0])
    why = plan.reason_of(last.class_key)
    assert why is not None
    return f"waits {why.code}"


def need(text: str) -> Need:
    """The need of a requirement as a user writes it."""
    return resolve(parse(text).tree, types=TYPES) if text else Need()


def placed(member: PlacedMember) -> str:
    """`a:2{0,1}<0|1> b:1`."""
    words = []
    for share in member.shares:
        word = f"{share.host}:{share.tasks}"
        gpus = [key.rsplit("/", 1)[1] for key in share.instances if "/gpu/" in key]
        if gpus:
            word += "{" + ",".join(sorted(gpus, key=int)) + "}"
        if share.bindings:
            word += f"<{'|'.join(bound(one) for one in share.bindings)}>"
        words.append(word)
    return " ".join(words)


def bound(one: Binding) -> str:
    """The processors of a task, and behind a `/` the nodes of its memory."""
    nodes = "/" + ",".join(map(str, one.nodes)) if one.nodes else ""
    return ",".join(map(str, one.cpus)) + nodes


# --- clusters -----------------------------------------------------------------------------------


def cluster(case: Scenario) -> tuple[Snapshot, list[tuple[int, str]], int]:
    """The snapshot of a case, the jobs that go first, and how long the last one has waited."""
    levels: tuple[str, ...] = ("host", "rack", "row")
    entries, before, waited_us = [], [], 0
    for word, rest in case.lines:
        if word == "levels":
            levels = tuple(rest.split())
        elif word == "host":
            name, *pairs = rest.split()
            entries.append(host(name, dict(p.split("=", 1) for p in pairs), levels))
        elif word == "before":
            tasks, _, text = rest.partition(" ")
            before.append((int(tasks), text.strip()))
        elif word == "waited":
            waited_us = parse_duration(rest)
    snapshot = structs.replace(idle_snapshot(HostTable.build(levels, entries)), types=TYPES)
    for word, rest in case.lines:
        if word == "used":
            snapshot = used(snapshot, *rest.split())
        elif word == "told":
            snapshot = told(snapshot, *rest.split())
        elif word == "pool":
            snapshot = pool(snapshot, *rest.split())
    return snapshot, before, waited_us


def host(name: str, said: dict[str, str], levels: tuple[str, ...]) -> HostEntry:
    """A host: 8 slots and 64 GB where nothing else is said."""
    counters = {"slots": 8, "mem": 64 * GB}
    attributes: list[tuple[str, str | int | bool]] = []
    domains, gpus = [], ()
    for key, value in said.items():
        if key in COUNTERS:
            counters[key] = amount(key, value)
        elif key in levels:
            domains.append((key, value))
        elif key == "gpus":
            gpus = tuple(gpu(number, where) for number, where in enumerate(value.split(",")))
        elif key == "cpus":
            names = ("nprocs", "ncores", "nthreads")
            attributes += zip(names, map(int, value.split("x")), strict=True)
        elif key in TYPES and TYPES[key].kind is Kind.NUMBER:
            attributes.append((key, amount(key, value)))
        else:
            attributes.append((key, {"yes": True, "no": False}.get(value, value)))
    facts = HostFacts(
        counters=tuple(sorted(counters.items())),
        attributes=tuple(sorted(attributes)),
        domains=tuple(sorted(domains)),
        instances=gpus,
    )
    return HostEntry.from_facts(name, facts)


def gpu(number: int, where: str) -> InstanceFacts:
    """A GPU at a socket (`0`), or of a model at a socket (`H100@0`)."""
    model, _, socket = where.rpartition("@")
    said = (("model", model or "H100"), ("socket", socket))
    return InstanceFacts(type="gpu", name=str(number), attributes=said)


def amount(name: str, text: str) -> int:
    """An amount in the type's base unit."""
    type_ = TYPES[name]
    if type_.unit == BYTES:
        return parse_size(text)
    return round(float(text) * type_.scale)


def used(snapshot: Snapshot, name: str, *pairs: str) -> Snapshot:
    """What somebody else holds on a host."""
    said = dict(pair.split("=") for pair in pairs)
    bits = [int(n) for n in said.pop("gpu", "").split(",") if n]
    cpus = said.pop("cpu", "")
    amounts = {key: amount(key, value) for key, value in said.items()}
    snapshot = held(snapshot, name, gpu=bits, **amounts)
    if cpus:
        low, _, high = cpus.partition("-")
        masks = {type_: list(row) for type_, row in snapshot.free_masks.items()}
        for number in range(int(low), int(high or low) + 1):
            masks["cpu"][snapshot.hosts.index[name]] &= ~(1 << number)
        rows = {type_: tuple(row) for type_, row in masks.items()}
        snapshot = structs.replace(snapshot, free_masks=rows)
    return snapshot


def told(snapshot: Snapshot, name: str, *pairs: str) -> Snapshot:
    """What a host reported."""
    observed = dict(snapshot.observed)
    count = len(snapshot.hosts.names)
    for pair in pairs:
        key, value = pair.split("=")
        old = observed.get(key)
        values = old.values.copy() if old else np.zeros(count, dtype=np.int64)
        known = old.known.copy() if old else np.zeros(count, dtype=bool)
        row = snapshot.hosts.index[name]
        values[row], known[row] = amount(key, value), True
        observed[key] = Observed(values=values, known=known)
    return structs.replace(snapshot, observed=observed)


def pool(snapshot: Snapshot, said: str, *names: str) -> Snapshot:
    """A pool that the named hosts see; the others have none of it."""
    key, value = said.split("=")
    count = len(snapshot.hosts.names)
    total = snapshot.hosts.totals.get(key, np.zeros(count, dtype=np.int64)).copy()
    pools = snapshot.pools.get(key, np.full(count, -1, dtype=np.int64)).copy()
    rows = [snapshot.hosts.index[name] for name in names]
    total[rows], pools[rows] = amount(key, value), int(pools.max()) + 1
    return structs.replace(
        snapshot,
        hosts=structs.replace(snapshot.hosts, totals={**snapshot.hosts.totals, key: total}),
        free={**snapshot.free, key: total},
        pools={**snapshot.pools, key: pools},
    )


SPACES = re.compile(r"\s+")


def plain(text: str) -> str:
    """Single blanks."""
    return SPACES.sub(" ", text).strip()

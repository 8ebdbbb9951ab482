"""What a session sees: hosts as a table, what is free as integer columns, what is asked in order.

Two halves with different lives. `HostTable` is static: names, attributes, domains, instances and
totals; it is built once per version of the inventory and shared by all sessions. `Snapshot` is
one lsn: free amounts, free instance masks, free ports, and the asks in their total order.

Invariants: hosts are sorted by name and a host is its index everywhere inside a session; every
column has one int64 per host; bit `n` of a mask is the instance with `number` n; a session never
changes a snapshot. Nothing here knows entities, the log or the clock: the caller copies.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from xce.model.host import Attribute, Host, HostFacts, Instance
from xce.model.ids import asker_text, group_text, instance_key, job_text
from xce.model.job import ONCE, ClaimTemplate, Topology
from xce.model.need import Need
from xce.model.resources import BUILT_IN, ResourceType
from xce.scheduler.fit.processors import CPU, Cpus, cpus_of
from xce.scheduler.order import ALWAYS, Place
from xce.scheduler.reasons import PendReason
from xce.scheduler.sharing.bounds import Bound, HostBound
from xce.scheduler.sharing.fairshare import Account
from xce.scheduler.time.terms import Ending, Hold, Preempting, TimePolicy

Column = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Ranges = tuple[tuple[int, int], ...]

HOST_LEVEL = "host"
USABLE = ""
UNUSABLE = (
    "host_joining", "host_suspect", "host_down", "host_draining", "host_closed", "host_exclusive",
)  # fmt: skip


class Observed(Struct, frozen=True, gc=False, kw_only=True):
    """What the hosts last reported of a resource, in the type's base unit; where `known` is not
    set nothing was reported or it is stale: unknown, never free."""

    values: Column
    known: Mask


class RoleAsk(Struct, frozen=True, gc=False, kw_only=True):
    """One role of an ask. `jobs` are the members' keys in rank order; `ready_claim` the claim of
    group or role that its `ready` names ("" for none); `domain` (level, name) is where it must lie.
    A plain job has from `tasks` to `tasks_max` tasks (0: exactly `tasks`); an `exclusive` one has
    its hosts for itself."""

    name: str = ""
    jobs: tuple[int, ...]
    min: int = 1
    spares: int = 0
    need: Need = Need()
    tasks: int = 1
    tasks_max: int = 0
    run: str = ONCE
    topology: Topology = Topology()
    claims: tuple[ClaimTemplate, ...] = ()
    ready_claim: str = ""
    within: tuple[str, ...] = ()
    exclusive: bool = False
    domain: tuple[str, str] = ("", "")

    @property
    def count(self) -> int:
        """How many members the role may have."""
        return len(self.jobs)


class Ask(Struct, frozen=True, gc=False, kw_only=True):
    """A gang (`group` > 0) or a plain job (a group of one) that waits for a place.

    `order` is its key in the total order (order.py); equal `class_key` means equal for placement
    in all but jobs' numbers and `pending_us`, since when. `avoid` names hosts that it must
    not have. `length_us` is how long it runs at most, 0 unknown. `account` is whose share it is,
    `fixed` how many parts of `order` come before it. What `joins` a gang goes into its `domain`.
    """

    group: int = 0
    order: tuple[int, ...]
    class_key: str
    queue: str = "normal"
    owner: int = 0
    roles: tuple[RoleAsk, ...]
    topology: Topology = Topology()
    claims: tuple[ClaimTemplate, ...] = ()
    avoid: tuple[str, ...] = ()
    pending_us: int = 0
    length_us: int = 0
    reservation: str = ""
    account: str = ""
    fixed: int = ALWAYS
    limits: tuple[int, ...] = ()
    host_limits: tuple[tuple[str, str], ...] = ()
    job_group: str = ""
    domain: tuple[str, str] = ("", "")
    joins: bool = False

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.order, self.account, self.fixed)

    @property
    def label(self) -> str:
        """`g7` for a gang, `12` or `12[3]` for a plain job."""
        return group_text(self.group) if self.group else asker_text(self.roles[0].jobs[0])

    @property
    def holder(self) -> tuple[int, int]:
        """What may hold something: (gang, 0) or (0, plain job); a claim by its key."""
        return (self.group, 0) if self.group else (0, self.job)

    @property
    def job(self) -> int:
        """The first member's key; a plain job's only one."""
        return self.roles[0].jobs[0]

    def whole(self) -> "Ask":
        """Itself: it is told in full."""
        return self


class Back(Struct, frozen=True, gc=False, kw_only=True):
    """What suspended work must get back on one host: amounts by counter, instances as bits."""

    host: int
    counters: tuple[tuple[str, int], ...] = ()
    bits: tuple[tuple[str, int], ...] = ()


class ResumeAsk(Struct, frozen=True, gc=False, kw_only=True):
    """A suspended gang (`group` > 0) or plain job (`job`) that is to go on: it needs back what it
    lent, on the same hosts. `away` names a host of it that is not there, with its standing;
    `kept` is why it may not go on yet; `left_us` how long it may still run, 0 where nobody said."""

    group: int = 0
    job: int = 0
    order: tuple[int, ...]
    parts: tuple[Back, ...] = ()
    away: tuple[str, str] | None = None
    kept: PendReason | None = None
    left_us: int = 0
    account: str = ""
    fixed: int = ALWAYS

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.order, self.account, self.fixed)

    @property
    def slots(self) -> int:
        """How many slots it takes back."""
        return sum(dict(part.counters).get("slots", 0) for part in self.parts)

    @property
    def label(self) -> str:
        """`g7` for a gang, `12` or `12[3]` for a plain job."""
        return group_text(self.group) if self.group else job_text(self.job)


class SameAsk(Struct, frozen=True, gc=False):
    """A plain job that asks for what another of its class (`like`) asks for."""

    job: int
    class_key: str
    like: Ask
    place: Place
    pending_us: int = 0

    @property
    def order(self) -> tuple[int, ...]:
        """Its key in the total order."""
        return self.place.key

    @property
    def holder(self) -> tuple[int, int]:
        """Itself."""
        return (0, self.job)

    @property
    def label(self) -> str:
        """`12` or `12[3]`."""
        return job_text(self.job)

    def whole(self) -> Ask:
        """The ask in full."""
        role = msgspec.structs.replace(self.like.roles[0], jobs=(self.job,))
        return msgspec.structs.replace(
            self.like, order=self.place.key, roles=(role,), pending_us=self.pending_us
        )


class HostEntry(Struct, frozen=True, gc=False, kw_only=True):
    """One host of the inventory, as `HostTable.build` takes it."""

    name: str
    facts: HostFacts
    instances: tuple[Instance, ...] = ()

    @staticmethod
    def of(host: Host, instances: Iterable[Instance]) -> "HostEntry":
        """The entry of a host and its instances; the caller leaves out those that are gone."""
        return HostEntry(name=host.name, facts=host.facts, instances=tuple(instances))

    @staticmethod
    def from_facts(name: str, facts: HostFacts) -> "HostEntry":
        """An entry whose instances are numbered, per type, in the order that the host reports."""
        seen: dict[str, int] = {}
        instances = []
        for fact in facts.instances:
            number = seen.get(fact.type, 0)
            seen[fact.type] = number + 1
            instances.append(
                Instance(
                    key=instance_key(name, fact.type, fact.name), host=name, type=fact.type,
                    name=fact.name, number=number, state="PRESENT", attributes=fact.attributes,
                    domains=fact.domains, sharing=fact.sharing,
                )
            )  # fmt: skip
        return HostEntry(name=name, facts=facts, instances=tuple(instances))


class HostTable(Struct, frozen=True, gc=False, kw_only=True):
    """The static half of all snapshots of one inventory version.

    `domains[level][i]` is host i's domain name at a level ("" = unknown); `instances[type][i]`
    maps bit numbers to instances; `totals[counter]` is a column, `lacking[counter]` the hosts
    without one; `cpus[i]` the processors, None where a host does not tell; `levels` finest first.
    `memo` keeps results of pure functions of the table, so that sessions need not repeat them;
    `texts` those of expressions over it, which come from users and are therefore bounded.
    """

    levels: tuple[str, ...]
    names: tuple[str, ...]
    index: Mapping[str, int]
    attributes: tuple[Mapping[str, Attribute], ...]
    domains: Mapping[str, tuple[str, ...]]
    totals: Mapping[str, Column]
    instances: Mapping[str, tuple[Mapping[int, Instance], ...]]
    ports: tuple[tuple[int, int], ...]
    cpus: tuple[Cpus | None, ...] = ()
    lacking: Mapping[str, Mask] = {}
    memo: dict[Hashable, Any] = msgspec.field(default_factory=dict)
    texts: dict[Hashable, Any] = msgspec.field(default_factory=dict)

    @staticmethod
    def build(levels: Sequence[str], entries: Iterable[HostEntry]) -> "HostTable":
        """The table of these hosts, in name order whatever order they come in."""
        rows = sorted(entries, key=lambda entry: entry.name)
        types = sorted({instance.type for row in rows for instance in row.instances})
        own = [dict(row.facts.counters) for row in rows]
        counters = sorted({name for one in own for name in one})
        return HostTable(
            levels=tuple(levels),
            names=tuple(row.name for row in rows),
            index={row.name: i for i, row in enumerate(rows)},
            attributes=tuple(dict(row.facts.attributes) for row in rows),
            domains={lv: tuple(_domain(row, lv) for row in rows) for lv in (*levels, HOST_LEVEL)},
            totals={name: _column(one.get(name, 0) for one in own) for name in counters},
            instances={type_: tuple(_by_number(row, type_) for row in rows) for type_ in types},
            ports=tuple(row.facts.ports for row in rows),
            cpus=tuple(cpus_of(row.facts) for row in rows),
            lacking={name: np.array([name not in one for one in own]) for name in counters},
        )

    def finer(self) -> tuple[str, ...]:
        """The levels below the host, finest first: their domains are sets of instances."""
        if HOST_LEVEL not in self.levels:
            return ()
        return self.levels[: self.levels.index(HOST_LEVEL)]

    def all_masks(self) -> dict[str, tuple[int, ...]]:
        """Per type and host, the mask of every known instance; threads of processors, too."""
        if "masks" not in self.memo:
            masks = {
                type_: tuple(sum(1 << number for number in row) for row in rows)
                for type_, rows in self.instances.items()
            }
            if any(self.cpus):
                masks[CPU] = tuple(sum(one.thread) if one else 0 for one in self.cpus)
            self.memo["masks"] = masks
        return dict(self.memo["masks"])


class Snapshot(Struct, frozen=True, gc=False, kw_only=True):
    """Everything a session may know.

    `standing[i]` is "" where host i may take work (UP, reconciled, OPEN), else one of UNUSABLE.
    `versions[i]` counts the changes of host i that matter to a re-check at commit. `seed` turns
    the choice of ports (0 = by session number), so that a retry takes other ones. A search may
    take `search_bound` steps more than a straight placing. `known` are reasons of an earlier
    session that still hold because nothing was freed or changed since: their classes are skipped.
    `observed` are reported values by name. `told[name]` are the hosts of which only a reporter
    tells how much of a counter there is: what it said last less what is held is in `free`, nothing
    where `observed` does not know it. `pools[name]` numbers, host for host, the pool that it sees
    of a shared counter (-1 for none); `free[name]` is then that pool's free amount, the same on
    each of its hosts. `ends` says who is expected to end when, `holds` what is reserved,
    `preempting` who may have to give way to whom; `time_policies` how each queue treats what does
    not fit now ("" for all others). `accounts` has every node of a share tree that an ask is
    below, `job_groups` those with a limit: how many jobs have started in them and how many may.
    `bounds` are limits on the cluster, `host_bounds` those on hosts, which are counters in
    `free`, too. `free_counts[type]` counts the bits of `free_masks`, where the caller keeps it.
    """

    lsn: int = 0
    session: int = 1
    now_us: int = 0
    hosts: HostTable
    standing: tuple[str, ...]
    free: Mapping[str, Column]
    free_masks: Mapping[str, Sequence[int]]
    free_ports: tuple[Ranges, ...]
    versions: tuple[int, ...]
    pending: tuple[Ask | SameAsk, ...] = ()
    resumes: tuple[ResumeAsk, ...] = ()
    shut_queues: Mapping[str, PendReason] = {}
    queue_hosts: Mapping[str, tuple[str, ...]] = {}
    types: Mapping[str, ResourceType] = BUILT_IN
    seed: int = 0
    search_bound: int = 4000
    known: Mapping[str, PendReason] = {}
    observed: Mapping[str, Observed] = {}
    told: Mapping[str, Mask] = {}
    pools: Mapping[str, Column] = {}
    ends: tuple[Ending, ...] = ()
    holds: tuple[Hold, ...] = ()
    time_policies: Mapping[str, TimePolicy] = {}
    preempting: Preempting = Preempting()
    accounts: Mapping[str, Account] = {}
    free_counts: Mapping[str, Column] = {}
    bounds: tuple[Bound, ...] = ()
    host_bounds: Mapping[str, HostBound] = {}
    job_groups: Mapping[str, tuple[int, int]] = {}


def idle_snapshot(
    hosts: HostTable, pending: Sequence[Ask | SameAsk] = (), session: int = 1
) -> Snapshot:
    """A snapshot in which every host is usable and nothing is held."""
    count = len(hosts.names)
    return Snapshot(
        session=session,
        hosts=hosts,
        standing=(USABLE,) * count,
        free=hosts.totals,
        free_masks=hosts.all_masks(),
        free_ports=tuple(free_ranges(ports, ()) for ports in hosts.ports),
        versions=(0,) * count,
        pending=tuple(pending),
    )


def free_ranges(ports: tuple[int, int], held: Iterable[int]) -> Ranges:
    """The free stretches of a host's port range (both ends included); (0, 0) is no range."""
    low, high = ports
    if low <= 0 or high < low:
        return ()
    ranges = []
    for number in sorted({number for number in held if low <= number <= high}):
        if number > low:
            ranges.append((low, number - 1))
        low = number + 1
    if low <= high:
        ranges.append((low, high))
    return tuple(ranges)


def _column(values: Iterable[int]) -> Column:
    column = np.fromiter(values, dtype=np.int64)
    column.flags.writeable = False
    return column


def _by_number(row: HostEntry, type_: str) -> dict[int, Instance]:
    found = {instance.number: instance for instance in row.instances if instance.type == type_}
    return dict(sorted(found.items()))


def _domain(row: HostEntry, level: str) -> str:
    """The host's domain: its own word, else the one that all its instances agree on."""
    if level == HOST_LEVEL:
        return row.name
    told = dict(row.facts.domains).get(level)
    if told:
        return told
    lifted = sorted({dict(instance.domains).get(level, "") for instance in row.instances})
    return lifted[0] if len(lifted) == 1 else ""

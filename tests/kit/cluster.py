"""Small clusters and asks in few words, for tests of everything that places or commits.

`dgx(4)` is the demo's cluster: hosts n1..n4 with 8 GPUs each, NVLink domains nvl1 (n1, n2) and
nvl2 (n3, n4), one block over both. `job` and `gang` make asks; what is not said is as plain as it
can be. Keys of jobs and groups double as the order of submission.
"""

from collections.abc import Sequence

from msgspec import structs

from xce.model.host import HostFacts, InstanceFacts
from xce.model.job import ClaimTemplate, Topology
from xce.model.need import InstanceNeed, Need
from xce.scheduler.order import order_key
from xce.scheduler.snapshot import Ask, HostEntry, HostTable, RoleAsk, Snapshot, idle_snapshot

GB = 1 << 30
LEVELS = ("host", "nvlink", "block")
PARTS_LEVELS = ("nvlink", "host", "block")


def gpus(count: int, model: str = "H100", parts: Sequence[int] = ()) -> tuple[InstanceFacts, ...]:
    """`count` GPUs; `parts` are the sizes of NVLink domains inside the host, in bit order."""
    names = [f"p{i}" for i, size in enumerate(parts) for _ in range(size)]
    return tuple(
        InstanceFacts(
            type="gpu",
            name=str(i),
            attributes=(("model", model),),
            domains=(("nvlink", names[i]),) if i < len(names) else (),
        )
        for i in range(count)
    )


def host(
    name: str,
    *,
    slots: int = 8,
    mem: int = 64 * GB,
    scratch: int = 100 * GB,
    domains: dict[str, str] | None = None,
    instances: Sequence[InstanceFacts] = (),
    ports: tuple[int, int] = (20000, 20007),
    attributes: tuple[tuple[str, str | int | bool], ...] = (),
    extra: dict[str, int] | None = None,
) -> HostEntry:
    """One host of the inventory."""
    counters = {"slots": slots, "mem": mem, "scratch": scratch, **(extra or {})}
    facts = HostFacts(
        counters=tuple(sorted(counters.items())),
        attributes=attributes,
        domains=tuple(sorted((domains or {}).items())),
        instances=tuple(instances),
        ports=ports,
    )
    return HostEntry.from_facts(name, facts)


def table(*entries: HostEntry, levels: Sequence[str] = LEVELS) -> HostTable:
    """A host table of these hosts."""
    return HostTable.build(levels, entries)


def dgx(count: int = 4, *, per_domain: int = 2, slots: int = 8, gpu_count: int = 8) -> HostTable:
    """Hosts n1.. with 8 GPUs, NVLink domains of two hosts, one block over all."""
    return table(
        *(
            host(
                f"n{i}",
                slots=slots,
                domains={"nvlink": f"nvl{(i - 1) // per_domain + 1}", "block": "b1"},
                instances=gpus(gpu_count),
            )
            for i in range(1, count + 1)
        )
    )


def split_hosts(count: int = 2, parts: Sequence[int] = (4, 4), slots: int = 8) -> HostTable:
    """Hosts n1.. whose GPUs fall into NVLink domains p0, p1.. inside the host."""
    return table(
        *(
            host(
                f"n{i}",
                slots=slots,
                domains={"block": "b1"},
                instances=gpus(sum(parts), parts=parts),
            )
            for i in range(1, count + 1)
        ),
        levels=PARTS_LEVELS,
    )


def need(
    *,
    gpu: int = 0,
    mem: int = 0,
    slots: int = 0,
    one_host: bool = False,
    ptile: int = 0,
    select: str = "",
    gpu_select: str = "",
) -> Need:
    """A need; amounts count per task."""
    per_task = [("mem", mem)] if mem else []
    if slots:
        per_task.append(("slots", slots))
    wanted = (InstanceNeed(type="gpu", count_per_task=gpu, select=gpu_select),) if gpu else ()
    return Need(
        select=select,
        span_hosts=1 if one_host else 0,
        ptile=ptile,
        per_task=tuple(sorted(per_task)),
        instances=wanted,
    )


def role(
    name: str,
    jobs: Sequence[int],
    *,
    least: int | None = None,
    needs: Need | None = None,
    tasks: int = 1,
    required: str = "",
    preferred: str = "",
    claims: Sequence[ClaimTemplate] = (),
    ready_claim: str = "",
) -> RoleAsk:
    """A role whose members are `jobs`, rank 0 first."""
    return RoleAsk(
        name=name,
        jobs=tuple(jobs),
        min=len(jobs) if least is None else least,
        need=needs or Need(),
        tasks=tasks,
        topology=Topology(required=required, preferred=preferred),
        claims=tuple(claims),
        ready_claim=ready_claim,
    )


def job(
    key: int,
    needs: Need | None = None,
    *,
    tasks: int = 1,
    priority: int = 50,
    required: str = "",
    preferred: str = "",
    claims: Sequence[ClaimTemplate] = (),
    queue: str = "normal",
    class_key: str = "",
) -> Ask:
    """A plain job."""
    one = role("", [key], needs=needs, tasks=tasks, claims=claims)
    one = structs.replace(one, topology=Topology(required=required, preferred=preferred))
    return Ask(
        order=order_key(30, priority, key, job=key),
        class_key=class_key or f"job {key}",
        queue=queue,
        roles=(one,),
    )


def gang(
    group: int,
    *roles: RoleAsk,
    required: str = "",
    preferred: str = "",
    claims: Sequence[ClaimTemplate] = (),
    priority: int = 50,
    class_key: str = "",
) -> Ask:
    """A gang of these roles."""
    return Ask(
        group=group,
        order=order_key(30, priority, group, group=group),
        class_key=class_key or f"gang {group}",
        roles=roles,
        topology=Topology(required=required, preferred=preferred),
        claims=tuple(claims),
    )


def held(
    snapshot: Snapshot,
    host_name: str,
    *,
    gpu: Sequence[int] = (),
    ports: tuple[tuple[int, int], ...] | None = None,
    **counters: int,
) -> Snapshot:
    """The snapshot with GPUs (by number) and amounts of a host taken away."""
    i = snapshot.hosts.index[host_name]
    free = {name: column.copy() for name, column in snapshot.free.items()}
    for name, amount in counters.items():
        free[name][i] -= amount
    masks = {type_: list(row) for type_, row in snapshot.free_masks.items()}
    for number in gpu:
        masks["gpu"][i] &= ~(1 << number)
    free_ports = list(snapshot.free_ports)
    if ports is not None:
        free_ports[i] = ports
    return structs.replace(
        snapshot,
        free=free,
        free_masks={type_: tuple(row) for type_, row in masks.items()},
        free_ports=tuple(free_ports),
    )


def standing(snapshot: Snapshot, **of: str) -> Snapshot:
    """The snapshot with hosts that may not be used: `standing(s, n1="host_down")`."""
    words = list(snapshot.standing)
    for name, word in of.items():
        words[snapshot.hosts.index[name]] = word
    return structs.replace(snapshot, standing=tuple(words))


__all__ = [
    "GB",
    "LEVELS",
    "PARTS_LEVELS",
    "ClaimTemplate",
    "dgx",
    "gang",
    "gpus",
    "held",
    "host",
    "idle_snapshot",
    "job",
    "need",
    "role",
    "split_hosts",
    "standing",
    "table",
]

"""How long a session takes: `python -m bench session --jobs N --classes C --hosts H`.

`full_s` is a session on empty hosts in which jobs of all classes wait (`full_cpu_s` its processor
time); `idle_s` one in which
nothing fits any more and every class must be looked at; `known_s` the same when the reasons of
the session before still hold. Everything is made from counters, so a run can be repeated.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import structs

from xce.model.host import HostFacts, InstanceFacts
from xce.model.job import Topology
from xce.model.need import InstanceNeed, Need
from xce.scheduler.order import order_key
from xce.scheduler.plan import Plan
from xce.scheduler.session import run_session
from xce.scheduler.snapshot import (
    Ask,
    HostEntry,
    HostTable,
    RoleAsk,
    Snapshot,
    free_ranges,
    idle_snapshot,
)

GB = 1 << 30
LEVELS = ("host", "nvlink", "block")


def run(argv: Sequence[str]) -> dict[str, Any]:
    """The figures of this benchmark."""
    parser = argparse.ArgumentParser(prog="bench session")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=300)
    parser.add_argument("--hosts", type=int, default=1_000)
    parser.add_argument("--gangs", type=int, default=0, help="of the jobs, so many are gangs of 8")
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the shortest counts")
    args = parser.parse_args(argv)
    table = HostTable.build(LEVELS, [_host(i) for i in range(args.hosts)])
    asks = [_ask(i, args.classes, i < args.gangs) for i in range(args.jobs)]
    full, full_s, full_cpu_s = _timed(idle_snapshot(table, asks), args.repeat)
    busy = _filled(idle_snapshot(table, asks))
    idle, idle_s, _ = _timed(busy, args.repeat)
    known = structs.replace(busy, known={entry.class_key: entry.reason for entry in idle.reasons})
    _, known_s, _ = _timed(known, args.repeat)
    return {
        "figures": {
            "full_s": full_s,
            "full_cpu_s": full_cpu_s,
            "idle_s": idle_s,
            "known_s": known_s,
            "placed": len(full.placements),
            "placed_idle": len(idle.placements),
        },
        "setting": vars(args),
        "durability": "none: a session is pure",
    }


def _timed(snapshot: Snapshot, repeat: int) -> tuple[Plan, float, float]:
    """The plan, and the shortest wall and processor time of several runs: the machine may have
    other work."""
    wall, cpu = [], []
    for _ in range(repeat):
        began, began_cpu = time.perf_counter(), time.process_time()
        plan = run_session(snapshot)
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - began_cpu)
    return plan, round(min(wall), 4), round(min(cpu), 4)


def _host(i: int) -> HostEntry:
    """16 slots, 8 GPUs, 128 GB; four hosts to an NVLink domain, 16 domains to a block."""
    gpus = tuple(
        InstanceFacts(type="gpu", name=str(n), attributes=(("model", "H100"),)) for n in range(8)
    )
    facts = HostFacts(
        counters=(("mem", 128 * GB), ("scratch", 100 * GB), ("slots", 16)),
        attributes=(("type", "X86" if i % 2 else "ARM"),),
        domains=(("block", f"b{i // 64:03}"), ("nvlink", f"nvl{i // 4:04}")),
        instances=gpus,
        ports=(20_000, 20_063),
    )
    return HostEntry.from_facts(f"n{i:05}", facts)


def _ask(i: int, classes: int, gang: bool) -> Ask:
    """Classes differ in memory, GPUs and host type; the gangs are eight members in one domain."""
    kind = i % classes
    gpus = (InstanceNeed(type="gpu", count_per_task=kind % 3),) if kind % 3 else ()
    need = Need(
        select="type==X86" if kind % 5 == 0 else "",
        span_hosts=1,
        per_task=(("mem", (kind // 2 + 1) * GB // 8),),
        instances=gpus,
    )
    jobs = range(i * 8 + 1, i * 8 + 9) if gang else range(i * 8 + 1, i * 8 + 2)
    role = RoleAsk(name="worker" if gang else "", jobs=tuple(jobs), min=len(jobs), need=need)
    return Ask(
        group=i + 1 if gang else 0,
        order=order_key(30, 50, i, job=i + 1),
        class_key=f"{'gang' if gang else 'job'} {kind}",
        roles=(role,),
        topology=Topology(required="nvlink") if gang else Topology(),
    )


def _filled(snapshot: Snapshot) -> Snapshot:
    """The snapshot with every host's slots taken but none of its memory."""
    free = {name: column.copy() for name, column in snapshot.free.items()}
    free["slots"] = np.zeros_like(free["slots"])
    return structs.replace(
        snapshot,
        free=free,
        free_ports=tuple(free_ranges(ports, ()) for ports in snapshot.hosts.ports),
    )

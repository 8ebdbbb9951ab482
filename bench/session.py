"""How long a session and its commit take: `python -m bench session --jobs N --classes C --hosts H`.

From empty to full: sessions run on a state in memory until nothing more fits. `full_s` is all of
it: `view_s` taking the snapshots, `plan_s` deciding where, `commit_s` deciding and applying the
plans slice by slice. `placement_us` is `full_s` for each placement. `idle_s` is the next session,
in which nothing fits and every class must be looked at, `known_s` one whose reasons still hold.
Figures are processor seconds of one core, the least of several runs; `full_wall_s` is the wall's.
`job_bytes` is what a pending job keeps of memory; `gang_s` a session that places one gang of
`--gang` GPUs on empty hosts, by members of eight and of one.
"""

import argparse
import gc
import time
import tracemalloc
from collections.abc import Sequence
from typing import Any

from bench._core.clusters import GB, LEVELS, cluster, host_entry, submit
from xce.controller.core.fold.state import State
from xce.controller.sessions import Sessions
from xce.controller.step import decide_all
from xce.model.job import Topology
from xce.model.need import InstanceNeed, Need
from xce.scheduler.order import order_key
from xce.scheduler.session import run_session
from xce.scheduler.snapshot import Ask, HostTable, RoleAsk, idle_snapshot

NOW_US = 1_000_000


def run(argv: Sequence[str]) -> dict[str, Any]:
    """The figures of this benchmark."""
    parser = argparse.ArgumentParser(prog="bench session")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=300)
    parser.add_argument("--hosts", type=int, default=1_000)
    parser.add_argument("--gangs", type=int, default=0, help="of the jobs, so many are gangs of 8")
    parser.add_argument("--gang", type=int, default=1024, help="GPUs of the one large gang")
    parser.add_argument("--backfill", default="none", help="none, easy, conservative or strict")
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the shortest counts")
    args = parser.parse_args(argv)
    figures: dict[str, float] = {}
    for _ in range(args.repeat):
        found = _from_empty_to_full(args)
        figures = {name: min(value, figures.get(name, value)) for name, value in found.items()}
    figures |= _large_gang(args)
    figures["job_bytes"] = _bytes_of_a_job(args)
    return {
        "figures": figures,
        "setting": vars(args),
        "durability": "none: the state is in memory, nothing is appended to a log",
    }


class Clock:
    """Processor and wall time since it was made or asked last."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def lap(self) -> tuple[float, float]:
        """(processor, wall) seconds since the last lap."""
        cpu, wall = time.process_time(), time.perf_counter()
        spent = cpu - self.cpu, wall - self.wall
        self.cpu, self.wall = cpu, wall
        return spent


def _from_empty_to_full(args: argparse.Namespace) -> dict[str, float]:
    state = cluster(args.hosts, args.backfill)
    submit(state, args.jobs, args.classes, args.gangs)
    sessions = Sessions(state)
    sessions.begin(NOW_US)  # the table of hosts is made once per inventory
    gc.collect()
    gc.freeze()
    view, plan, commit, wall, placed = 0.0, 0.0, 0.0, 0.0, 0
    sessions = _reset(sessions)
    while True:
        spent = _session(state, sessions)
        if not spent["placed"]:
            break
        view, plan, commit = view + spent["view"], plan + spent["plan"], commit + spent["commit"]
        wall, placed = wall + spent["wall"], placed + int(spent["placed"])
    state.index.freed += 1
    idle = _session(state, sessions)
    state.index.waits += 1
    known = _session(state, sessions)
    full = view + plan + commit
    return {
        "full_s": round(full, 4),
        "full_wall_s": round(wall, 4),
        "view_s": round(view, 4),
        "plan_s": round(plan, 4),
        "commit_s": round(commit, 4),
        "placement_us": round(full / max(1, placed) * 1e6, 2),
        "idle_s": round(idle["view"] + idle["plan"], 4),
        "known_s": round(known["view"] + known["plan"], 4),
        "placed": placed,
        "placed_idle": int(idle["placed"]),
    }


def _reset(sessions: Sessions) -> Sessions:
    """As if no session had been yet; the table of hosts stays."""
    sessions._seen = (-1, -1)
    return sessions


def _session(state: State, sessions: Sessions) -> dict[str, float]:
    clock = Clock()
    work = sessions.begin(NOW_US)
    view, view_wall = clock.lap()
    while not sessions.advance(work):
        pass
    slices = sessions.slices(work)
    first = next(slices, None)
    plan, plan_wall = clock.lap()
    for slice_ in (first, *slices) if first is not None else ():
        sessions.committed(work, decide_all(state, [slice_], NOW_US))
    commit, commit_wall = clock.lap()
    sessions.end(work)
    wall = view_wall + plan_wall + commit_wall
    return {
        "view": view, "plan": plan, "commit": commit, "wall": wall, "placed": work.planned,
    }  # fmt: skip


def _large_gang(args: argparse.Namespace) -> dict[str, float]:
    """One gang of whole hosts, and one of single GPUs; the latter asks for one block if it fits."""
    table = HostTable.build(LEVELS, [host_entry(i) for i in range(args.hosts)])
    found = {}
    for name, gpus in (("gang_s", 8), ("gang_single_s", 1)):
        need = Need(
            span_hosts=1,
            per_task=(("mem", GB),),
            instances=(InstanceNeed(type="gpu", count_per_task=gpus),),
        )
        members = max(1, args.gang // gpus)
        role = RoleAsk(name="worker", jobs=tuple(range(1, members + 1)), min=members, need=need)
        ask = Ask(
            group=1, order=order_key(30, 50, 1, group=1), class_key="g1", roles=(role,),
            topology=Topology(preferred="block"),
        )  # fmt: skip
        spent = []
        for _ in range(args.repeat):
            clock = Clock()
            run_session(idle_snapshot(table, [ask]))
            spent.append(clock.lap()[0])
        found[name] = round(min(spent), 4)
    return found


def _bytes_of_a_job(args: argparse.Namespace) -> int:
    """What the state grew by for each pending job."""
    state = cluster(1)
    submit(state, 1, args.classes)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    count = min(args.jobs, 20_000)
    submit(state, count, args.classes)
    state.changed.clear()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return round(grown / max(1, count))

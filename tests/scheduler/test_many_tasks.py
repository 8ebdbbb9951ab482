"""Thousands of tasks bound on one host: the same as one after the other, in about linear time."""

import random
import time

import pytest

from tests.kit.cluster import GB, idle_snapshot, job, table
from xce.model.host import CpuFacts, HostFacts
from xce.model.need import CpuNeed, Need
from xce.scheduler.fit.cpus import Bound, _one, bind
from xce.scheduler.fit.processors import cpus_from
from xce.scheduler.session import run_session
from xce.scheduler.snapshot import HostEntry


def threads(sockets: int, cores: int, each: int) -> tuple[CpuFacts, ...]:
    """Threads of a host, numbered socket by socket."""
    return tuple(
        CpuFacts(number=(s * cores + c) * each + t, core=c, socket=s, numa=s)
        for s in range(sockets)
        for c in range(cores)
        for t in range(each)
    )


@pytest.mark.parametrize("seed", range(40))
def test_tasks_in_turn_get_what_each_would_get_by_itself(seed: int) -> None:
    turn = random.Random(seed)
    cpus = cpus_from(threads(turn.randint(1, 3), turn.randint(1, 4), turn.randint(1, 2)))
    free = sum(bit for bit in cpus.thread if turn.random() < 0.8)
    need = CpuNeed(
        unit=turn.choice(["thread", "core", "socket", "numa"]),
        count=turn.randint(1, 3),
        same=turn.choice(["", "core", "socket", "numa"]),
    )
    slow: list[Bound] = []
    left = free
    while (found := _one(cpus, left, need, -1)) is not None:
        slow.append(found)
        left &= ~found.held
    assert bind(cpus, free, need, 99) == slow


def test_six_thousand_tasks_take_a_moment() -> None:
    count = 6_000
    facts = HostFacts(counters=(("mem", GB), ("slots", count)), cpus=threads(2, count // 2, 1))
    hosts = table(HostEntry.from_facts("a", facts))
    needs = Need(span_hosts=1, cpus=CpuNeed(unit="core"))
    began = time.process_time()
    plan = run_session(idle_snapshot(hosts, [job(1, needs, tasks=count)]))
    assert time.process_time() - began < 2.0
    (share,) = plan.placements[0].members[0].shares
    assert [one.cpus for one in share.bindings[:2]] == [(0,), (1,)]
    assert len(share.bindings) == count

"""Processors for tasks: which threads of a host a task of an affinity request gets.

A host's processors are a tree: threads in cores, cores in sockets, and memory nodes (numa) that
hold threads. A unit of any level is free when all its threads are. Tasks are bound one after the
other: packed into few sockets, spread over them, or lowest numbers first; what another may not
share is taken along. Threads are bits by their number, held like instances of the type CPU.

The result is a choice, not a taking: the ledger is only read.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from msgspec import Struct, structs

from xce.model.need import CpuNeed
from xce.model.placing import Binding
from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.processors import CPU, Cpus
from xce.scheduler.snapshot import Column

PACK, BALANCE = "pack", "balance"
ALL_JOBS = "alljobs"
SOCKET = "socket"


class Bound(Struct, frozen=True, gc=False):
    """What one task got: the threads it runs on, and those that are held for it."""

    bits: int
    held: int


def bind(cpus: Cpus, free: int, need: CpuNeed, tasks: int) -> list[Bound]:
    """Threads for up to `tasks` tasks of one job, fewer when no more fit."""
    if need.spread == PACK:
        return _packed(cpus, free, need, tasks)
    if not (need.spread or need.exclusive) and need.times == 1:
        return list(islice(_in_turn(cpus, free, need), tasks))
    done: list[Bound] = []
    taken, spent = 0, [0] * len(cpus.socket)
    for _ in range(tasks):
        regions = list(enumerate(cpus.socket))
        if need.spread != BALANCE:
            regions = []
        regions.sort(key=lambda pair: (spent[pair[0]], -(free & pair[1]).bit_count(), pair[0]))
        found = None
        for index, region in (*regions, (-1, -1)):
            found = _one(cpus, free, need, region & ~taken)
            if found is not None:
                if index >= 0:
                    spent[index] += 1
                break
        if found is None:
            break
        done.append(found)
        free &= ~found.held
        taken |= cpus.around(found.bits, need.exclusive) if need.exclusive else 0
    return done


def _in_turn(cpus: Cpus, free: int, need: CpuNeed) -> Iterator[Bound]:
    """Task after task, lowest units first: what nobody else is in the way of. Each unit is looked
    at once, however many tasks there are."""
    parents = cpus.level(need.same)
    of_bit = {}
    for number, parent in enumerate(parents):
        for bit in numbers_of(parent):
            of_bit[bit] = number
    found: list[list[int]] = [[] for _ in parents]
    for unit in cpus.level(need.unit):
        number = of_bit.get((unit & -unit).bit_length() - 1, -1)
        if number >= 0 and unit & free & parents[number] == unit:
            found[number].append(unit)
    for units in found:
        for first in range(0, len(units) - need.count + 1, need.count):
            bits = sum(units[first : first + need.count])
            yield Bound(bits, bits)


def _packed(cpus: Cpus, free: int, need: CpuNeed, tasks: int) -> list[Bound]:
    """In the fewest units of the level to pack into: the tightest that holds all, else the
    roomiest first; never in more of them than the request allows."""
    level = cpus.level(need.pack_level or SOCKET)
    alone = structs.replace(need, spread="")
    rooms = [(len(bind(cpus, free & part, alone, tasks)), part) for part in level]
    whole = [part for room, part in rooms if room >= tasks]
    if whole:
        best = min(whole, key=lambda part: ((free & part).bit_count(), part & -part))
        return bind(cpus, free & best, alone, tasks)
    ordered = sorted((pair for pair in rooms if pair[0]), key=lambda p: (-p[0], p[1] & -p[1]))
    done: list[Bound] = []
    for _, part in ordered[: need.pack_most or None]:
        done.extend(bind(cpus, free & part, alone, tasks - len(done)))
    if need.pack_most:
        return done
    anywhere = bind(cpus, free, alone, tasks)
    return anywhere if len(anywhere) > len(done) else done


def _one(cpus: Cpus, free: int, need: CpuNeed, region: int) -> Bound | None:
    """One task's threads within a region."""
    room = free & region
    if need.exclusive:
        units = cpus.level(need.exclusive)
        wanted = free if need.exclusive_scope == ALL_JOBS else -1
        room &= sum(unit for unit in units if unit & wanted == unit and unit & region == unit)
    bits = 0
    for _ in range(need.times):
        group = _group(cpus, room & ~bits, need)
        if group is None:
            return None
        bits |= group
    alone = need.exclusive and need.exclusive_scope == ALL_JOBS
    return Bound(bits, cpus.around(bits, need.exclusive) if alone else bits)


def _group(cpus: Cpus, room: int, need: CpuNeed) -> int | None:
    """`count` whole units inside one unit of the level `same`, lowest first."""
    units = cpus.level(need.unit)
    for parent in cpus.level(need.same):
        found = [unit for unit in units if unit & room & parent == unit][: need.count]
        if len(found) == need.count:
            return sum(found)
    return None


def cpu_room(work: Workspace, need: CpuNeed, hosts: Sequence[int], unit_tasks: int) -> Column:
    """How many units each host can bind: members of `unit_tasks` tasks each, or (0) tasks of one
    member."""
    seen: dict[tuple[Cpus | None, int], int] = {}
    found = []
    for host in hosts:
        cpus, free = work.hosts.cpus[host], work.ledger.mask(CPU, host)
        if (cpus, free) not in seen:
            seen[cpus, free] = 0
            if cpus is not None:
                most = len(cpus.thread)
                seen[cpus, free] = len(bound_units(cpus, free, need, unit_tasks, most))
        found.append(seen[cpus, free])
    return np.array(found, dtype=np.int64)


def bound_units(
    cpus: Cpus, free: int, need: CpuNeed, unit_tasks: int, most: int
) -> list[tuple[Bound, ...]]:
    """Up to `most` units: members of `unit_tasks` tasks, or (0) the tasks of one member."""
    if not unit_tasks:
        return [(one,) for one in bind(cpus, free, need, most)]
    done: list[tuple[Bound, ...]] = []
    while len(done) < most:
        unit = bind(cpus, free, need, unit_tasks)
        if len(unit) < unit_tasks:
            break
        done.append(tuple(unit))
        for one in unit:
            free &= ~one.held
    return done


def binding(cpus: Cpus, one: Bound, need: CpuNeed) -> Binding:
    """What a task is told: its processors, widened to what it is bound to, and memory nodes."""
    wide = cpus.around(one.bits, need.bind)
    pairs = zip(cpus.nodes, cpus.numa, strict=True) if need.memory else ()
    nodes = [number for number, mask in pairs if mask & wide]
    return Binding(cpus=numbers_of(wide), nodes=tuple(nodes), memory=need.memory)


def numbers_of(bits: int) -> tuple[int, ...]:
    """The numbers of the set bits."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return tuple(found)

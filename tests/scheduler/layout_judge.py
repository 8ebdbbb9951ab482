"""An independent judge of how one job's tasks lie on hosts, which shares no code with the
scheduler: what is wrong with a division, and whether any division is right, by trying them all."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations, product

from xce.model.need import Need
from xce.scheduler.plan import PlacedMember
from xce.scheduler.snapshot import Snapshot

Division = Mapping[str, int]


def wrongs(snapshot: Snapshot, need: Need, division: Division) -> list[str]:
    """What the division of a job's tasks breaks of its requirement."""
    used = {host: n for host, n in division.items() if n}
    found = [f"{host} has no room" for host, n in used.items() if n > room(snapshot, host)]
    tasks = sum(used.values())
    if alone(need, tasks) and len(used) > 1:
        found.append("more than one host")
    if not alone(need, tasks):
        found += _span(snapshot, need, used) + _same(snapshot, need, used)
    return found + _units(snapshot, need, used, tasks)


def alone(need: Need, tasks: int) -> bool:
    """Whether the job is on one host by its requirement."""
    return need.span_hosts == 1 or tasks == 1 or (need.ptile >= tasks and not need.tiles)


def room(snapshot: Snapshot, host: str) -> int:
    return int(snapshot.free["slots"][snapshot.hosts.index[host]])


def said(snapshot: Snapshot, host: str, name: str) -> object:
    return snapshot.hosts.attributes[snapshot.hosts.index[host]].get(name)


def unit(snapshot: Snapshot, host: str, level: str) -> str:
    return snapshot.hosts.domains[level][snapshot.hosts.index[host]]


def tile(snapshot: Snapshot, need: Need, host: str) -> int:
    size = dict(need.tiles).get(str(said(snapshot, host, need.tile_by)), need.ptile)
    return size if size >= 0 else int(snapshot.hosts.totals["slots"][snapshot.hosts.index[host]])


def _span(snapshot: Snapshot, need: Need, used: Division) -> list[str]:
    found = []
    if need.ptile or need.tiles:
        sizes = {host: tile(snapshot, need, host) for host in used}
        short = [host for host, n in used.items() if n < sizes[host]]
        if len(short) > 1 or any(n > sizes[host] for host, n in used.items()):
            found.append(f"tiles {dict(used)} of {sizes}")
    if need.block and any(n % need.block for n in used.values()):
        found.append(f"blocks {dict(used)}")
    if need.stripe:
        most = need.stripe_most or 99
        every = {host: used.get(host, 0) for host in snapshot.hosts.names}
        if max(used.values()) > most:
            found.append(f"more than {most} on a host")
        found += [
            f"{a} has {every[a]} and {b} only {every[b]}"
            for a, b in product(every, every)
            if every[a] > every[b] + 1 and every[b] < min(most, room(snapshot, b))
            if _may_serve(snapshot, need, used, b)
        ]
    return found


def _may_serve(snapshot: Snapshot, need: Need, used: Division, host: str) -> bool:
    """Whether same[] and cu[] would let another host beside those that are used."""
    for name in need.same:
        if said(snapshot, host, name) != said(snapshot, next(iter(used)), name):
            return False
    if need.units is not None:
        level = need.units.level
        return unit(snapshot, host, level) in {unit(snapshot, one, level) for one in used} and (
            need.units.most == 1
        )
    return True


def _same(snapshot: Snapshot, need: Need, used: Division) -> list[str]:
    found = []
    for name in need.same:
        values = {said(snapshot, host, name) for host in used}
        if len(values) > 1 or None in values:
            found.append(f"{name} is {values}")
    return found


def _units(snapshot: Snapshot, need: Need, used: Division, tasks: int) -> list[str]:
    asked = need.units
    if asked is None:
        return []
    counts: Counter[str] = Counter()
    for host, n in used.items():
        counts[unit(snapshot, host, asked.level)] += n
    found = ["a host of no unit"] if "" in counts else []
    if asked.most and len(counts) > asked.most:
        found.append(f"{len(counts)} units")
    if any(n < asked.least for n in counts.values()):
        found.append(f"too few in a unit: {dict(counts)}")
    if asked.balance and max(counts.values()) - min(counts.values()) > 1:
        found.append(f"not balanced: {dict(counts)}")
    return found


def divisions(snapshot: Snapshot, tasks: int) -> Iterator[Division]:
    """Every way to divide tasks over hosts that have room."""
    names = snapshot.hosts.names
    choices = [range(min(tasks, room(snapshot, name)) + 1) for name in names]
    for counts in product(*choices):
        if sum(counts) == tasks:
            yield dict(zip(names, counts, strict=True))


def bad_bindings(snapshot: Snapshot, need: Need, member: PlacedMember) -> list[str]:
    """What is wrong with the processors of a job's tasks; hosts have `nprocs` sockets of `ncores`
    cores with one thread each, numbered socket by socket."""
    asked = need.cpus
    assert asked is not None
    found = []
    for share in member.shares:
        cores = said(snapshot, share.host, "ncores")
        assert isinstance(cores, int)
        free = snapshot.free_masks["cpu"][snapshot.hosts.index[share.host]]
        sets = [set(one.cpus) for one in share.bindings]
        if len(sets) != share.tasks or any(a & b for a, b in combinations(sets, 2)):
            found.append(f"{share.host}: {sets} for {share.tasks} tasks")
        if any(not free >> cpu & 1 for one in sets for cpu in one):
            found.append(f"{share.host}: {sets} of {free:b}")
        size = cores if asked.unit in ("socket", "numa") else 1
        if any(len(one) != asked.count * asked.times * size for one in sets):
            found.append(f"{share.host}: {sets} are not {asked.count * asked.times} units")
        sockets = [{cpu // cores for cpu in one} for one in sets]
        if asked.same and asked.times == 1 and any(len(one) > 1 for one in sockets):
            found.append(f"{share.host}: {sets} over sockets")
        if asked.exclusive == "socket" and any(a & b for a, b in combinations(sockets, 2)):
            found.append(f"{share.host}: {sets} share a socket")
        held = {key for key in share.instances if "/cpu/" in key}
        if not {f"{share.host}/cpu/{cpu}" for one in sets for cpu in one} <= held:
            found.append(f"{share.host}: {sets} held as {sorted(held)}")
    return found

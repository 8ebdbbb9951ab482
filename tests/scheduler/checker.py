"""Two independent judges of a plan, which share no code with the scheduler.

`violations` says what is wrong with a plan's placements, counting every amount and instance by
hand from names. `can_be_placed` tries every assignment on a tiny cluster: whether a gang of
one-host roles, or a job over several hosts, has any place at all.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import product

from xce.model.host import Instance
from xce.model.need import Need
from xce.scheduler.plan import Placement, Plan
from xce.scheduler.snapshot import Ask, RoleAsk, Snapshot


def violations(snapshot: Snapshot, plan: Plan) -> list[str]:
    """Everything that is wrong, in words; empty when nothing is."""
    wrong: list[str] = []
    asks = {(a.group, a.roles[0].jobs[0] if not a.group else 0): a for a in snapshot.pending}
    taken: Counter[tuple[str, str]] = Counter()
    for placement in plan.placements:
        ask = asks[(placement.group, placement.job)]
        wrong.extend(_shape(snapshot, ask, placement))
        wrong.extend(_topology(snapshot, ask, placement))
        _count(placement, taken)
    for (host, what), amount in sorted(taken.items()):
        if amount > _free(snapshot, host, what):
            wrong.append(f"{host} gave {amount} of {what}")
    return wrong


def _count(placement: Placement, taken: Counter[tuple[str, str]]) -> None:
    for member in placement.members:
        for share in member.shares:
            taken.update({(share.host, name): amount for name, amount in share.counters})
            taken.update((share.host, key) for key in share.instances)
    for claim in placement.claims:
        for holding in claim.holdings:
            if holding.counter:
                taken.update({(holding.host, holding.counter): holding.amount})
            else:
                taken.update([(holding.host, holding.instance)])


def _free(snapshot: Snapshot, host: str, what: str) -> int:
    i = snapshot.hosts.index[host]
    if snapshot.standing[i]:
        return 0
    if "/" not in what:
        return int(snapshot.free[what][i])
    owner, type_, name = what.split("/")
    if owner != host:
        return 0
    if type_ == "port":
        return int(any(low <= int(name) <= high for low, high in snapshot.free_ports[i]))
    number = next(n for n, x in snapshot.hosts.instances[type_][i].items() if x.name == name)
    return snapshot.free_masks[type_][i] >> number & 1


def _shape(snapshot: Snapshot, ask: Ask, placement: Placement) -> list[str]:
    wrong = []
    for role in ask.roles:
        members = [m for m in placement.members if m.role == role.name]
        if not role.min <= len(members) <= role.count:
            wrong.append(f"{role.name} has {len(members)} members")
        if [(m.rank, m.job) for m in members] != list(enumerate(role.jobs))[: len(members)]:
            wrong.append(f"{role.name} has not the lowest ranks")
        for member in members:
            tasks = [share.tasks for share in member.shares]
            hosts = [share.host for share in member.shares]
            if sum(tasks) != role.tasks or len(set(hosts)) != len(hosts):
                wrong.append(f"{member.job} has tasks {tasks} on {hosts}")
            if role.need.span_hosts == 1 and len(hosts) != 1:
                wrong.append(f"{member.job} spans {hosts}")
            if role.need.ptile and any(n != role.need.ptile for n in tasks[:-1]):
                wrong.append(f"{member.job} has tiles {tasks}")
            wrong.extend(_amounts(role, member.shares, member.job))
    return wrong


def _amounts(role: RoleAsk, shares: object, job: int) -> list[str]:
    wrong = []
    need = role.need
    for at, share in enumerate(shares):  # type: ignore[call-overload]
        expected = Counter({name: n * share.tasks for name, n in need.per_task})
        if "slots" not in dict(need.per_task):
            expected["slots"] += share.tasks
        expected.update(dict(need.per_host))
        expected.update(dict(need.per_job) if at == 0 else {})
        if dict(share.counters) != {name: n for name, n in expected.items() if n}:
            wrong.append(f"{job} has {share.counters} on {share.host}")
        wanted = sum(item.count_per_task for item in need.instances) * share.tasks
        if len(set(share.instances)) != wanted:
            wrong.append(f"{job} has {share.instances}")
    return wrong


def domains_of(snapshot: Snapshot, share: object, level: str) -> set[str]:
    """The domains of a level that a share touches; a part of a host carries the host's name."""
    host = share.host  # type: ignore[attr-defined]
    levels = snapshot.hosts.levels
    if levels.index(level) >= levels.index("host"):
        return {snapshot.hosts.domains[level][snapshot.hosts.index[host]]}
    found = set()
    for key in share.instances:  # type: ignore[attr-defined]
        _, type_, name = key.split("/")
        row = snapshot.hosts.instances[type_][snapshot.hosts.index[host]]
        instance = next(x for x in row.values() if x.name == name)
        found.add(f"{host}/{dict(instance.domains).get(level, '')}")
    return found or {f"{host}/"}


def _topology(snapshot: Snapshot, ask: Ask, placement: Placement) -> list[str]:
    wrong = []
    levels = snapshot.hosts.levels
    group = ask.topology.required
    for role in ask.roles:
        own = role.topology.required
        if own:
            wrong.extend(_one_domain(snapshot, placement, own, {role.name}))
    bound = {
        role.name
        for role in ask.roles
        if group
        and not (
            role.topology.required and levels.index(role.topology.required) > levels.index(group)
        )
    }
    if group:
        wrong.extend(_one_domain(snapshot, placement, group, bound))
    return wrong


def _one_domain(snapshot: Snapshot, placement: Placement, level: str, roles: set[str]) -> list[str]:
    shares = [s for m in placement.members if m.role in roles for s in m.shares]
    found = {name for share in shares for name in domains_of(snapshot, share, level)}
    parts = {name for name in found if not name.endswith("/")}
    owners = {name.split("/")[0] for name in found if "/" in name}
    if "" in found or len(parts) > 1 or len(owners) > 1:
        return [f"{sorted(roles)} lie in {sorted(found)} of {level}"]
    return []


def can_be_placed(snapshot: Snapshot, ask: Ask) -> bool:
    """Whether any assignment of the minima exists, by trying them all.

    GPUs of two models serve three kinds of request (either model, or any): all requests of a host
    are met exactly when each model's and their sum do not exceed what is there.
    """
    units = [role for role in ask.roles for _ in range(role.min)]
    spots = _spots(snapshot, ask.topology.required)
    for domain in spots:
        for choice in product(domain, repeat=len(units)):
            if _ordered(ask, units, choice) and _holds(snapshot, units, choice):
                first = {p for unit, p in zip(units, choice, strict=True) if unit is units[0]}
                if not ask.claims or any(_has_port(snapshot, host) for host, _ in first):
                    return True
    return not units


def most_units(snapshot: Snapshot, level: str, gpus: int, mem: int) -> int:
    """The most units of one slot, so many GPUs and so much memory in any one domain."""
    best = 0
    for domain in _spots(snapshot, level):
        best = max(best, sum(_fit(snapshot, host, part, gpus, mem) for host, part in domain))
    return best


def _fit(snapshot: Snapshot, host: str, part: str, gpus: int, mem: int) -> int:
    room = [_room(snapshot, host, "slots")]
    if gpus:
        room.append(_room(snapshot, host, f"gpu {part}") // gpus)
    if mem:
        room.append(_room(snapshot, host, "mem") // mem)
    return min(room)


def _has_port(snapshot: Snapshot, host: str) -> bool:
    return bool(snapshot.free_ports[snapshot.hosts.index[host]])


def _spots(snapshot: Snapshot, level: str) -> list[list[tuple[str, str]]]:
    """Per domain of the level, the (host, part) pairs in it; one domain of all without a level."""
    hosts = [
        name for name, why in zip(snapshot.hosts.names, snapshot.standing, strict=True) if not why
    ]
    if not level:
        return [[(name, "") for name in hosts]]
    levels = snapshot.hosts.levels
    if levels.index(level) < levels.index("host"):
        return [[(name, part)] for name in hosts for part in _parts(snapshot, name, level)]
    rows: dict[str, list[tuple[str, str]]] = {}
    for name in hosts:
        domain = snapshot.hosts.domains[level][snapshot.hosts.index[name]]
        if domain:
            rows.setdefault(domain, []).append((name, ""))
    return list(rows.values())


def _parts(snapshot: Snapshot, host: str, level: str) -> list[str]:
    row = _gpus(snapshot, host)
    return sorted({dict(x.domains).get(level, "") for x in row.values()} - {""})


def _gpus(snapshot: Snapshot, host: str) -> Mapping[int, Instance]:
    rows = snapshot.hosts.instances.get("gpu")
    return rows[snapshot.hosts.index[host]] if rows else {}


def _ordered(ask: Ask, units: list[RoleAsk], choice: tuple[tuple[str, str], ...]) -> bool:
    """Members of one role are alike: one order of each set of places is enough."""
    for role in ask.roles:
        mine = [place for unit, place in zip(units, choice, strict=True) if unit is role]
        if mine != sorted(mine):
            return False
    return True


def _holds(snapshot: Snapshot, units: list[RoleAsk], choice: tuple[tuple[str, str], ...]) -> bool:
    used: Counter[tuple[str, str]] = Counter()
    for role, (host, part) in zip(units, choice, strict=True):
        used[(host, "slots")] += role.tasks
        used[(host, "mem")] += dict(role.need.per_task).get("mem", 0) * role.tasks
        used[(host, f"gpu {part}")] += gpus_of(role.need) * role.tasks
        for item in role.need.instances:
            if item.select:
                model = item.select.removeprefix("model==")
                used[(host, f"gpu {part} {model}")] += item.count_per_task * role.tasks
    return all(amount <= _room(snapshot, host, what) for (host, what), amount in used.items())


def gpus_of(need: Need) -> int:
    """GPUs per task."""
    return sum(item.count_per_task for item in need.instances)


def _room(snapshot: Snapshot, host: str, what: str) -> int:
    i = snapshot.hosts.index[host]
    if not what.startswith("gpu"):
        return int(snapshot.free[what][i])
    _, part, model = [*what.split(" "), ""][:3]
    free = snapshot.free_masks["gpu"][i] if "gpu" in snapshot.free_masks else 0
    return sum(
        free >> number & 1
        for number, instance in _gpus(snapshot, host).items()
        if (not part or dict(instance.domains).get("nvlink") == part)
        and (not model or dict(instance.attributes)["model"] == model)
    )

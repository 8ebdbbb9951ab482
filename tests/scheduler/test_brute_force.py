"""An independent placer that tries everything agrees with the session on small clusters.

It knows nothing of the scheduler: hosts are lists of numbers, a gang is a list of (count, slots,
gpus), and every way to give members to hosts is looked at, inside each domain of the level that is
asked for. Compared are whether there is a place at all, and how tight the chosen domain is.
"""

import random
from collections.abc import Iterator

import pytest
from msgspec import structs

from tests.kit.cluster import gang, gpus, held, host, idle_snapshot, job, need, role, table
from xce.scheduler.session import run_session
from xce.scheduler.snapshot import Ask, Snapshot

LEVELS = ("host", "nvlink", "block")
Free = dict[str, tuple[int, int]]


def cluster(turn: random.Random) -> tuple[Snapshot, Free, dict[str, tuple[str, str]]]:
    """Up to six hosts in up to three racks and two blocks, with something held here and there."""
    entries, free, where = [], {}, {}
    for i in range(turn.randint(2, 6)):
        slots, cards = turn.randint(1, 4), turn.randint(0, 3)
        rack, block = f"r{i // 2}", f"b{i // 4}"
        domains = {"nvlink": rack, "block": block}
        entries.append(host(f"h{i}", slots=slots, domains=domains, instances=gpus(cards)))
        free[f"h{i}"], where[f"h{i}"] = (slots, cards), (rack, block)
    snapshot = idle_snapshot(table(*entries, levels=LEVELS))
    for name, (slots, cards) in list(free.items()):
        if turn.random() < 0.3:
            taken = [0] if cards else []
            snapshot = held(snapshot, name, gpu=taken, slots=1)
            free[name] = (slots - 1, cards - len(taken))
    return snapshot, free, where


def fits(free: Free, hosts: list[str], members: list[tuple[int, int]]) -> bool:
    """Whether all members have a place on these hosts, by trying every one."""
    if not members:
        return True
    (slots, cards), rest = members[0], members[1:]
    for name in hosts:
        have = free[name]
        if have[0] >= slots and have[1] >= cards:
            left = {**free, name: (have[0] - slots, have[1] - cards)}
            if fits(left, hosts, rest):
                return True
    return False


def domains(where: dict[str, tuple[str, str]], level: str) -> Iterator[list[str]]:
    """The hosts of each domain of a level; all hosts where none is asked for."""
    if not level:
        yield sorted(where)
        return
    at = LEVELS.index(level)
    names = sorted({(name, *places)[at] for name, places in where.items()})
    for one in names:
        yield sorted(name for name, places in where.items() if (name, *places)[at] == one)


def drawn(turn: random.Random) -> tuple[Ask, list[tuple[int, int]], str]:
    """A gang of up to three roles with different requirements, and what a member of each takes."""
    roles, members, key = [], [], 100
    level = turn.choice(["", "host", "nvlink", "block"])
    for name in "abc"[: turn.randint(1, 3)]:
        count, slots, cards = turn.randint(1, 3), turn.randint(1, 2), turn.randint(0, 2)
        keys = range(key, key + count)
        roles.append(role(name, keys, needs=need(gpu=cards, slots=slots, one_host=True)))
        members += [(slots, cards)] * count
        key += count
    return gang(1, *roles, required=level), members, level


@pytest.mark.parametrize("seed", range(300))
def test_a_gang_has_a_place_exactly_when_some_division_holds_it(seed: int) -> None:
    turn = random.Random(seed)
    snapshot, free, where = cluster(turn)
    ask, members, level = drawn(turn)
    plan = run_session(structs.replace(snapshot, pending=(ask,)))
    holding = [hosts for hosts in domains(where, level) if fits(free, hosts, members)]
    assert bool(plan.placements) == bool(holding)
    if not plan.placements or not level:
        return
    used = {share.host for one in plan.placements[0].members for share in one.shares}
    chosen = next(hosts for hosts in domains(where, level) if used <= set(hosts))
    asks_cards = any(cards for _, cards in members)

    def left(hosts: list[str]) -> tuple[int, int]:
        cards = sum(free[name][1] for name in hosts) if asks_cards else 0
        return cards, sum(free[name][0] for name in hosts)

    assert left(chosen) == min(map(left, holding))


@pytest.mark.parametrize("seed", range(200))
def test_one_more_free_host_never_keeps_a_single_job_waiting(seed: int) -> None:
    turn = random.Random(seed)
    snapshot, free, _ = cluster(turn)
    asked = need(gpu=turn.randint(0, 2), slots=turn.randint(1, 3), one_host=turn.random() < 0.5)
    ask = job(1, asked, tasks=turn.randint(1, 4))
    before = run_session(structs.replace(snapshot, pending=(ask,)))
    entries = [
        host(name, slots=slots, instances=gpus(cards)) for name, (slots, cards) in free.items()
    ]
    entries.append(host("more", slots=turn.randint(1, 4), instances=gpus(turn.randint(0, 3))))
    after = run_session(idle_snapshot(table(*entries, levels=LEVELS), [ask]))
    assert bool(after.placements) >= bool(before.placements)


@pytest.mark.parametrize("seed", range(200))
def test_the_numbers_of_a_reason_are_those_of_an_independent_count(seed: int) -> None:
    turn = random.Random(seed)
    snapshot, free, _ = cluster(turn)
    slots, cards = turn.randint(1, 5), turn.randint(0, 4)
    ask = job(1, need(gpu=cards, slots=slots, one_host=True))
    plan = run_session(structs.replace(snapshot, pending=(ask,)))
    if plan.placements:
        assert any(have[0] >= slots and have[1] >= cards for have in free.values())
        return
    why = plan.reasons[0].reason
    if why.code in ("short_on_host", "never_fits"):
        at = {"gpu": 1, "slots": 0}[why.what]
        assert why.needed == (slots, cards)[at]
        totals = {
            "gpu": {n: len(snapshot.hosts.instances["gpu"][i]) for n, i in rows(snapshot)}
            if "gpu" in snapshot.hosts.instances
            else dict.fromkeys(free, 0),
            "slots": {n: int(snapshot.hosts.totals["slots"][i]) for n, i in rows(snapshot)},
        }
        seen = totals[why.what] if why.code == "never_fits" else {n: f[at] for n, f in free.items()}
        assert why.available == max(seen.values()) == seen[why.where]
        assert why.available < why.needed
    assert sum(number for _, number in why.hosts) == len(free)


def rows(snapshot: Snapshot) -> list[tuple[str, int]]:
    """Hosts with their rows."""
    return sorted(snapshot.hosts.index.items())

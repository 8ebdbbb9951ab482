"""Small cases of time as text: what runs until when, what is reserved, what is asked, what follows.

A file is a list of cases; each begins with `== NAME`. Its lines (all times in seconds from now):

    levels host rack                   levels, finest first (`host rack row` is the default)
    host a slots=4 gpus=0,0 rack=r1    as in the files of features
    policy conservative 10             policy, depth and look of all queues (easy 1 1000)
    give low to high                   work of queue low gives way to that of queue high
    runs 1 a slots=3 until=100         who has what until when; without `until` nobody knows
    runs g1 a slots=2 queue=low since=-50   since when, of which queue: for those that give way
    kept 9 a slots=2 from=60 until=120 reserved for job 9 (`kept NAME` for a name)
    ask 5 4 -W 50 span[hosts=1] -> ... number, tasks, limit (`-` none), requirement
    gang g7 2x4 -W 60 nvlink -> ...    members x tasks, limit, required level (`-` none)

All asks of a case are seen by one session in their order. An answer is `now a:4` (with
`until 60` where it must be over by then), `at 100 a:4` for a reservation, `over 1 2 a:4` for who
gives way and what is kept, or `waits CODE`; `stays` is a reservation that is not moved.
"""

from pathlib import Path

from msgspec import Struct, structs

from tests.kit.cluster import gang, held, idle_snapshot, job, role
from tests.scheduler.scenarios import TYPES, amount, host, need
from xce.model.placing import Share
from xce.scheduler.plan import Plan
from xce.scheduler.session import run_session
from xce.scheduler.snapshot import Ask, HostTable, Snapshot
from xce.scheduler.time.terms import (
    FOREVER_US,
    Ending,
    Hold,
    Preempting,
    TimePolicy,
    Victim,
)

CASES = Path(__file__).parent / "cases"
SECOND_US = 1_000_000
NOW_US = 1_000_000 * SECOND_US
PRIORITIES = {"low": 10, "normal": 30, "high": 50}


class Case(Struct):
    """One case as written."""

    name: str
    lines: list[tuple[str, str]]
    asked: list[tuple[str, str]]


def cases() -> list[Case]:
    """Every case of every file."""
    found: list[Case] = []
    for path in sorted(CASES.glob("*.txt")):
        for line in path.read_text().splitlines():
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            if text.startswith("== "):
                found.append(Case(f"{path.stem}: {text[3:]}", [], []))
            elif " -> " in text:
                ask, _, answer = text.partition(" -> ")
                found[-1].asked.append((ask.strip(), answer.strip()))
            else:
                word, _, rest = text.partition(" ")
                found[-1].lines.append((word, rest))
    return found


def answers(case: Case) -> list[str]:
    """What one session says to all asks of a case."""
    snapshot = cluster(case)
    asks = [ask_of(text) for text, _ in case.asked]
    plan = run_session(structs.replace(snapshot, pending=tuple(asks)))
    return [answer(plan, snapshot, ask) for ask in asks]


def ask_of(text: str) -> Ask:
    """The ask of a line."""
    kind, number, size, _, limit, *rest = text.split()
    queue = next((word[2:] for word in rest if word.startswith("q=")), "normal")
    rest = [word for word in rest if not word.startswith("q=")]
    length_us = 0 if limit == "-" else int(limit) * SECOND_US
    if kind == "ask":
        resreq = "" if rest in ([], ["-"]) else " ".join(rest)
        ask = job(int(number), need(resreq), tasks=int(size), queue=queue)
    else:
        members, _, tasks = size.partition("x")
        key = 1000 * int(number[1:])
        worker = role(
            "worker", range(key, key + int(members)), tasks=int(tasks), needs=need("span[hosts=1]")
        )
        level = rest[0] if rest and rest[0] != "-" else ""
        ask = structs.replace(gang(int(number[1:]), worker, required=level), queue=queue)
    return structs.replace(ask, length_us=length_us)


def answer(plan: Plan, snapshot: Snapshot, ask: Ask) -> str:
    """The answer to one ask in the words of the files."""
    for placement in plan.placements:
        if (placement.group, placement.job) == ask.holder:
            shares = [share for member in placement.members for share in member.shares]
            until = f" until {seconds(placement.must_end_us)}" if placement.must_end_us else ""
            return f"now {places(shares)}{until}"
    for eviction in plan.evictions:
        if (eviction.group, eviction.job) == ask.holder:
            gone = [f"g{group}" if group else str(key) for group, key, _ in eviction.victims]
            return f"over {' '.join(sorted(gone))} {places(eviction.shares)}"
    for reserve in plan.reserves:
        if (reserve.group, reserve.job) == ask.holder:
            return f"at {seconds(reserve.from_us)} {places(reserve.shares)}"
    if any(hold.holder == ask.holder for hold in snapshot.holds):
        return "stays"
    why = plan.reason_of(ask.class_key)
    assert why is not None
    return f"waits {why.code}"


def seconds(at_us: int) -> int:
    """Seconds from now."""
    return (at_us - NOW_US) // SECOND_US


def places(shares: list[Share] | tuple[Share, ...]) -> str:
    """`a:4 b:2`, and the GPUs where there are some."""
    found: dict[str, list[str]] = {}
    tasks: dict[str, int] = {}
    for share in shares:
        tasks[share.host] = tasks.get(share.host, 0) + share.tasks
        found.setdefault(share.host, []).extend(
            key.rsplit("/", 1)[1] for key in share.instances if "/gpu/" in key
        )
    words = []
    for name, count in tasks.items():
        gpus = ",".join(sorted(found[name], key=int))
        words.append(f"{name}:{count}" + (f"{{{gpus}}}" if gpus else ""))
    return " ".join(words)


# --- clusters -----------------------------------------------------------------------------------


def cluster(case: Case) -> Snapshot:
    """The snapshot of a case."""
    levels: tuple[str, ...] = ("host", "rack", "row")
    entries = []
    for word, rest in case.lines:
        if word == "levels":
            levels = tuple(rest.split())
        elif word == "host":
            name, *pairs = rest.split()
            entries.append(host(name, dict(p.split("=", 1) for p in pairs), levels))
    snapshot = idle_snapshot(HostTable.build(levels, entries))
    snapshot = structs.replace(
        snapshot, types=TYPES, now_us=NOW_US, time_policies={"": TimePolicy()}
    )
    for word, rest in case.lines:
        if word == "policy":
            policy, *numbers = rest.split()
            depth, look = [*map(int, numbers), *(1, 1000)[len(numbers) :]]
            settings = TimePolicy(policy=policy, depth=depth, look=look)
            snapshot = structs.replace(snapshot, time_policies={"": settings})
        elif word == "give":
            low, _, high = rest.split()
            made = structs.replace(snapshot.preempting, over={high: (low,)}, takes_us=SECOND_US)
            snapshot = structs.replace(snapshot, preempting=made)
        elif word in ("runs", "kept"):
            snapshot = noted(snapshot, word, rest.split())
    return snapshot


def noted(snapshot: Snapshot, word: str, words: list[str]) -> Snapshot:
    """With somebody who runs, or for whom something is kept."""
    who, name, *pairs = words
    said = dict(pair.split("=") for pair in pairs)
    until_us = NOW_US + int(said.pop("until")) * SECOND_US if "until" in said else FOREVER_US
    from_us = NOW_US + int(said.pop("from", 0)) * SECOND_US
    since_us = NOW_US + int(said.pop("since", -1000)) * SECOND_US
    queue = said.pop("queue", "normal")
    bits = [int(bit) for bit in said.pop("gpu", "").split(",") if bit]
    amounts = {key: amount(key, value) for key, value in said.items()}
    shares = (
        Share(
            host=name,
            tasks=amounts.get("slots", 0),
            counters=tuple(sorted(amounts.items())),
            instances=tuple(f"{name}/gpu/{bit}" for bit in bits),
        ),
    )
    group = int(who[1:]) if who[1:].isdigit() and who[0] == "g" else 0
    key = int(who) if who.isdigit() else 0
    if word == "kept":
        number = 1 + len(snapshot.holds)
        hold = Hold(
            number=number, group=group, job=key, who=who, queue=queue, from_us=from_us,
            end_us=until_us, shares=shares,
        )  # fmt: skip
        return structs.replace(snapshot, holds=(*snapshot.holds, hold))
    snapshot = held(snapshot, name, gpu=bits, **amounts)
    if until_us < FOREVER_US:
        ending = Ending(end_us=until_us, who=who, shares=shares)
        snapshot = structs.replace(snapshot, ends=(*snapshot.ends, ending))
    preempting: Preempting = snapshot.preempting
    if any(queue in names for names in preempting.over.values()):
        victim = Victim(
            group=group, job=key, who=who, queue=queue, priority=PRIORITIES[queue],
            since_us=since_us, attempt=1, shares=shares,
        )  # fmt: skip
        preempting = structs.replace(preempting, victims=(*preempting.victims, victim))
        snapshot = structs.replace(snapshot, preempting=preempting)
    return snapshot

"""Gangs on small clusters as text: who goes where, worked out by hand.

A file is a list of cases; each begins with `== NAME`. Its lines:

    levels host rack block        the levels, finest first (this is the default)
    host a gpus=4 rack=r1 block=b1      slots are 8 unless it says otherwise
    used a slots=2 gpu=0,1
    4 gpu=1 segment=2 preferred=rack -> a a b b

The last one is a gang of four members; behind the arrow are the hosts in the order of ranks, or
`waits CODE`. `within` is the level whose one domain holds the whole gang. Several gangs of one case
are placed one after the other in one session.
"""

from pathlib import Path

from msgspec import Struct, structs

from tests.kit.cluster import gang, gpus, held, host, idle_snapshot, need, role, table
from xce.model.job import Topology
from xce.scheduler.plan import Plan
from xce.scheduler.session import run_session

FILES = Path(__file__).parent / "gangs"
WORDS = ("required", "preferred")
FLAGS = ("balanced", "exclusive")


class Case(Struct):
    """One case as written."""

    name: str
    lines: list[list[str]]
    gangs: list[tuple[str, str]]


def cases() -> list[Case]:
    """Every case of every file."""
    found: list[Case] = []
    for path in sorted(FILES.glob("*.txt")):
        for line in path.read_text().splitlines():
            text = line.strip()
            if text.startswith("== "):
                found.append(Case(f"{path.stem}: {text[3:]}", [], []))
            elif " -> " in text:
                asked, _, answer = text.partition(" -> ")
                found[-1].gangs.append((asked.strip(), answer.strip()))
            elif text and not text.startswith("#"):
                found[-1].lines.append(text.split())
    return found


def _pairs(words: list[str]) -> dict[str, str]:
    return dict(word.partition("=")[::2] for word in words)


def played(case: Case) -> Plan:
    """The plan of one session with all gangs of a case."""
    levels, hosts, used = ("host", "rack", "block"), [], []
    for word, *rest in case.lines:
        if word == "levels":
            levels = tuple(rest)
        elif word == "host":
            said = _pairs(rest[1:])
            count, slots = int(said.pop("gpus", "0")), int(said.pop("slots", "8"))
            hosts.append(host(rest[0], slots=slots, domains=said, instances=gpus(count)))
        else:
            used.append((rest[0], _pairs(rest[1:])))
    asks = []
    for number, (text, _) in enumerate(case.gangs, 1):
        count, *rest = text.split()
        said = _pairs(rest)
        topology = Topology(
            segment=int(said.get("segment", "0")),
            **{word: said[word] for word in WORDS if word in said},
            **{flag: flag in said for flag in FLAGS},
        )
        asked = need(gpu=int(said.get("gpu", "0")), slots=int(said.get("slots", "0")))
        keys = range(number * 100, number * 100 + int(count))
        least = int(said.get("min", count))
        tasks = int(said.get("tasks", "1"))
        members = role("w", keys, needs=asked, least=least, tasks=tasks)
        members = structs.replace(members, topology=topology)
        asks.append(gang(number, members, required=said.get("within", "")))
    snapshot = idle_snapshot(table(*hosts, levels=levels), asks)
    for name, said in used:
        taken = [int(one) for one in said.get("gpu", "").split(",") if one]
        snapshot = held(snapshot, name, gpu=taken, slots=int(said.get("slots", "0")))
    return run_session(snapshot)


def answers(case: Case) -> list[str]:
    """Where each gang of a case went, as the case writes it."""
    plan = played(case)
    placed = {one.group: one for one in plan.placements}
    found = []
    for number in range(1, len(case.gangs) + 1):
        if number in placed:
            hosts = [
                "+".join(share.host for share in member.shares) for member in placed[number].members
            ]
            found.append(" ".join(hosts))
        else:
            reason = plan.reason_of(f"gang {number}")
            found.append(f"waits {reason.code.name}" if reason else "?")
    return found

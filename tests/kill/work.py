"""What a kill run submits: small jobs and gangs, each told apart by its key, which is its name.

The first thing a command does is to append one line to the marks file, with one write: job,
attempt, launch, rank, wall time in nanoseconds, pid. So nothing can have run without a mark.
"""

import random
from typing import Any

from msgspec import Struct, structs

MARK = (
    'echo "$XCE_JOB $XCE_ATTEMPT $XCE_LAUNCH $XCE_RANK $(date +%s%N) $$ ." >> "$MARKS"; '
    "sleep {sleep}; exit {code}"
)
AGAIN = [{"action": "restart_group"}]
RETRIES = {"max": 20, "first": "1s", "factor": 1, "cap": "1s"}


class Piece(Struct, frozen=True, kw_only=True):
    """One submission. `code` is what its processes exit with, `processes` how many there are.
    One that `is_cut` would run for an hour: its client asks for its end."""

    key: str
    path: str
    body: dict[str, Any]
    code: int = 0
    processes: int = 1
    is_cut: bool = False

    @property
    def is_gang(self) -> bool:
        """Whether it is a gang."""
        return self.path == "/v1/groups"


def command(sleep: float = 0.0, code: int = 0) -> list[str]:
    """A command that leaves its mark first."""
    return ["/bin/sh", "-c", MARK.format(sleep=sleep, code=code)]


def job(key: str, marks: str, *, sleep: float = 0.0, code: int = 0, **fields: Any) -> Piece:
    """A plain job."""
    body = {
        "command": command(sleep, code),
        "name": key,
        "cwd": "/",
        "stdout": "/dev/null",
        "env": {"MARKS": marks, "PATH": "/usr/bin:/bin"},
        **fields,
    }
    tasks = fields.get("tasks", 1) if fields.get("run") == "task" else 1
    return Piece(key=key, path="/v1/jobs", body=body, code=code, processes=tasks)


def gang(key: str, marks: str, roles: list[dict[str, Any]], **fields: Any) -> Piece:
    """A gang; its own name is its key."""
    manifest = {
        "group": key,
        "roles": roles,
        "failure_policy": AGAIN,
        "start_retries": RETRIES,
        **fields,
    }
    processes = sum(
        role.get("count", 1) * (role.get("tasks", 1) if role.get("run") == "task" else 1)
        for role in roles
    )
    env = {"MARKS": marks, "PATH": "/usr/bin:/bin"}
    body = {"manifest": manifest, "cwd": "/tmp", "env": env}
    return Piece(key=key, path="/v1/groups", body=body, processes=processes)


def role(name: str, count: int, sleep: float, **fields: Any) -> dict[str, Any]:
    """A role whose members mark, sleep and end well."""
    return {"name": name, "count": count, "command": command(sleep), **fields}


def gpus(count: int) -> dict[str, Any]:
    """A member's claim to GPUs."""
    return {"name": "gpus", "type": "gpu", "count": count}


def slow(delay_s: float) -> dict[str, Any]:
    """A claim that is READY only after a while."""
    given = {"value": "v", "delay": str(delay_s)}
    return {"name": "slow", "type": "static", "parameters": given}


def mixed(seed: str, marks: str, jobs: int = 50) -> list[Piece]:
    """The work of one run: `jobs` small jobs, five gangs, and a little that is to be killed, in an
    order of the seed's."""
    draw = random.Random(seed)
    pieces = [_one_job(draw, number, marks) for number in range(jobs)]
    pieces += [*_gangs(marks), *_cut(marks)]
    draw.shuffle(pieces)
    return pieces


def _cut(marks: str) -> list[Piece]:
    """Work whose end is asked for."""
    pieces = [job(f"cut-{number}", marks, sleep=3600) for number in range(2)]
    pieces.append(gang("cut-gang", marks, [role("long", 2, 3600, claims=[slow(0.2)])]))
    return [structs.replace(piece, is_cut=True) for piece in pieces]


def _one_job(draw: random.Random, number: int, marks: str) -> Piece:
    key = f"job-{number}"
    kind = draw.random()
    sleep = draw.choice([0.0, 0.0, 0.05, 0.2])
    if kind < 0.1:
        return job(key, marks, sleep=sleep, code=3)
    if kind < 0.2:
        return job(key, marks, sleep=sleep, tasks=2, run="task")
    if kind < 0.3:
        return job(key, marks, sleep=sleep, resreq="rusage[ngpus_physical=1]")
    return job(key, marks, sleep=sleep)


def _gangs(marks: str) -> list[Piece]:
    port = {"name": "rendezvous", "type": "port"}
    folder = {"name": "scratch", "type": "directory", "size": "1MB"}
    return [
        gang("gang-pair", marks, [role("twin", 2, 0.2, claims=[gpus(2), slow(0.1)])]),
        gang(
            "gang-waves",
            marks,
            [role("head", 1, 0.3), role("tail", 3, 0.1, depends_on=["head"])],
            claims=[port],
        ),
        gang("gang-tasks", marks, [role("rank", 2, 0.2, tasks=2, run="task", claims=[folder])]),
        gang("gang-wide", marks, [role("all", 3, 0.1, claims=[gpus(3)])]),
        gang("gang-held", marks, [role("one", 2, 0.1)], claims=[{**slow(0.3), "name": "gate"}]),
    ]

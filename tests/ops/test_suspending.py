"""Suspending what runs, with real processes, on SQLite and on PostgreSQL: a tree of processes
stands still, others run in its slots, and it goes on, whoever is killed meanwhile."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ops.test_life_of_jobs import submit
from tests.ops.xce_up import Service, until, xce
from xce.ops.talk import ask

pytestmark = [pytest.mark.processes, pytest.mark.slow]
Serve = Callable[..., Service]
COUNT = """
import os, sys, time
def count(name):
    number = 0
    while True:
        number += 1
        with open(name + ".new", "w") as out: out.write(str(number))
        os.rename(name + ".new", name)
        time.sleep(0.005)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        count("escaped")
    os._exit(0)
count("main")
"""
NAMES = ("main", "escaped")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> list[str]:
    """The options that choose the database."""
    if request.param == "sqlite":
        return []
    return ["--database", request.getfixturevalue("postgres_url")]


def counting(up: Service, home: Path, **more: Any) -> str:
    """A job of four tasks, all slots of the host, whose processes count."""
    (home / "count.py").write_text(COUNT)
    job = submit(up, f"exec {sys.executable} -I -S count.py", tasks=4, **more)
    until(lambda: all((home / name).exists() for name in NAMES), "it counts")
    until(
        lambda: ask(up.home, "GET", f"/v1/jobs/{job}")["state"] == "RUNNING", "it is known to run"
    )
    return job


def counts(home: Path) -> list[int]:
    return [int((home / name).read_text()) for name in NAMES]


def stands(home: Path) -> bool:
    before = counts(home)
    time.sleep(0.15)
    return counts(home) == before


def goes_on(home: Path) -> None:
    before = counts(home)
    until(
        lambda: all(now > then for now, then in zip(counts(home), before, strict=True)),
        "it goes on",
    )


def suspend(up: Service, job: str, verb: str = "suspend") -> None:
    ask(up.home, "POST", f"/v1/jobs/{job}/{verb}", {})


def shown(up: Service, job: str) -> dict[str, Any]:
    told: dict[str, Any] = ask(up.home, "GET", f"/v1/jobs/{job}")
    return told


def await_lent(up: Service, job: str) -> None:
    until(lambda: shown(up, job)["lent"], f"job {job} lends its slots")


def test_a_tree_stands_still_while_others_have_its_slots_and_goes_on(
    serve: Serve, home: Path, database: list[str]
) -> None:
    up = serve(*database)
    up.ready()
    job = counting(up, home)
    suspend(up, job)
    await_lent(up, job)
    assert stands(home)
    assert (shown(up, job)["stat"], shown(up, job)["state"]) == ("USUSP", "RUNNING")
    other = submit(up, "while [ ! -e go ]; do sleep 0.05; done", tasks=3)
    up.await_state(other, "RUNNING")
    suspend(up, job, "resume")
    reason = until(lambda: shown(up, job)["reason"], "it says what it waits for")
    assert reason["text"] == "waits to go on: needs 4 slots back on n1, where 1 are free"
    assert stands(home)
    (home / "go").touch()
    up.await_state(other, "DONE")
    until(lambda: shown(up, job)["suspension"] == "ACTIVE", "it is resumed")
    goes_on(home)
    assert shown(up, job)["suspended_us"] > 300_000
    ask(up.home, "POST", f"/v1/jobs/{job}/kill", {})
    up.await_state(job, "EXITED")
    up.stop()
    assert xce("db", "verify", "--home", home, *database).returncode == 0


def test_it_stays_suspended_through_a_killed_controller_and_is_killed_where_it_stands(
    serve: Serve, home: Path, database: list[str]
) -> None:
    up = serve(*database)
    up.ready()
    job = counting(up, home)
    suspend(up, job)
    await_lent(up, job)
    up.kill()
    assert stands(home)
    again = serve(*database)
    again.ready()
    assert stands(home)
    assert (shown(again, job)["stat"], bool(shown(again, job)["lent"])) == ("USUSP", True)
    before = counts(home)
    ask(again.home, "POST", f"/v1/jobs/{job}/kill", {})
    told = again.await_state(job, "EXITED")
    assert (told["exit"]["how"], told["exit"]["code"]) == ("signalled", signal.SIGKILL)
    assert counts(home) == before
    again.stop()


def test_a_gang_stands_still_as_one(serve: Serve, home: Path) -> None:
    up = serve()
    up.ready()
    script = "n=0; while :; do n=$((n+1)); echo $n > count$XCE_MEMBER_RANK; sleep 0.01; done"
    role = {"name": "worker", "count": 2, "tasks": 2, "command": ["/bin/sh", "-c", script]}
    body = {
        "manifest": {"group": "pair", "roles": [role]},
        "cwd": str(home),
        "env": {"PATH": os.environ["PATH"]},
    }
    group = ask(home, "POST", "/v1/groups", body)["group"]
    names = ("count0", "count1")
    until(lambda: all((home / name).exists() for name in names), "both count")
    ask(home, "POST", f"/v1/groups/{group}/suspend", {})
    members = [str(one["id"]) for one in ask(home, "GET", f"/v1/groups/{group}/members")["members"]]
    for member in members:
        await_lent(up, member)
    before = [(home / name).read_text() for name in names]
    time.sleep(0.2)
    assert [(home / name).read_text() for name in names] == before
    assert ask(home, "GET", f"/v1/groups/{group}")["stats"] == {"USUSP": 2}
    ask(home, "POST", f"/v1/groups/{group}/resume", {})
    until(
        lambda: all(
            (home / n).read_text() not in ("", b) for n, b in zip(names, before, strict=True)
        ),
        "both go on",
    )
    ask(home, "POST", f"/v1/groups/{group}/kill", {})
    until(lambda: ask(home, "GET", f"/v1/groups/{group}")["state"] == "EXITED", "it has ended")
    up.stop()

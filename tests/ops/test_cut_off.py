"""A host of a running gang is cut off, with real processes: no moment has two generations of it.

Members beat into a file of their attempt and rank, many times a second, and shut their ears to
SIGTERM the first time, so that the host needs all of its grace. The files are judged at the end.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kit.postgres import PostgresServer
from tests.ops.xce_up import Service, until
from xce.ops.talk import ask

pytestmark = pytest.mark.processes
CLUSTER = """
levels = ["host"]
[policies]
suspect_after = "1s"
host_grace = "2s"
kill_grace = "1s"
{more}
[[emulate.hosts]]
name = "n%d"
count = 3
slots = 1
mem = "1GB"
"""
MEMBER = """
import os, signal, sys, time
attempt, rank = int(os.environ["XCE_ATTEMPT"]), os.environ["XCE_MEMBER_RANK"]
if attempt == 1:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(f"pid.{attempt}.{os.environ['XCE_HOST']}", "w") as file:
    print(os.getpid(), file=file)
beats = 10**9 if attempt == 1 else 40
with open(f"beats.{attempt}.{rank}", "a") as file:
    for _ in range(beats):
        print(time.clock_gettime(time.CLOCK_BOOTTIME), file=file, flush=True)
        time.sleep(0.02)
"""
LEASE_S, PATIENCE_S = 3.0, 1.02 * 3.0 + 1.0 + 10.0


def gang(home: Path, **more: Any) -> str:
    """Submit a gang of two hosts that is run again when one is lost; its id."""
    (home / "member.py").write_text(MEMBER)
    manifest = {
        "group": "cut",
        "roles": [{"name": "worker", "count": 2, "command": ["python3", "member.py"]}],
        "failure_policy": [{"match": {"reason": "host_lost"}, "action": "restart_group"}],
        **more,
    }
    body = {"manifest": manifest, "cwd": str(home), "env": {"PATH": os.environ["PATH"]}}
    return str(ask(home, "POST", "/v1/groups", body)["group"])


def host_folder(home: Path, host: str) -> Path:
    """Where the host's agent has its journal, with the parts together or apart."""
    own = home.with_name(f"{home.name}.{host}")
    return (own if own.exists() else home) / "hosts" / host


def beats(home: Path, attempt: int) -> list[float]:
    """When members of an attempt were alive, of all its ranks, in order."""
    found: list[float] = []
    for path in home.glob(f"beats.{attempt}.*"):
        found += [float(line) for line in path.read_text().split("\n")[:-1]]
    return sorted(found)


@contextmanager
def stopped(*pids: int) -> Iterator[None]:
    """Processes do nothing for a while."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def running(service: Service, home: Path, group: str) -> str:
    """Wait until both members run; the host of rank 1."""
    until(lambda: len(list(home.glob("beats.1.*"))) == 2 and beats(home, 1), "members run")
    members = ask(home, "GET", f"/v1/groups/{group}/members")["members"]
    return str(members[1]["hosts"][0]["host"])


@pytest.fixture
def cluster(home: Path, serve: Callable[..., Service]) -> Callable[..., Service]:
    """Three hosts of one slot; the text goes into the file."""

    def start(more: str = "", *arguments: str) -> Service:
        path = home.parent / "three.toml"
        path.write_text(CLUSTER.format(more=more))
        service = serve(*arguments, cluster=path)
        service.ready()
        return service

    return start


def test_the_supervisor_stops_the_work_before_the_gang_runs_elsewhere(
    home: Path, cluster: Callable[..., Service]
) -> None:
    service = cluster()
    group = gang(home, silence={"stop_after": "3s"})
    cut = running(service, home, group)
    agent = int((host_folder(home, cut) / "agent.lock").read_text())
    pid = int((home / f"pid.1.{cut}").read_text())
    with stopped(agent):
        cut_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        until(lambda: list(home.glob("beats.2.*")), "the gang runs again", 60.0)
        found = ask(home, "GET", f"/v1/groups/{group}/wait?timeout=30")
        assert (found["state"], found["exit_code"]) == ("DONE", 0)
    first, second = beats(home, 1), beats(home, 2)
    assert second[0] > first[-1], "two generations ran at once"
    alone = [float(line) for line in (home / "beats.1.1").read_text().split("\n")[:-1]]
    assert alone[-1] - cut_s < LEASE_S + 1.0 + 1.5
    assert second[0] - cut_s > PATIENCE_S - 1.0
    assert not (home / f"pid.2.{cut}").exists()
    until(lambda: not Path(f"/proc/{pid}").exists() or _is_zombie(pid), "it is gone")
    until(lambda: _liveness(service, cut) == "UP", "the host is back")
    assert beats(home, 1) == first


@pytest.mark.postgres
def test_who_takes_over_waits_from_its_own_beginning(
    home: Path,
    cluster: Callable[..., Service],
    postgres_server: PostgresServer,
    postgres_url: str,
) -> None:
    service = cluster("", "--database", postgres_url)
    group = gang(home, silence={"stop_after": "3s"})
    cut = running(service, home, group)
    epoch = ask(home, "GET", "/readyz")["epoch"]
    with stopped(int((host_folder(home, cut) / "agent.lock").read_text())):
        time.sleep(6.0)
        postgres_server.crash()
        postgres_server.start()
        began_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        until(lambda: list(home.glob("beats.2.*")), "the gang runs again", 60.0)
        assert ask(home, "GET", "/readyz")["epoch"] > epoch
        found = ask(home, "GET", f"/v1/groups/{group}/wait?timeout=30")
        assert (found["state"], found["exit_code"]) == ("DONE", 0)
    first, second = beats(home, 1), beats(home, 2)
    assert second[0] > first[-1], "two generations ran at once"
    assert second[0] - began_s > PATIENCE_S


def test_without_it_the_work_waits_for_a_proof_and_the_hook_gives_one(
    home: Path, cluster: Callable[..., Service]
) -> None:
    hook = home.parent / "fence"
    hook.write_text(
        "#!/bin/sh\n[ -e allowed ] || { echo not yet; exit 1; }\n"
        f'kill -9 "$(cat {home}/pid.1.$1)" && echo switched off\n'.replace(
            "allowed", str(home / "allowed")
        )
    )
    hook.chmod(0o755)
    fencing = (
        f'[fencing]\ncommand = ["{hook}"]\ntimeout = "5s"\nretry_first = "1s"\nretry_cap = "1s"'
    )
    service = cluster(fencing)
    group = gang(home)
    cut = running(service, home, group)
    folder = host_folder(home, cut)
    pids = [int((folder / f"{who}.lock").read_text()) for who in ("agent", "supervisor")]
    with stopped(*pids):
        until(lambda: _liveness(service, cut) == "DOWN", "the host is DOWN")
        told = ask(home, "GET", f"/v1/groups/{group}")["silence"]["text"]
        for cure in ("the host is back", "a new boot", "a fencing hook says yes", "xce host lost"):
            assert cure in told
        time.sleep(3.0)
        assert not list(home.glob("beats.2.*"))
        (home / "allowed").touch()
        found = ask(home, "GET", f"/v1/groups/{group}/wait?timeout=30")
        assert (found["state"], found["exit_code"]) == ("DONE", 0)
    assert beats(home, 2)[0] > beats(home, 1)[-1], "two generations ran at once"


def _liveness(service: Service, name: str) -> str:
    told = service.ask("GET", "/v1/hosts") or {"items": []}
    return next((str(one["liveness"]) for one in told["items"] if one["name"] == name), "")


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True

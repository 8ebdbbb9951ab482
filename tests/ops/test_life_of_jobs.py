"""The life of plain jobs with real processes, on SQLite and on PostgreSQL."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ops.xce_up import Service, until, xce
from xce.ops.talk import ask

pytestmark = [pytest.mark.processes, pytest.mark.slow]
Serve = Callable[..., Service]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest) -> list[str]:
    """The options that choose the database."""
    if request.param == "sqlite":
        return []
    return ["--database", request.getfixturevalue("postgres_url")]


def submit(up: Service, text: str, **more: Any) -> str:
    body = {
        "command": ["/bin/sh", "-c", text],
        "cwd": str(up.home),
        "env": {"PATH": os.environ["PATH"]},
        **more,
    }
    return str(ask(up.home, "POST", "/v1/jobs", body)["job"])


def attempts(home: Path, name: str = "mark") -> list[str]:
    path = home / name
    return path.read_text().split() if path.exists() else []


def test_a_run_limit_holds_while_the_controller_is_dead(
    serve: Serve, home: Path, database: list[str]
) -> None:
    up = serve(*database)
    up.ready()
    job = submit(up, "echo $$ > pid; exec sleep 60", run_limit_us=3_000_000)
    up.await_state(job, "RUNNING")
    pid = until(lambda: attempts(home, "pid"), "it runs")[0]
    up.kill()
    assert Path(f"/proc/{pid}").exists()
    until(lambda: not Path(f"/proc/{pid}").exists(), "its host ended it")
    again = serve(*database)
    again.ready()
    told = again.await_state(job, "EXITED")
    assert (told["exit"]["reason"], told["exit"]["how"]) == ("run_limit", "signalled")
    assert 3_000_000 <= told["ended_us"] - told["started_us"] < 20_000_000
    again.stop()
    assert xce("db", "verify", "--home", home, *database).returncode == 0


def test_a_job_runs_again_by_its_exit_value_and_when_it_is_asked_to(
    serve: Serve, home: Path, database: list[str]
) -> None:
    up = serve(*database)
    up.ready()
    flaky = "echo $XCE_ATTEMPT >> mark; [ $XCE_ATTEMPT -ge 3 ] && exit 0; exit 7"
    job = submit(up, flaky, requeue_exits="7")
    told = up.await_state(job, "DONE")
    assert (attempts(home), told["attempt"], told["requeues"]) == (["1", "2", "3"], 3, 2)
    ask(home, "POST", f"/v1/jobs/{job}/requeue", {"which": ["done"]})
    until(lambda: attempts(home) == ["1", "2", "3", "4"], "it ran a fourth time")
    assert up.await_state(job, "DONE")["attempt"] == 4
    slow = submit(up, "echo $XCE_ATTEMPT >> slow; [ $XCE_ATTEMPT = 1 ] && exec sleep 60; exit 0")
    until(lambda: attempts(home, "slow") == ["1"], "it runs")
    ask(home, "POST", f"/v1/jobs/{slow}/requeue", {})
    up.await_state(slow, "DONE")
    assert attempts(home, "slow") == ["1", "2"]
    up.stop()
    assert xce("db", "verify", "--home", home, *database).returncode == 0


def test_a_rerunnable_job_runs_again_when_its_host_is_lost(serve: Serve, home: Path) -> None:
    up = serve()
    up.ready()
    text = "echo $XCE_ATTEMPT >> mark; [ $XCE_ATTEMPT = 1 ] && exec sleep 60; exit 0"
    job = submit(up, text, rerunnable=True)
    until(lambda: attempts(home) == ["1"], "it runs")
    supervisor = int(next(home.glob("hosts/n1/supervisor.lock")).read_text())
    os.kill(supervisor, signal.SIGKILL)
    told = up.await_state(job, "DONE")
    assert (attempts(home), told["attempt"]) == (["1", "2"], 2)
    up.stop()

"""From a program on a host to a decision: a reporter's value lets a job start, on both logs."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ops.xce_up import Service, until

pytestmark = pytest.mark.processes
Serve = Callable[..., Service]

SITE = """
levels = ["host"]
[policies]
tick_interval = "1s"
[[types]]
name = "glow"
consumable = false
direction = "increasing"
interval = "1s"
[[types]]
name = "seats"
scope = "shared"
interval = "1s"
[[pools]]
type = "seats"
reported = true
[[types]]
name = "lic"
interval = "1s"
[[reporters]]
name = "lamp"
command = ["{python}", "{elim}", "{values}"]
types = ["glow", "seats", "lic"]
interval = "1s"
[[emulate.hosts]]
name = "n1"
slots = 4
mem = "8GB"
"""
ELIM = """
import sys, time
while True:
    print(open(sys.argv[1]).read().strip(), flush=True)
    time.sleep(0.1)
"""


@pytest.fixture
def cluster(home: Path) -> Path:
    folder = home.parent
    (folder / "elim.py").write_text(ELIM)
    (folder / "values").write_text("2 glow 1 seats 2")
    path = folder / "site.toml"
    names = {"python": sys.executable, "elim": folder / "elim.py", "values": folder / "values"}
    path.write_text(SITE.format(**names))
    return path


def database(request: pytest.FixtureRequest, name: str) -> tuple[str, ...]:
    if name == "sqlite":
        return ()
    return "--database", request.getfixturevalue("postgres_url")


@pytest.mark.parametrize("log", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_a_reported_value_lets_a_job_start(
    serve: Serve, cluster: Path, request: pytest.FixtureRequest, log: str
) -> None:
    up = serve(*database(request, log), cluster=cluster)
    up.ready()

    def observed(name: str) -> dict[str, int]:
        found: dict[str, int] = up.ask("GET", f"/v1/resources/{name}")["observed"]
        return found

    job = up.ask("POST", "/v1/jobs", {"command": ["true"], "resreq": "select[glow>5]"})["job"]
    seated = up.ask("POST", "/v1/jobs", {"command": ["true"], "resreq": "rusage[seats=3]"})["job"]
    until(lambda: observed("glow") == {"n1": 1}, "the value that a job looks at is carried")
    until(lambda: observed("seats") == {"seats@1": 2}, "so is the total of the pool")
    assert up.ask("GET", f"/v1/jobs/{job}")["state"] == "PENDING"
    (cluster.parent / "values").write_text("2 glow 9 seats 3")
    up.await_state(job, "DONE")
    up.await_state(seated, "DONE")
    assert up.stop()[0] == 0


@pytest.mark.parametrize("log", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_what_only_a_reporter_knows_is_reserved(
    serve: Serve, cluster: Path, request: pytest.FixtureRequest, log: str
) -> None:
    up = serve(*database(request, log), cluster=cluster)
    up.ready()

    def submit(resreq: str, *command: str) -> str:
        found = up.ask("POST", "/v1/jobs", {"command": list(command), "resreq": resreq})
        return str(found["job"])

    def why(job: str) -> str:
        reason = up.ask("GET", f"/v1/jobs/{job}/explain")["reason"]
        return str(reason["text"]) if reason else ""

    holds = submit("rusage[lic=2]", "sleep", "600")
    until(lambda: "not reported by any of 1 hosts" in why(holds), "nobody says how much there is")
    (cluster.parent / "values").write_text("1 lic 3")
    up.await_state(holds, "RUNNING")
    waits = submit("rusage[lic=2]", "true")
    until(lambda: "best host n1 has 1 free" in why(waits), "3 less the 2 that are reserved")
    lic = up.ask("GET", "/v1/resources/lic")
    assert (lic["observed"], lic["held"]) == ({"n1": 3}, {"n1": 2})
    (cluster.parent / "values").write_text("1 lic 4")
    up.await_state(waits, "DONE")
    up.ask("POST", f"/v1/jobs/{holds}/kill", {})
    assert up.stop()[0] == 0

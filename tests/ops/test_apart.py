"""The gang of the demo, once under `xce up`, once with controller and agents started apart."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.ops.xce_up import Service, processes_of, until, words
from xce.ops.talk import ask

pytestmark = pytest.mark.processes
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CLUSTER = EXAMPLES / "clusters" / "dgx-4.toml"
Start = Callable[[Path], Service]


def together(home: Path) -> Service:
    """Everything by one command."""
    service = Service(home, "--cluster", CLUSTER)
    service.ready()
    return service


def apart(home: Path) -> Service:
    """Each part by its own command; the agents know an URL and a token file."""
    service = Service(home, "--cluster", CLUSTER, command="controller")
    url = service.ready().split("up at ")[1].partition(",")[0]
    for name in ("n1", "n2", "n3", "n4"):
        line = words(
            "agent", "--home", home.parent / name, "--host", name, "--controller", url,
            "--token-file", home / "agent.token", "--cluster", CLUSTER, "--allow-root",
        )  # fmt: skip
        service.parts.append(subprocess.Popen(line))
    return service


@pytest.fixture(params=[together, apart], ids=["together", "apart"])
def service(request: pytest.FixtureRequest, home: Path) -> Iterator[Service]:
    """A running cluster."""
    start: Start = request.param
    found = start(home)
    try:
        yield found
        for part in found.parts:
            part.terminate()
        assert [part.wait(20) for part in found.parts] == [0] * len(found.parts)
        assert found.stop() == (0, "")
        until(lambda: not processes_of(home.parent), "all parts have ended")
    finally:
        for part in found.parts:
            part.kill()
        found.close()


def test_the_gang_runs_whole(service: Service, home: Path) -> None:
    for name in ("allreduce.py", "allreduce.yaml"):
        shutil.copy(EXAMPLES / "gangs" / name, home / name)
    manifest = yaml.safe_load((home / "allreduce.yaml").read_text())
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    body = {"manifest": manifest, "cwd": str(home), "env": {"PATH": path}}
    group = ask(home, "POST", "/v1/groups", body)["group"]
    found = ask(home, "GET", f"/v1/groups/{group}/wait?timeout=30")
    assert (found["state"], found["exit_code"]) == ("DONE", 0)
    assert "8 of 8 ranks have the right sum" in (home / "xce-g1-launcher-0.out").read_text()
    members = ask(home, "GET", f"/v1/groups/{group}/members")["members"]
    assert [(one["role"], one["rank"]) for one in members] == [
        ("launcher", 0),
        ("worker", 0),
        ("worker", 1),
    ]

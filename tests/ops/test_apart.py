"""The gang of the demo, once under `xce up`, once with controller and agents started apart."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.kit.cluster_process import APART, TOGETHER, cluster_words
from tests.ops.xce_up import Service, processes_of, until
from xce.ops.talk import ask

pytestmark = pytest.mark.processes
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CLUSTER = EXAMPLES / "clusters" / "dgx-4.toml"


def command_lines(home: Path) -> list[list[str]]:
    """The `xce` commands that run on a home."""
    lines = [Path(f"/proc/{pid}/cmdline").read_text().split("\0") for pid in processes_of(home)]
    return sorted(line[3:] for line in lines if line[1:3] == ["-m", "xce.ops.main"])


@pytest.fixture
def service(request: pytest.FixtureRequest, home: Path) -> Iterator[Service]:
    """A running cluster."""
    found = Service(home, "--cluster", CLUSTER, how=request.param)
    try:
        found.ready()
        yield found
        assert found.stop() == (0, "")
        until(lambda: not processes_of(home), "all parts have ended")
    finally:
        found.close()


@pytest.mark.parametrize("service", [TOGETHER, APART], indirect=True)
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


@pytest.mark.parametrize("service", [APART], indirect=True)
def test_apart_each_part_has_its_own_command_and_each_agent_its_own_home(
    service: Service, home: Path
) -> None:
    lines = command_lines(home)
    assert [line[0] for line in lines] == ["agent"] * 4 + ["controller"]
    homes = [line[line.index("--home") + 1] for line in lines]
    assert homes == [*(f"{home}.n{number}" for number in (1, 2, 3, 4)), str(home)]
    urls = {line[line.index("--controller") + 1] for line in lines[:4]}
    assert [url.rpartition(":")[0] for url in urls] == ["http://127.0.0.1"]


def test_the_parts_are_chosen_by_one_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XCE_TEST_PARTS", "apart")
    assert cluster_words("--port", 0)[-3:-2] == [
        str(EXAMPLES.parent / "tests/kit/cluster_process.py")
    ]
    monkeypatch.setenv("XCE_TEST_PARTS", "together")
    assert cluster_words("--port", 0)[1:] == ["-m", "xce.ops.main", "up", "--port", "0"]
    monkeypatch.setenv("XCE_TEST_PARTS", "sideways")
    with pytest.raises(ValueError, match="XCE_TEST_PARTS=sideways: it is together or apart"):
        cluster_words()

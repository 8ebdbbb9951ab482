"""The options of `xce agent`: what each makes of the agent's settings, and one agent at work."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.ops.xce_up import Service, words
from xce.agent.facts import read_facts
from xce.agent.settings import AgentConfig
from xce.ops import one_agent
from xce.ops.main import main

SITE = """
levels = ["host"]
[[reporters]]
name = "lamp"
command = ["/bin/lamp"]
[[emulate.hosts]]
name = "n1"
slots = 4
mem = "8GB"
"""
FACTS = 'slots = 6\nmem = "2GB"\n[[gpus]]\ncount = 2\nmodel = "H100"\nmem = "80GB"\n'
MB = 1 << 20


def agent(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["agent", *map(str, arguments)])


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> list[AgentConfig]:
    """The settings of the agents that would have been run."""
    seen: list[AgentConfig] = []

    def run_agent(config: AgentConfig) -> int:
        seen.append(config)
        return 0

    monkeypatch.setattr(one_agent, "run_agent", run_agent)
    return seen


def test_options_become_settings(tmp_path: Path, settings: list[AgentConfig]) -> None:
    (tmp_path / "facts.toml").write_text(FACTS)
    told = agent(
        "--home", tmp_path, "--host", "n1", "--facts", tmp_path / "facts.toml",
        "--cgroup", "v1", "--boot-id", "b2", "--poll", "0.25",
    )  # fmt: skip
    assert (told.exit_code, told.output) == (0, "")
    (found,) = settings
    assert (found.cgroup, found.boot_id, found.poll_wait_ms) == ("v1", "b2", 250)
    facts = read_facts(found.facts_file, "n1")
    assert dict(facts.counters) == {"slots": 6, "mem": 2048 * MB}


def test_without_options_the_settings_are_the_agents_own(
    tmp_path: Path, settings: list[AgentConfig]
) -> None:
    agent("--home", tmp_path, "--host", "n1")
    own = AgentConfig(host="n1", home="", controllers=())
    for field in ("cgroup", "boot_id", "poll_wait_ms", "on_leave"):
        assert getattr(settings[0], field) == getattr(own, field)


def test_facts_win_over_the_cluster_file_which_still_names_reporters(
    tmp_path: Path, settings: list[AgentConfig]
) -> None:
    (tmp_path / "facts.toml").write_text(FACTS)
    (tmp_path / "site.toml").write_text(SITE)
    site = ("--home", tmp_path, "--host", "n1", "--cluster", tmp_path / "site.toml")
    assert agent(*site).exit_code == 0
    assert agent(*site, "--facts", tmp_path / "facts.toml").exit_code == 0
    slots = [dict(read_facts(one.facts_file, "n1").counters)["slots"] for one in settings]
    assert slots == [4, 6]
    assert [[one.name for one in each.reporters] for each in settings] == [["lamp"], ["lamp"]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file or directory"),
        ("slots = ", "Invalid value"),
        ("slotz = 4\n", "unknown field 'slotz'"),
    ],
)
def test_facts_that_cannot_be_used_are_one_line(
    tmp_path: Path, text: str | None, said: str
) -> None:
    path = tmp_path / "facts.toml"
    if text is not None:
        path.write_text(text)
    told = agent("--home", tmp_path, "--host", "n1", "--facts", path)
    assert told.exit_code == 1
    assert told.stderr.startswith("xce agent n1: ")
    assert said in told.stderr
    assert told.stderr.count("\n") == 1


@pytest.mark.processes
def test_an_agent_with_facts_and_without_cgroups_runs_a_job(
    serve: Callable[..., Service], home: Path
) -> None:
    controller = serve(command="controller")
    controller.ready()
    facts = home.parent / "facts.toml"
    facts.write_text(FACTS)
    line = ("agent", "--home", home, "--host", "n1", "--facts", facts, "--cgroup", "none")
    running = subprocess.Popen(words(*line, "--allow-root"), stderr=subprocess.PIPE)
    job = controller.submit("sh", "-c", "echo done > mark")
    controller.await_state(job, "DONE")
    (host,) = controller.ask("GET", "/v1/hosts")["items"]
    assert (host["slots"], host["instances"]) == (6, 2)
    running.terminate()
    assert running.communicate(timeout=20)[1] == b""
    assert running.returncode == 0
    assert controller.stop() == (0, "")

"""A host's journal stays while the log is another one: nothing is DONE that did not run."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ops.xce_up import Service, until, words, xce

pytestmark = pytest.mark.processes
Serve = Callable[..., Service]


class Agent:
    """An agent with a home of its own, started again and again."""

    def __init__(self, home: Path, site: Path) -> None:
        self.folder = home.parent / "there" / "hosts" / "n1"
        self._words = [
            "agent", "--home", home.parent / "there", "--host", "n1",
            "--token-file", home / "agent.token", "--cluster", site, "--allow-root",
        ]  # fmt: skip
        self.process: subprocess.Popen[str] | None = None

    def start(self, url: str) -> None:
        line = words(*self._words, "--controller", url)
        self.process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.communicate(timeout=20)

    def refusal(self) -> str:
        """What it said when it was turned away."""
        assert self.process is not None
        _, said = self.process.communicate(timeout=20)
        assert self.process.returncode == 7
        return said


@pytest.fixture
def agent(home: Path, one_host: Path) -> Iterator[Agent]:
    found = Agent(home, one_host)
    yield found
    if found.process is not None:
        found.stop()


def url_of(service: Service) -> str:
    return service.ready().split("up at ")[1].partition(",")[0]


def ran_under_a_log_that_is_gone(serve: Serve, home: Path, agent: Agent) -> None:
    """Job 1 is DONE in the host's journal; `copy.db` is of before, the home is away."""
    first = serve(command="controller")
    agent.start(url_of(first))
    until(lambda: first.ask("GET", "/v1/hosts")["items"], "the host is there")
    agent.stop()
    first.stop()
    assert xce("db", "backup", home.parent / "copy.db", "--home", home).returncode == 0
    second = serve(command="controller")
    agent.start(url_of(second))
    second.await_state(second.submit("sh", "-c", "echo first >> ran"), "DONE")
    agent.stop()
    second.stop()
    assert (home / "ran").read_text() == "first\n"
    shutil.rmtree(home)


def test_a_job_of_a_new_log_is_never_done_by_an_old_outcome(
    serve: Serve, home: Path, agent: Agent
) -> None:
    ran_under_a_log_that_is_gone(serve, home, agent)
    third = serve(command="controller")
    url = url_of(third)
    agent.start(url)
    said = agent.refusal()
    assert "the journal of host n1 is of log" in said
    assert "move the folder hosts/n1 of the agent's home away" in said
    (refused,) = third.ask("GET", "/v1/hosts")["strangers"]
    assert (refused["name"], refused["refused"] in said) == ("n1", True)
    job = third.submit("sh", "-c", "echo third >> ran")
    assert third.ask("GET", f"/v1/jobs/{job}")["state"] == "PENDING"
    agent.folder.rename(agent.folder.with_name("n1.old"))
    agent.start(url)
    third.await_state(job, "DONE")
    assert (home / "ran").read_text() == "third\n"


def test_an_older_copy_of_the_log_ends_until_no_host_knows_more(
    serve: Serve, home: Path, agent: Agent
) -> None:
    ran_under_a_log_that_is_gone(serve, home, agent)
    home.mkdir()
    shutil.copy(home.parent / "copy.db", home / "xce.db")
    third = serve(command="controller")
    agent.start(url_of(third))
    _, said = third.process.communicate(timeout=20)
    assert third.process.returncode == 1
    assert "host n1 has seen" in said
    agent.stop()
    agent.folder.rename(agent.folder.with_name("n1.old"))
    fourth = serve(command="controller")
    agent.start(url_of(fourth))
    fourth.await_state(fourth.submit("sh", "-c", "echo fourth >> ran"), "DONE")
    assert (home / "ran").read_text() == "fourth\n"

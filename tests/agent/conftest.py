"""A host of its own for each test: a scripted controller and a real agent process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.fake_controller import FakeController, until
from xce.dispatch.protocol import Task

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


class Host:
    """One host: its folder, its agent process, its controller."""

    def __init__(self, folder: Path, controller: FakeController) -> None:
        self.home = folder
        self.controller = controller
        self.folder = folder / "hosts" / "n1"
        self.agent: subprocess.Popen[bytes] | None = None
        self.settings: dict[str, object] = {"allow_root": True, "retry_first_s": 0.01}

    def start(self, env: dict[str, str] | None = None, **settings: object) -> None:
        config = {
            "host": "n1",
            "home": str(self.home),
            "controllers": [self.controller.url],
            **self.settings,
            **settings,
        }
        self.agent = subprocess.Popen(
            [sys.executable, "-m", "xce.agent", json.dumps(config)],
            env={**os.environ, **(env or {})},
            stderr=subprocess.PIPE,
        )

    def task(self, *command: str, **more: object) -> Task:
        fields: dict[str, object] = {
            "job": "1",
            "command": command,
            "cwd": str(self.home),
            "env": ENV,
            "stdout": "out",
        }
        return Task(**{**fields, **more})

    def shell(self, text: str, **more: object) -> Task:
        return self.task("/bin/sh", "-c", text, **more)

    def text(self, name: str = "out") -> str:
        path = self.home / name
        return path.read_text() if path.exists() else ""

    def supervisor_pid(self) -> int:
        pid = int((self.folder / "supervisor.lock").read_text())
        assert pid > 1
        return pid

    def kill_supervisor(self) -> None:
        os.kill(self.supervisor_pid(), signal.SIGKILL)

    def kill_agent(self) -> None:
        assert self.agent is not None
        self.agent.kill()
        self.agent.communicate()
        self.agent = None

    def leave(self) -> int:
        assert self.agent is not None
        self.agent.terminate()
        self.agent.communicate(timeout=20)
        return self.agent.returncode

    def close(self) -> None:
        if self.agent is not None and self.agent.poll() is None:
            self.agent.kill()
        if self.agent is not None:
            self.agent.communicate()
        lock = self.folder / "supervisor.lock"
        if lock.exists() and is_alive(pid := self.supervisor_pid()):
            os.kill(pid, signal.SIGTERM)
            until(lambda: not is_alive(pid), 20)


def is_alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as source:
            return source.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@pytest.fixture
def controller() -> Iterator[FakeController]:
    fake = FakeController()
    yield fake
    fake.close()


@pytest.fixture
def host(tmp_path: Path, controller: FakeController) -> Iterator[Host]:
    one = Host(tmp_path, controller)
    yield one
    one.close()

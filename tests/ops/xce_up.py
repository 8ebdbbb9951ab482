"""Running the `xce` command in tests: started as users start it, and nothing left behind."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.kit.cluster_process import cluster_words
from tests.kit.cluster_process import xce_words as words
from xce.ops.talk import NobodyThere, Said, ask

ONE_HOST = """
levels = ["host"]
[[emulate.hosts]]
name = "n1"
slots = 4
mem = "8GB"
"""
WAIT_S = 30.0


def until(look: Callable[[], Any], what: str, wait_s: float = WAIT_S) -> Any:
    """What `look` finds, as soon as it finds something."""
    end_s = time.monotonic() + wait_s
    while not (found := look()):
        if time.monotonic() > end_s:
            raise AssertionError(f"still not so after {wait_s} s: {what}")
        time.sleep(0.02)
    return found


def xce(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(words(*arguments), capture_output=True, text=True, timeout=60, **more)


def processes_of(home: Path) -> list[int]:
    """Processes that have to do with a home: by arguments, directory or environment."""
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _is_of(pid, home)]


def _is_of(pid: int, home: Path) -> bool:
    if pid == os.getpid():
        return False
    text = str(home).encode()
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        facts = [Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ")]
        return state not in "ZX" and any(text in fact for fact in facts)
    except OSError:
        return False


class Service:
    """A cluster on a home, or the one command that is named: `up` itself, or `controller`."""

    def __init__(
        self, home: Path, *arguments: object, command: str = "", how: str = "", **more: Any
    ) -> None:
        self.home = home
        options = ("--home", home, "--allow-root", *arguments)
        self.process = subprocess.Popen(
            words(command, *options) if command else cluster_words(*options, how=how),
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            **more,
        )

    def ready(self) -> str:
        """Wait until it says that it is up; what it said."""
        assert self.process.stderr is not None
        said = ""
        while "up at" not in said:
            line = self.process.stderr.readline()
            assert line, f"it ended: {said}"
            said += line
        return said

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Ask its API; None while nobody answers."""
        try:
            return ask(self.home, method, path, body)
        except (NobodyThere, Said):
            return None

    def submit(self, *command: str) -> str:
        """Submit a job that runs in the home's folder; its id."""
        told = ask(
            self.home,
            "POST",
            "/v1/jobs",
            {"command": command, "cwd": str(self.home), "env": {"PATH": os.environ["PATH"]}},
        )
        return str(told["job"])

    def await_state(self, job: str, state: str) -> dict[str, Any]:
        """The job as soon as it is in that state."""

        def look() -> Any:
            found = self.ask("GET", f"/v1/jobs/{job}")
            return found if found and found["state"] == state else None

        found: dict[str, Any] = until(look, f"job {job} is {state}")
        return found

    def kill(self) -> None:
        """As by kill -9."""
        self.process.kill()
        self.process.communicate()

    def stop(self) -> tuple[int, str]:
        """Ask it to end; its exit code and its last words."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, said

    def close(self) -> None:
        """Whatever happened: nothing of this home is left."""
        if self.process.poll() is None:
            self.stop()
        if self.process.stderr is not None:
            self.process.stderr.close()
        for pid in processes_of(self.home):
            os.kill(pid, signal.SIGKILL)


__all__ = ["ONE_HOST", "Service", "processes_of", "until", "words", "xce"]

"""Lost connections, busy controllers, and what the fast path costs."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Live, Told
from xcecli import wire

Cli = Callable[..., Told]
ROOT = Path(__file__).parents[2]


class Script:
    """A server that plays one canned answer per connection; "" closes without an answer."""

    def __init__(self, path: Path, answers: list[str]) -> None:
        self.requests: list[str] = []
        self._answers = answers
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.bind(str(path))
        self._sock.listen(8)
        self._thread = threading.Thread(target=self._play)
        self._thread.start()

    def _play(self) -> None:
        for answer in self._answers:
            connection, _ = self._sock.accept()
            with connection:
                self.requests.append(connection.recv(1 << 20).decode())
                connection.sendall(answer.encode())

    def close(self) -> None:
        self._thread.join(10)
        self._sock.close()

    def keys(self) -> list[str]:
        return [
            line.partition(": ")[2]
            for request in self.requests
            for line in request.split("\r\n")
            if line.startswith("Idempotency-Key")
        ]


def answer(status: str, body: dict[str, object]) -> str:
    text = json.dumps(body)
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n{text}"


TAKEN = answer("201 Created", {"job": "7", "queue": "normal", "default_queue": True})
BUSY = answer("503 Service Unavailable", {"code": "busy", "detail": "too many submissions"})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XCE_HOME", str(tmp_path))
    monkeypatch.setattr(wire, "PATIENCE_S", 0.3)
    return tmp_path


def test_a_lost_answer_is_asked_for_again_with_the_same_key(home: Path, xcecli: Cli) -> None:
    server = Script(home / "api.sock", ["", "HTTP/1.1 201 Created\r\nContent-Le", TAKEN])
    told = xcecli("submit", "true")
    server.close()
    assert told == (0, "Job <7> is submitted to default queue <normal>.\n", "")
    assert len(set(server.keys())) == 1
    assert len(server.keys()) == 3


def test_a_busy_controller_is_asked_again(home: Path, xcecli: Cli) -> None:
    server = Script(home / "api.sock", [BUSY, TAKEN])
    assert xcecli("submit", "--id", "true") == (0, "7\n", "")
    server.close()


def test_an_outcome_that_stays_unknown_is_said_to_be_unknown(home: Path, xcecli: Cli) -> None:
    server = Script(home / "api.sock", ["", ""])
    monkey = threading.Thread(target=server.close)
    monkey.start()
    code, out, err = xcecli("submit", "true")
    monkey.join()
    assert (code, out) == (6, "")
    assert "whether the job was submitted is not known. Look with `xcecli jobs -a`" in err
    assert server.keys()[0] in err


def test_two_submissions_have_different_keys(home: Path, xcecli: Cli) -> None:
    server = Script(home / "api.sock", [TAKEN, TAKEN])
    xcecli("submit", "true")
    xcecli("submit", "true")
    server.close()
    assert len(set(server.keys())) == 2


def bare(code: str, live: Live) -> str:
    """What a fresh interpreter prints that sees this checkout and no site packages."""
    before = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", before + code],
        capture_output=True,
        text=True,
        timeout=30,
        env={"XCE_HOME": str(live.home), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.processes
@pytest.mark.parametrize("line", [["submit", "-n", "2", "true"], ["jobs"], ["kill", "1"]])
def test_the_fast_path_imports_few_modules_and_only_the_standard_library(
    live: Live, line: list[str], xcecli: Cli
) -> None:
    xcecli("submit", "true")
    code = (
        "from xcecli.main import main\n"
        f"code = main({line!r})\n"
        "print(code, len(sys.modules), 'click' in sys.modules, 'typing' in sys.modules)"
    )
    told = bare(code, live).splitlines()[-1].split()
    assert told[0] == "0"
    assert int(told[1]) < 90
    assert told[2:] == ["False", "False"]


@pytest.mark.processes
def test_a_closed_pipe_is_no_failure(live: Live) -> None:
    command = f"{sys.executable} -m xcecli.main jobs --json | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=ROOT,
        env={"XCE_HOME": str(live.home), "PATH": "/usr/bin:/bin"},
    )
    assert (done.stdout, done.stderr) == ("0\n", "")

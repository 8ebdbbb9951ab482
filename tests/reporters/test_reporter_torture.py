"""Reporters that misbehave: contained, killed whole, told once, started again ever more slowly."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from xce.agent.reporters.board import Board
from xce.agent.reporters.watch import Reporting, Watch
from xce.agent.settings import SECOND_US, Reporter


def until(what: Callable[[], bool], limit_s: float = 20.0) -> None:
    end_s = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < end_s, "it never came to that"
        time.sleep(0.02)


class Host:
    """A watched reporter that is a Python or shell text."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []
        self.board = Board()
        self.stop = threading.Event()
        self.threads: list[threading.Thread] = []
        self.mark = f"xce-test-{os.getpid()}-{id(self)}"

    def shell(self, text: str, **more: object) -> Watch:
        return self.run(["/bin/sh", "-c", text, self.mark], **more)

    def python(self, text: str, **more: object) -> Watch:
        return self.run([sys.executable, "-c", text, self.mark], **more)

    def run(self, command: list[str], pause_s: float = 60.0, **more: object) -> Watch:
        fields = {"interval_us": SECOND_US, "timeout_us": 5 * SECOND_US, **more}
        reporter = Reporter(name="elim", command=tuple(command), **fields)
        watch = Watch(reporter, "n1", self.board, self.said.append, (pause_s, 4 * pause_s))
        thread = threading.Thread(target=watch.run, args=(self.stop,))
        thread.start()
        self.threads.append(thread)
        return watch

    def values(self) -> dict[str, object]:
        told = self.board.told()
        return {name: value for name, value, _ in told.values} if told else {}

    def processes(self) -> list[int]:
        """Everything that carries this test's mark, keepers left out."""
        found = []
        for one in psutil.process_iter():
            try:
                words = one.cmdline()
            except psutil.Error:
                continue
            if words and self.mark in words:
                found.append(one.pid)
        return found

    def close(self) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path)
    yield made
    made.close()
    until(lambda: not made.processes())


def test_a_good_reporter_is_heard_and_knows_what_is_expected_of_it(host: Host) -> None:
    text = 'while :; do echo "3 seats 5 osrel el9 n $(echo $LSF_RESOURCES | wc -w)"; sleep 1; done'
    host.shell(text, types=("seats", "osrel", "n"))
    until(lambda: len(host.values()) == 3)
    assert host.values() == {"n": 3, "osrel": "el9", "seats": 5}
    assert host.said == []


def test_json_lines_are_heard_and_undeclared_names_left_out_with_one_line(host: Host) -> None:
    text = 'while :; do echo \'{"seats": 2, "secret": 1}\'; sleep 0.1; done'
    host.shell(text, types=("seats",))
    until(lambda: host.values() == {"seats": 2})
    until(lambda: len(host.said) == 1)
    time.sleep(0.5)
    assert host.said == [
        "reporter elim: it tells secret, which it was not declared to; that is left out"
    ]


def test_one_that_exits_at_once_is_told_once_and_started_ever_more_slowly(host: Host) -> None:
    watch = host.shell("exit 3", pause_s=0.1)
    until(lambda: watch.lives >= 3)
    assert host.said == [
        "reporter elim: exited: it ended with code 3; it is started again in 0.1 s"
    ]
    began_s = time.monotonic()
    until(lambda: watch.lives >= 4)
    assert time.monotonic() - began_s > 0.2


def test_one_that_does_not_apply_here_is_never_started_again(host: Host) -> None:
    watch = host.shell("exit 97", pause_s=0.05)
    until(lambda: not host.threads[0].is_alive())
    assert watch.lives == 1
    assert host.said == ["reporter elim: it does not apply to this host; it is not started again"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("head -c 300 /dev/zero | tr '\\0' '\\377'; echo; sleep 60", "garbage: byte 1 is no text"),
        ("echo 3 tmp2 47.5; sleep 60", "garbage: 3 pairs are announced, 2 words follow"),
        ("yes x | tr -d '\\n'", "long_line: a line is longer than 65536 bytes"),
        ("yes 1 a 1", "flood: more than 256 KB in 1 s"),
        ("exec no-such-program", "exited: it ended with code 127"),
        ("kill -9 $$", "exited: it ended with signal 9"),
    ],
)
def test_faults_are_one_line_and_nothing_is_left(host: Host, text: str, kind: str) -> None:
    host.shell(text)
    until(lambda: bool(host.said))
    assert host.said[0].startswith(f"reporter elim: {kind}")
    until(lambda: not host.processes())


def test_a_program_that_is_not_there_is_told_by_name(host: Host) -> None:
    host.run(["/no/such/elim"])
    until(lambda: bool(host.said))
    assert "not_started: /no/such/elim: No such file or directory" in host.said[0]


def test_a_line_of_a_gigabyte_costs_next_to_no_memory(host: Host) -> None:
    host.python(
        "import sys\nwhile True: sys.stdout.write('x' * (1 << 20))", timeout_us=60 * SECOND_US
    )
    before = psutil.Process().memory_info().rss
    until(lambda: bool(host.said))
    assert "long_line" in host.said[0]
    assert psutil.Process().memory_info().rss - before < 32 << 20


@pytest.mark.parametrize("text", ["sleep 600", "echo 1 a 1; sleep 600", "printf '1 a'; sleep 600"])
def test_silence_and_half_lines_end_by_the_time_out(host: Host, text: str) -> None:
    host.shell(text, timeout_us=SECOND_US)
    until(lambda: bool(host.said))
    assert host.said[0].startswith("reporter elim: silent: no whole line for 1 s")
    until(lambda: not host.processes())


def test_a_fork_bomb_is_bounded_and_killed_whole(host: Host) -> None:
    bomb = (
        "import os, time\n"
        "for _ in range(300):\n"
        "    try:\n"
        "        if os.fork() == 0: os.setsid(); time.sleep(600)\n"
        "    except OSError: pass\n"
        "time.sleep(600)\n"
    )
    host.python(bomb, timeout_us=60 * SECOND_US)
    until(lambda: bool(host.said))
    assert host.said[0].startswith("reporter elim: forks: more than 32 processes")
    until(lambda: not host.processes())


def test_a_bomb_of_bombs_is_killed_whole(host: Host) -> None:
    """Each process forks without end; 2,000 forks in all are the test's own fuse."""
    fuse = host.folder / "fuse"
    fuse.write_bytes(b"")
    bomb = (
        "import os, sys\n"
        "fuse = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND)\n"
        "while os.fstat(fuse).st_size < 2000:\n"
        "    os.write(fuse, b'x')\n"
        "    try: os.fork()\n"
        "    except OSError: pass\n"
        "import time; time.sleep(600)\n"
    )
    host.run([sys.executable, "-c", bomb, host.mark, str(fuse)], timeout_us=60 * SECOND_US)
    until(lambda: bool(host.said))
    assert host.said[0].startswith("reporter elim: forks: more than 32 processes")
    until(lambda: not host.processes())


def test_what_left_its_parent_and_its_session_is_killed_too(host: Host) -> None:
    text = f"(setsid sh -c 'sleep 600; :' {host.mark} &) ; exit 1"
    host.shell(text)
    until(lambda: bool(host.said))
    until(lambda: not host.processes())


def test_a_reporter_that_eats_memory_fails_by_itself(host: Host) -> None:
    host.python("x = bytearray(3 << 30)", timeout_us=60 * SECOND_US)
    until(lambda: bool(host.said))
    assert "exited: it ended with code 1" in host.said[0]


def test_stopping_takes_the_programs_along(host: Host) -> None:
    reporting = Reporting(host.board, host.said.append)
    text = "trap '' TERM; while :; do echo 1 seats 4; sleep 0.2; done"
    reporter = Reporter(name="elim", command=("/bin/sh", "-c", text, host.mark))
    other = Reporter(name="other", command=("/bin/false",), hosts=("n2",))
    reporting.start("n1", (reporter, other), 0)
    until(lambda: host.values() == {"seats": 4})
    reporting.stop(10.0)
    assert host.processes() == []
    assert host.said == []

"""The agent's side of its reporters: each is started again when it fails, ever more slowly.

A thread per reporter reads what its keeper passes on. A fault is told once per kind, until the
reporter has worked again for a while; the pause before the next start doubles up to a cap and
begins anew after a life that was long and good. A reporter that does not apply to this host is
never started again. Nothing of a reporter can stop the agent or make it wait.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from xce.agent.reporters.board import Board
from xce.agent.reporters.keeper import DOES_NOT_APPLY, GONE_S, STOPPED
from xce.agent.settings import Reporter

BOOT = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from xce.agent.reporters.keeper import main; sys.exit(main(sys.argv[2]))"
)
PASSED_ON = ("PATH", "LANG", "TZ", "HOME")
LINE_MAX = 64 << 10
PAUSE_FIRST_S, PAUSE_CAP_S = 1.0, 300.0
STEADY_S = 60.0
LOST = "lost"
SECOND_US = 1_000_000


def _package_root() -> str:
    here = os.path.abspath(__file__)
    for _ in range(4):
        here = os.path.dirname(here)
    return here


class Watch:
    """One reporter of one host. `say` takes lines for the agent's log."""

    def __init__(
        self,
        reporter: Reporter,
        host: str,
        board: Board,
        say: Callable[[str], None],
        pauses: tuple[float, float] = (PAUSE_FIRST_S, PAUSE_CAP_S),
    ) -> None:
        self._reporter = reporter
        self._host = host
        self._board = board
        self._say = say
        self._first_s, self._cap_s = pauses
        self._told: dict[str, None] = {}
        self.lives = 0

    def run(self, stop: threading.Event) -> None:
        """Keep it running until told to stop, or until it says that it does not apply here."""
        pause_s = self._first_s
        while not stop.is_set():
            began_s = time.monotonic()
            self.lives += 1
            try:
                good, kind, text = self._live(stop)
            except (OSError, ValueError) as error:
                good, kind, text = False, LOST, f"its keeper: {error}"
            if kind == DOES_NOT_APPLY:
                self._say(f"reporter {self._reporter.name}: {text}; it is not started again")
                return
            if stop.is_set() or kind == STOPPED:
                return
            if good and time.monotonic() - began_s > STEADY_S:
                pause_s = self._first_s
                self._told.clear()
            if kind not in self._told:
                self._told[kind] = None
                again = f"it is started again in {pause_s:g} s"
                self._say(f"reporter {self._reporter.name}: {kind}: {text}; {again}")
            stop.wait(pause_s)
            pause_s = min(self._cap_s, 2 * pause_s)

    def _live(self, stop: threading.Event) -> tuple[bool, str, str]:
        """One life: whether any sample was good, and how it ended."""
        keeper = self._start()
        threading.Thread(target=_end_with, args=(keeper, stop), daemon=True).start()
        good, end = False, (LOST, "its keeper is gone")
        try:
            for told in _lines(keeper):
                if "fault" in told:
                    end = (str(told["fault"]), str(told["text"]))
                    continue
                self._take(told["values"])
                good = True
        finally:
            _take_down(keeper)
        return good, *end

    def _start(self) -> subprocess.Popen[bytes]:
        reporter = self._reporter
        timeout_us = reporter.timeout_us or 3 * reporter.interval_us
        order = {
            "command": list(reporter.command),
            "interval_s": reporter.interval_us / SECOND_US,
            "timeout_s": timeout_us / SECOND_US,
            "parent": os.getpid(),
        }
        env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        env |= {
            "LSF_RESOURCES": " ".join(reporter.types),
            "LSF_MASTER": "N",
            "XCE_HOST": self._host,
            "XCE_INTERVAL": f"{order['interval_s']:g}",
        }
        return subprocess.Popen(
            [sys.executable, "-c", BOOT, _package_root(), json.dumps(order)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            start_new_session=True,
        )

    def _take(self, values: dict[str, Any]) -> None:
        known = self._reporter.types
        mine = {name: one for name, one in values.items() if not known or name in known}
        self._board.put(self._reporter.name, mine)
        strange = sorted(values.keys() - mine.keys())
        if strange and "undeclared" not in self._told:
            self._told["undeclared"] = None
            said = f"it tells {', '.join(strange[:3])}, which it was not declared to"
            self._say(f"reporter {self._reporter.name}: {said}; that is left out")


def _lines(keeper: "subprocess.Popen[bytes]") -> Iterator[dict[str, Any]]:
    assert keeper.stdout is not None
    while line := keeper.stdout.readline(LINE_MAX):
        yield json.loads(line)


def _take_down(keeper: "subprocess.Popen[bytes]") -> None:
    """The keeper ends and takes its program along; one that cannot is killed."""
    keeper.terminate()
    try:
        keeper.wait(GONE_S + 1)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()
    if keeper.stdout is not None:
        keeper.stdout.close()


def _end_with(keeper: "subprocess.Popen[bytes]", stop: threading.Event) -> None:
    """Tell the keeper when the agent is told to stop; it takes its program along."""
    while keeper.poll() is None:
        if stop.wait(0.5):
            keeper.terminate()
            return


class Reporting:
    """All that this host reports: threads that fill the board."""

    def __init__(self, board: Board, say: Callable[[str], None]) -> None:
        self._board = board
        self._say = say
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, host: str, reporters: tuple[Reporter, ...], load_interval_us: int) -> None:
        """Begin to sample and to run the reporters that this host has."""
        if load_interval_us:
            # Read late: an agent without load indices does without the library.
            from xce.agent.reporters.load import LoadSampler

            sampler = LoadSampler(self._board, load_interval_us / SECOND_US)
            self._begin("load", sampler.run)
        for reporter in reporters:
            if reporter.runs_on(host):
                watch = Watch(reporter, host, self._board, self._say)
                self._begin(reporter.name, watch.run)

    def _begin(self, name: str, run: Callable[[threading.Event], None]) -> None:
        thread = threading.Thread(target=run, args=(self._stop,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self, wait_s: float) -> None:
        """End all programs; waits until they are gone, at most so long."""
        self._stop.set()
        end_s = time.monotonic() + wait_s
        for thread in self._threads:
            thread.join(max(0.0, end_s - time.monotonic()))

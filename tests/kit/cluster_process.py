"""A cluster of processes for tests: `xce up`, or its parts started one by one.

XCE_TEST_PARTS says which: `together` (the default) or `apart`. Apart, what a test starts as
`xce up` is this program with the same options: an `xce controller`, and an `xce agent` for each
host, which has a home of its own beside the controller's and knows an URL and a token file. It
says "up at" when all hosts are UP. SIGINT and SIGTERM end the agents with their jobs, then the
controller; its exit code is the first of theirs that is not 0. Killed hard, it takes controller
and agents with it, while jobs go on; the next one finds them. Run by its path; it must not import
from `tests`.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import IO

from xce.agent.supervisor import kernel
from xce.ops.home import AGENT_TOKEN_FILE, default_home
from xce.ops.talk import NobodyThere, Said, ask
from xce.ops.up import plan_for, site_for

TOGETHER, APART = "together", "apart"
LOOK_S, JOIN_S, STOP_S = 0.02, 30.0, 75.0
_URL = re.compile(r"up at (http://[^ ,]+)")


def parts() -> str:
    """How this run of the tests starts clusters."""
    said = os.environ.get("XCE_TEST_PARTS") or TOGETHER
    if said not in (TOGETHER, APART):
        raise ValueError(f"XCE_TEST_PARTS={said}: it is {TOGETHER} or {APART}")
    return said


def xce_words(*arguments: object) -> list[str]:
    """The command line of `xce`."""
    return [sys.executable, "-m", "xce.ops.main", *map(str, arguments)]


def cluster_words(*arguments: object, how: str = "") -> list[str]:
    """The command line that runs a cluster, with the options of `xce up`."""
    if (how or parts()) == TOGETHER:
        return xce_words("up", *arguments)
    return [sys.executable, "-P", str(Path(__file__).resolve()), *map(str, arguments)]


def agent_words(host: str, home: Path, url: str, *more: object) -> list[str]:
    """What follows `xce` to run one agent."""
    words = ["agent", "--host", host, "--home", home, "--controller", url, *more]
    return [str(word) for word in words]


class Parts:
    """A controller and its agents, each started by its own command."""

    def __init__(self, home: Path, options: list[str], *, allow_root: bool) -> None:
        self._home = home
        self._root = ["--allow-root"] if allow_root else []
        words = xce_words("controller", "--home", home, *self._root, *options)
        self.controller = self._start(words, subprocess.PIPE)
        self.agents: list[subprocess.Popen[str]] = []

    def _start(self, words: list[str], err: int | None = None) -> "subprocess.Popen[str]":
        end_with = partial(kernel.die_with_parent, os.getpid(), signal.SIGKILL)
        return subprocess.Popen(
            words,
            stderr=err,
            text=True,
            start_new_session=True,
            preexec_fn=end_with,  # noqa: PLW1509  one call of prctl, no lock
        )

    def begin(self, cluster: Path | None) -> str:
        """Start the agents when the controller serves; what it said, "" when it ended instead."""
        assert self.controller.stderr is not None
        for line in self.controller.stderr:
            if found := _URL.search(line):
                relay = threading.Thread(target=_relay, args=(self.controller.stderr,), daemon=True)
                self._join(found[1], cluster)
                relay.start()
                return line
            sys.stderr.write(line)
        return ""

    def _join(self, url: str, cluster: Path | None) -> None:
        home, token = self._home, self._home.resolve() / AGENT_TOKEN_FILE
        kept = home / "xce.toml"
        site = ["--cluster", str(cluster or kept)] if cluster or kept.exists() else []
        hosts = plan_for(home, site_for(home, cluster)).hosts
        for host in hosts:
            own = home.with_name(f"{home.name}.{host}")
            more = ("--token-file", token, "--on-leave", "stop", *self._root, *site)
            self.agents.append(self._start(xce_words(*agent_words(host, own, url, *more))))
        end_s = time.monotonic() + JOIN_S
        while _up(home) < set(hosts) and not self.ended():
            if time.monotonic() > end_s:
                raise SystemExit(f"hosts did not join: {set(hosts) - _up(home)}")
            time.sleep(LOOK_S)

    def ended(self) -> bool:
        """Whether a part is gone."""
        return any(one.poll() is not None for one in (self.controller, *self.agents))

    def stop(self) -> int:
        """End the agents, then the controller; the exit code. A controller that is gone cannot
        hear how jobs end: then they go on."""
        gone = self.controller.poll() is not None
        for agent in self.agents:
            agent.send_signal(signal.SIGKILL if gone else signal.SIGTERM)
        codes = [agent.wait(STOP_S) for agent in self.agents]
        self.controller.terminate()
        codes.insert(0, self.controller.wait(STOP_S))
        return next((code for code in codes if code), 0)


def _relay(source: IO[str]) -> None:
    for line in source:
        sys.stderr.write(line)
        sys.stderr.flush()


def _up(home: Path) -> set[str]:
    try:
        told = ask(home, "GET", "/v1/hosts")["items"]
    except (NobodyThere, Said):
        return set()
    return {one["name"] for one in told if one["liveness"] == "UP"}


def main() -> int:
    """Run until told to stop; the exit code."""
    reader = argparse.ArgumentParser(allow_abbrev=False)
    reader.add_argument("--home", type=Path, default=default_home())
    reader.add_argument("--cluster", type=Path)
    reader.add_argument("--allow-root", action="store_true")
    given, options = reader.parse_known_args()
    if given.cluster:
        options += ["--cluster", str(given.cluster)]
    told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: told.set())
    running = Parts(given.home, options, allow_root=given.allow_root)
    sys.stderr.write(running.begin(given.cluster))
    sys.stderr.flush()
    while not running.ended() and not told.wait(LOOK_S):
        continue
    return running.stop()


if __name__ == "__main__":
    sys.exit(main())

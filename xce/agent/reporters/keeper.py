"""One life of a reporter program, kept in a process of its own: `keeper.main(order)`.

The keeper starts the program in a session of its own with bounds on its memory and files, reads
what it writes, and passes good samples on as JSON lines. Whatever goes wrong ends this life: the
whole process tree is killed (the keeper is a subreaper, so nothing gets away by losing its
parent), one line says what it was, and the keeper ends. It trusts nothing of the program: a line
has a greatest length, output a greatest rate, silence a limit, processes a greatest number and
the processor a share. When the agent dies the keeper is told so by the kernel and does the same.

Standard library and the supervisor's small files only: a keeper is started for each reporter.
"""

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

from xce.agent.reporters import bounds
from xce.agent.reporters.lines import LineWrong, Values, read_line
from xce.agent.supervisor import kernel
from xce.agent.supervisor.processes.cgroup import Group
from xce.agent.supervisor.processes.tree import COOKIE, Tree

LINE_MAX = 64 << 10
READ_MAX = 64 << 10
FLOOD_BYTES = 256 << 10
PROCESSES_MAX = 32
BUSY_WINDOW_S, BUSY_PART = 20.0, 0.5
LOOK_S = 0.1
GONE_S = 5.0
MEMORY_BYTES = 1 << 30
FILES = 256
NICE = 10
NOT_HERE = 97
"""The exit code by which an ELIM says that it has nothing to do on this host."""

EXITED, SILENT, GARBAGE, LINE, FLOOD, FORKS, BUSY, NOT_STARTED, DOES_NOT_APPLY, STOPPED = (
    "exited",
    "silent",
    "garbage",
    "long_line",
    "flood",
    "forks",
    "busy",
    "not_started",
    "not_here",
    "stopped",
)


class Ended(Exception):
    """This life is over."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind, self.text = kind, text


class Keeper:
    """Keeps one program."""

    def __init__(self, command: list[str], interval_s: float, timeout_s: float) -> None:
        self._command = command
        self._interval_s = max(1.0, interval_s)
        self._timeout_s = timeout_s
        self._tree = Tree(f"reporter-{os.getpid()}", Group())
        self._own = os.getpid()
        self._bound = ""
        self._pid = 0
        self._pipe = -1
        self._rest = b""
        self._told = False
        self._window = (0.0, 0)
        self._busy = (0.0, 0.0)
        self._status: int | None = None

    def run(self) -> Ended:
        """Keep it until its end; says which."""
        try:
            self._start()
            self._good_s = time.monotonic()
            while True:
                self._turn()
        except Ended as ended:
            found = ended
        self._kill()
        if self._bound:
            bounds.remove(self._bound)
        return found

    def stop(self, *_: object) -> None:
        """The agent is gone or wants this to end."""
        raise Ended(STOPPED, "it was told to stop")

    def _start(self) -> None:
        self._bound = bounds.make_group(f"{self._own}", PROCESSES_MAX * 2)
        read, write = os.pipe2(os.O_CLOEXEC)
        ready, failed = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if self._pid == 0:
            self._exec(write, failed)
        for handle in (write, failed):
            os.close(handle)
        self._tree.add_main(self._pid)
        os.set_blocking(read, False)
        self._pipe = read
        said = os.read(ready, 200).decode(errors="replace")
        os.close(ready)
        if said:
            raise Ended(NOT_STARTED, f"{self._command[0]}: {said}")

    def _exec(self, write: int, failed: int) -> None:
        """In the child; never returns."""
        try:
            os.setsid()
            kernel.die_with_parent(self._own)
            if self._bound:
                bounds.join(self._bound)
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(write, 1)
            os.dup2(null, 2)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
            os.nice(NICE)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            env = {**os.environ, COOKIE: self._tree.cookie}
            os.execvpe(self._command[0], self._command, env)
        except OSError as error:
            os.write(failed, (error.strerror or "cannot be started").encode())
        finally:
            os._exit(127)

    # -- one turn ----------------------------------------------------------------------------

    def _turn(self) -> None:
        select.select([self._pipe], [], [], LOOK_S)
        newest = self._read()
        if newest is not None:
            self._good_s = time.monotonic()
            say({"values": newest})
        self._reap()
        self._judge(time.monotonic())
        # What it writes faster than this waits in its own pipe, and so does it.
        time.sleep(LOOK_S / 2)

    def _read(self) -> Values | None:
        """The newest good sample of what came in, if any did."""
        try:
            chunk = os.read(self._pipe, READ_MAX)
        except BlockingIOError:
            return None
        self._count(len(chunk))
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        if max(map(len, [*whole, self._rest])) > LINE_MAX:
            raise Ended(LINE, f"a line is longer than {LINE_MAX} bytes")
        newest: Values | None = None
        for line in whole:
            try:
                found = read_line(line)
            except LineWrong as error:
                raise Ended(GARBAGE, str(error)) from None
            newest = {**(newest or {}), **found} if found is not None else newest
        return newest

    def _count(self, size: int) -> None:
        now_s = time.monotonic()
        since_s, total = self._window
        if now_s - since_s > self._interval_s:
            since_s, total = now_s, 0
        self._window = (since_s, total + size)
        if total + size > FLOOD_BYTES:
            raise Ended(FLOOD, f"more than {FLOOD_BYTES >> 10} KB in {self._interval_s:.0f} s")

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == self._pid:
                    self._status = os.waitstatus_to_exitcode(found[1])
                    self._tree.mains.discard(self._pid)

    def _judge(self, now_s: float) -> None:
        if self._status == NOT_HERE:
            raise Ended(DOES_NOT_APPLY, "it does not apply to this host")
        if self._status is not None:
            how = f"code {self._status}" if self._status >= 0 else f"signal {-self._status}"
            raise Ended(EXITED, f"it ended with {how}")
        if now_s - self._good_s > self._timeout_s:
            raise Ended(SILENT, f"no whole line for {self._timeout_s:g} s")
        members = self._tree.members(set())
        if len(members) > PROCESSES_MAX:
            raise Ended(FORKS, f"more than {PROCESSES_MAX} processes")
        self._judge_busy(now_s, [pid for pid, _ in members])

    def _judge_busy(self, now_s: float, members: list[int]) -> None:
        since_s, used_s = self._busy
        if since_s and now_s - since_s < BUSY_WINDOW_S:
            return
        now_used_s = sum(map(cpu_s, members))
        if since_s and now_used_s - used_s > BUSY_PART * (now_s - since_s):
            raise Ended(BUSY, f"more than {BUSY_PART:.0%} of a processor for {BUSY_WINDOW_S:.0f} s")
        self._busy = (now_s, now_used_s)

    def _kill(self) -> None:
        """Nothing of it is left, or the time for that is over."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_s = time.monotonic() + GONE_S
        while time.monotonic() < end_s:
            self._tree.kill(set())
            self._reap()
            if self._tree.is_empty(set()):
                return
            time.sleep(0.01)


def cpu_s(pid: int) -> float:
    """Processor time of a process and of its children that ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as source:
            words = source.read().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")


def say(what: dict[str, Any]) -> None:
    """One line for the agent."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main(order: str) -> int:
    """Keep the program that the order names until its end."""
    told = json.loads(order)
    kernel.become_subreaper()
    kernel.die_with_parent(told["parent"], signal.SIGTERM)
    keeper = Keeper(told["command"], told["interval_s"], told["timeout_s"])
    signal.signal(signal.SIGTERM, keeper.stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ended = keeper.run()
        say({"fault": ended.kind, "text": ended.text})
    except BrokenPipeError:
        # The agent has gone; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0

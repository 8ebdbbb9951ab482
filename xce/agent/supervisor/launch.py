"""One launch while it lives: its processes, its state, and how its end is told.

States: PREPARING (children get ready), ARMED (all parked), RUNNING (let go), STOPPING (asked or
failed; TERM was sent), CLEANING (mains gone, the rest of the tree is being killed), ENDED. The
first process that fails gives the launch its exit. This module decides nothing about order or
durability: `core` does.
"""

import os
import resource
import signal
from enum import StrEnum
from typing import Any

from xce.agent.supervisor.processes.tree import Tree
from xce.agent.supervisor.spawn import Process

CAUSES = ("killed", "stopped", "oom", "run_limit", "deadline", "lease")


class LaunchState(StrEnum):
    """How far a launch is. The values of the first four are told to the agent."""

    PREPARING = "preparing"
    ARMED = "armed"
    RUNNING = "running"
    STOPPING = "stopping"
    CLEANING = "cleaning"
    ENDED = "ended"


TOLD_AS = {LaunchState.CLEANING: "stopping"}


def cause_of(reason: str) -> str:
    """The cause that a stop reason stands for: a known one, a user's kill, else `stopped`."""
    if reason in CAUSES:
        return reason
    return "killed" if reason in ("", "user", "kill") else "stopped"


class Launch:
    """A live launch."""

    def __init__(self, launch: int, generation: int, tree: Tree) -> None:
        self.launch = launch
        self.generation = generation
        self.tree = tree
        self.state = LaunchState.PREPARING
        self.processes: list[Process] = []
        self.wants_go = False
        self.go_env: dict[str, str] = {}
        self.started_us = 0
        self.stop_reason = ""
        self.cause = ""
        self.message = ""
        self.kill_at_s = 0.0
        self.grace_s = 10.0
        self.stop_signal = int(signal.SIGTERM)
        self.limit_s = 0.0
        self.terminate_us = 0
        self.let_go_s = 0.0
        self.lease_s = self.lease_grace_s = 0.0
        self.stuck_after_s = 30.0
        self.killed_at_s = 0.0
        self.is_stuck = False
        self.ready_port = 0
        self.paths: list[str] = []
        self.clean_tries = 0
        self.freeze = 0
        self.frozen = 0
        self.freeze_tries = 0
        self.frozen_since_s = 0.0
        self.stopped_s = 0.0
        self.is_recovered = False
        self._first_failure: Process | None = None
        self._cpu_us = 0
        self._rss_bytes = 0

    @property
    def was_started(self) -> bool:
        """Whether `started` is in the journal."""
        return self.started_us > 0

    @property
    def is_frozen(self) -> bool:
        """Whether its processes are to stand still, and do or are about to."""
        return self.freeze % 2 == 1 and self.was_started

    @property
    def is_parked(self) -> bool:
        """Whether every process waits for the go."""
        return all(process.is_parked for process in self.processes)

    def take_limits(self, task: dict[str, Any]) -> None:
        """What the task says of its time and readiness."""
        self.grace_s = task["kill_grace_us"] / 1e6
        self.limit_s = task["run_limit_us"] / 1e6
        # An agent of before says no termination time and no signal.
        self.stop_signal = signal_number(task.get("stop_signal", "")) or int(signal.SIGTERM)
        self.terminate_us = task.get("terminate_us", 0)
        self.ready_port = task["ready_port"]
        # An agent of before says neither of these.
        self.lease_s, self.lease_grace_s = task.get("lease_us", 0) / 1e6, self.grace_s
        self.stuck_after_s = task.get("unkillable_after_us", 30_000_000) / 1e6

    def limits(self, now_s: float, now_us: int) -> list[tuple[float, str]]:
        """The moments (of the boot-time clock) at which it is over a limit, and which one. The
        termination time is a time of day: where the wall clock is set, it moves with it."""
        found = []
        if self.limit_s > 0 and not self.frozen_since_s:
            found.append((self.let_go_s + self.limit_s + self.stopped_s, "run_limit"))
        if self.terminate_us > 0:
            found.append((now_s + (self.terminate_us - now_us) / 1e6, "deadline"))
        return sorted(found)

    def told(self) -> dict[str, Any]:
        """The launch as it is told to the agent."""
        return {
            "launch": self.launch,
            "generation": self.generation,
            "state": TOLD_AS.get(self.state, str(self.state)),
            "at_us": self.started_us,
            "ready_port": self.ready_port,
            "frozen": self.frozen,
        }

    def took_exit(self, pid: int, status: int, usage: resource.struct_rusage) -> None:
        """A main process was reaped."""
        self.tree.mains.discard(pid)
        self._cpu_us += int((usage.ru_utime + usage.ru_stime) * 1_000_000)
        self._rss_bytes = max(self._rss_bytes, usage.ru_maxrss * 1024)
        for process in self.processes:
            if process.pid == pid:
                process.hear()
                process.status = status
                process.close()
                if status != 0 and self._first_failure is None:
                    self._first_failure = process

    @property
    def has_failed(self) -> bool:
        """Whether a main process ended badly."""
        return self._first_failure is not None

    @property
    def is_own_fault(self) -> bool:
        """Whether what a child complained about is the task's own fault."""
        return any(one.is_own_fault for one in self.processes)

    @property
    def complaint(self) -> str:
        """What a child said that could not get ready, "" when none did."""
        return next((one.complaint for one in self.processes if one.complaint), "")

    def outcome(self, ended_us: int) -> dict[str, Any]:
        """The end of this launch, as it is journalled and told."""
        how, code = self._how()
        return {
            "how": how,
            "code": code,
            "cause": self._cause(how),
            "message": self.message,
            "ran": "yes" if self.was_started else "no",
            "started_us": self.started_us,
            "ended_us": ended_us,
            "cpu_us": self._cpu_us,
            "max_rss_bytes": self._rss_bytes,
        }

    def _how(self) -> tuple[str, int]:
        if not self.was_started:
            return "aborted", 0
        if self.is_recovered:
            return "lost", 0
        failed = self._first_failure
        if failed is None or failed.status is None:
            return "exited", 0
        if os.WIFSIGNALED(failed.status):
            return "signalled", os.WTERMSIG(failed.status)
        return "exited", os.WEXITSTATUS(failed.status)

    def _cause(self, how: str) -> str:
        if self.cause or how == "aborted":
            return self.cause
        if self.has_failed and self.tree.group.oom_kills() > 0:
            return "oom"
        return ""


def signal_number(name: str) -> int:
    """`USR1`, `SIGUSR1` or `10` as a number; 0 when there is no such signal."""
    if name.isdigit():
        return int(name) if int(name) in signal.valid_signals() else 0
    text = name.upper() if name.upper().startswith("SIG") else f"SIG{name.upper()}"
    found = signal.Signals.__members__.get(text)
    return int(found) if found else 0


def unstarted(cause: str, message: str, ended_us: int) -> dict[str, Any]:
    """The outcome of a launch that never ran."""
    return _plain("aborted", cause, message, "no", ended_us)


def lost(cause: str, message: str, ran: str, ended_us: int, started_us: int) -> dict[str, Any]:
    """The outcome of a launch that is gone and whose exit nobody saw."""
    return {**_plain("lost", cause, message, ran, ended_us), "started_us": started_us}


def _plain(how: str, cause: str, message: str, ran: str, ended_us: int) -> dict[str, Any]:
    return {
        "how": how,
        "code": 0,
        "cause": cause,
        "message": message,
        "ran": ran,
        "started_us": 0,
        "ended_us": ended_us,
        "cpu_us": 0,
        "max_rss_bytes": 0,
    }

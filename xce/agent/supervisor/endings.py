"""The live launches of a host and how they end.

A launch ends when its main processes are gone *and* nothing of its tree is left; only then is its
outcome noted, and only after the commit is it told. Running work is asked first (TERM), killed
when its grace is over; what is only parked is killed at once. What cannot be killed stays live and
is tried again for ever: its holdings must not be given to others.

`after` collects what follows a commit; `wakes` when to look at a launch again.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable

from xce import crashpoint
from xce.agent.supervisor.kernel import clock_s
from xce.agent.supervisor.launch import Launch, LaunchState
from xce.agent.supervisor.ledger import Ledger
from xce.agent.supervisor.wire import Message

PREPARING, ARMED, RUNNING = LaunchState.PREPARING, LaunchState.ARMED, LaunchState.RUNNING
STOPPING, CLEANING, ENDED = LaunchState.STOPPING, LaunchState.CLEANING, LaunchState.ENDED
CLEAN_FIRST_S, CLEAN_MAX_S = 0.002, 0.5
LOOK_S = 0.02
LIMIT_LOOK_S = 60.0
"""A termination time is looked at again at least this often: the wall clock may be set."""


def now_us() -> int:
    """Wall time in microseconds, for people and records."""
    return time.time_ns() // 1000


class Endings:
    """All live launches. `tell` sends an event to the agent, if one is connected."""

    def __init__(self, ledger: Ledger, tell: Callable[[Message], None]) -> None:
        self.ledger = ledger
        self.live: dict[int, Launch] = {}
        self.after: list[Callable[[], None]] = []
        self.wakes: list[tuple[float, int]] = []
        self.tell = tell
        self._by_pid: dict[int, Launch] = {}

    def add_main(self, live: Launch, pid: int) -> None:
        """A main process was forked."""
        live.tree.add_main(pid)
        self._by_pid[pid] = live

    def take_over(self, live: Launch) -> None:
        """A launch that an earlier supervisor left unfinished: end what is left of it."""
        self.live[live.launch] = live
        live.state = CLEANING
        live.tree.kill(set())
        self.settle(live)

    def give_up(self, live: Launch, why: str, *, own_fault: bool = False) -> None:
        """The launch cannot be prepared: by its own fault nowhere, else not here and now."""
        live.cause, live.message = "bad_task" if own_fault else "prepare_failed", why
        self.bring_down(live)

    def bring_down(self, live: Launch) -> None:
        """End the launch: gently what runs, at once what is only parked."""
        if live.was_started and live.tree.mains:
            live.state = STOPPING
            live.kill_at_s = clock_s() + live.grace_s
            live.tree.signal(signal.SIGTERM, self.others(live))
            live.tree.signal(signal.SIGCONT, self.others(live))
            self.wake(live, LOOK_S)
        else:
            live.state = CLEANING
            live.tree.kill(self.others(live))
            self.settle(live)

    def reap(self) -> None:
        """Take the exits of all children, adopted ones as well."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            live = self._by_pid.pop(pid, None)
            if live is not None:
                live.took_exit(pid, status, usage)
                self._after_exit(live)

    def _after_exit(self, live: Launch) -> None:
        if live.state in (PREPARING, ARMED):
            why = live.complaint or "a parked process was killed from outside"
            self.give_up(live, why, own_fault=live.is_own_fault)
        elif live.state == RUNNING and live.tree.mains and live.has_failed:
            self.bring_down(live)
        else:
            self.settle(live)

    def settle(self, live: Launch) -> None:
        """Bring what has no main processes any more to its end."""
        if live.state == ENDED or live.tree.mains:
            return
        others = self.others(live)
        if not live.tree.is_empty(others):
            if live.state == STOPPING and clock_s() < live.kill_at_s:
                self.wake(live, LOOK_S)
                return
            live.state = CLEANING
            live.tree.kill(others)
            if not live.tree.is_empty(others):
                live.clean_tries += 1
                self.wake(live, min(CLEAN_MAX_S, CLEAN_FIRST_S * 2**live.clean_tries))
                return
        if live.state == RUNNING and not live.processes and not live.cause:
            return
        self._finish(live)

    def _finish(self, live: Launch) -> None:
        outcome = live.outcome(now_us())
        live.state = ENDED
        self.ledger.note_exited(live.launch, live.generation, outcome)
        self.after.append(lambda: self._forget(live))

    def _forget(self, live: Launch) -> None:
        crashpoint.reach("launch.after_exited")
        self.live.pop(live.launch, None)
        for process in live.processes:
            process.close()
        for path in live.paths:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        live.tree.group.remove()
        self.tell_end(live.launch)

    def wake(self, live: Launch, delay_s: float) -> None:
        """Look at the launch again after a while."""
        self.wakes.append((clock_s() + delay_s, live.launch))

    def next_wake_s(self) -> float | None:
        """Seconds until `tick` has something to do; None when it has nothing."""
        if not self.wakes:
            return None
        return max(0.0, min(due for due, _ in self.wakes) - clock_s())

    def tick(self) -> None:
        """Look again at launches on their way down."""
        now_s = clock_s()
        due = {launch for at_s, launch in self.wakes if at_s <= now_s}
        if not due:
            return
        self.wakes = [wake for wake in self.wakes if wake[0] > now_s and wake[1] not in due]
        for launch in sorted(due):
            live = self.live.get(launch)
            if live is not None and live.state in (RUNNING, STOPPING, CLEANING):
                self._look_down(live, now_s)

    def _look_down(self, live: Launch, now_s: float) -> None:
        """Go on with a launch on its way down, or bring down one that is over its limit."""
        if live.state == RUNNING:
            if live.tree.mains:
                self.watch_limits(live)
            return
        if live.tree.mains and (live.state == CLEANING or now_s >= live.kill_at_s):
            live.state = CLEANING
            live.tree.kill(self.others(live))
        if live.tree.mains:
            left_s = live.kill_at_s - now_s if live.state == STOPPING else CLEAN_MAX_S
            self.wake(live, max(CLEAN_FIRST_S, left_s))
        self.settle(live)

    def watch_limits(self, live: Launch) -> None:
        """Bring down what is over a limit; look at the rest again when its next one is due."""
        now_s = clock_s()
        limits = live.limits(now_s, now_us())
        if limits and limits[0][0] <= now_s:
            live.cause = limits[0][1]
            self.bring_down(live)
        elif limits:
            self.wake(live, min(limits[0][0] - now_s, LIMIT_LOOK_S))

    def others(self, live: Launch) -> set[int]:
        """Main processes of all other launches."""
        return {pid for pid, owner in self._by_pid.items() if owner is not live}

    def tell_end(self, launch: int) -> None:
        """Tell an outcome; what has none yet is told when it has."""
        page = self.ledger.pages.get(launch)
        if page is not None and page.outcome is not None:
            told = {"event": "ended", "launch": launch, "generation": page.generation}
            self.tell({**told, **page.outcome})

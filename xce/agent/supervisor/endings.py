"""The live launches of a host and how they end.

A launch ends when its main processes are gone *and* nothing of its tree is left; only then is its
outcome noted, and only after the commit is it told. Running work is asked first (TERM), killed
when its grace is over; what is only parked is killed at once. What cannot be killed stays live, is
told of, and is tried again for ever: its holdings must not be given to others.

Work with a lease is brought down when the agent was not answered for so long: `renewed_s` is when
it last sent a poll that was, by the clock that runs since boot. Nothing of it is let go later.

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
UNASKED = (PREPARING, ARMED, RUNNING)
LEASED = (*UNASKED, STOPPING)
CLEAN_FIRST_S, CLEAN_MAX_S = 0.002, 0.5
LOOK_S = 0.02
LIMIT_LOOK_S = 60.0
"""A termination time is looked at again at least this often: the wall clock may be set."""
PIDS_TOLD = 5
LEASE_LOOK_S = 1.0
"""Leases are looked at that often: waiting takes no notice of time that the machine slept."""


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
        self.renewed_s = 0.0
        self.leased: dict[int, Launch] = {}
        self.look_frozen: Callable[[Launch], None] = lambda live: None
        self._by_pid: dict[int, Launch] = {}

    def add(self, live: Launch) -> None:
        """A launch is about to be prepared."""
        self.live[live.launch] = live
        if live.lease_s > 0:
            self.leased[live.launch] = live

    def add_main(self, live: Launch, pid: int) -> None:
        """A main process was forked."""
        live.tree.add_main(pid)
        self._by_pid[pid] = live

    def take_over(self, live: Launch) -> None:
        """A launch that an earlier supervisor left unfinished: end what is left of it."""
        self.live[live.launch] = live
        self._kill(live)
        self.settle(live)

    def give_up(self, live: Launch, why: str, *, own_fault: bool = False) -> None:
        """The launch cannot be prepared: by its own fault nowhere, else not here and now."""
        live.cause, live.message = "bad_task" if own_fault else "prepare_failed", why
        self.bring_down(live)

    def is_over(self, live: Launch) -> bool:
        """Whether the launch's lease is over."""
        return live.lease_s > 0 and clock_s() >= self.renewed_s + live.lease_s

    def end_lease(self, live: Launch) -> None:
        """The host was cut off for too long: the launch is given up before others have it."""
        live.cause = "lease"
        live.message = f"the controller did not answer this host for {live.lease_s:g} s"
        live.grace_s = min(live.grace_s, live.lease_grace_s)
        self.bring_down(live)

    def _look_at_lease(self, live: Launch) -> None:
        """What was asked to stop before, and has a longer grace, has no more than the lease's."""
        if live.state in UNASKED and self.is_over(live):
            self.end_lease(live)
        elif live.state == STOPPING:
            latest_s = self.renewed_s + live.lease_s + live.lease_grace_s
            if latest_s < live.kill_at_s and self.is_over(live):
                live.kill_at_s = latest_s
                self.wake(live, max(0.0, latest_s - clock_s()))

    def bring_down(self, live: Launch) -> None:
        """End the launch: gently what runs, at once what is only parked, or frozen: others may
        have its room, so that it does not run again."""
        if live.was_started and live.tree.mains and not live.is_frozen:
            live.state = STOPPING
            live.kill_at_s = clock_s() + live.grace_s
            live.tree.signal(live.stop_signal, self.others(live))
            live.tree.signal(signal.SIGCONT, self.others(live))
            self.wake(live, LOOK_S)
        else:
            self._kill(live)
            if live.tree.mains:
                self.wake(live, CLEAN_MAX_S)
            self.settle(live)

    def _kill(self, live: Launch) -> None:
        live.state = CLEANING
        live.killed_at_s = live.killed_at_s or clock_s()
        live.tree.kill(self.others(live))

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
            self._kill(live)
            if not live.tree.is_empty(others):
                self._look_whether_stuck(live)
                live.clean_tries += 1
                self.wake(live, min(CLEAN_MAX_S, CLEAN_FIRST_S * 2**live.clean_tries))
                return
        if live.state == RUNNING and not live.processes and not live.cause:
            return
        self._finish(live)

    def _look_whether_stuck(self, live: Launch) -> None:
        """Tell of a launch that SIGKILL does not end, once and whenever an agent asks anew."""
        if live.is_stuck or clock_s() < live.killed_at_s + live.stuck_after_s:
            return
        live.is_stuck = True
        self.tell_stuck(live)

    def tell_stuck(self, live: Launch) -> None:
        """Tell which processes are left."""
        left = [str(pid) for pid, _ in live.tree.members(self.others(live))][:PIDS_TOLD]
        waited = f"{clock_s() - live.killed_at_s:.0f} s after SIGKILL"
        known = {"launch": live.launch, "generation": live.generation}
        message = f"process {', '.join(left)} is there {waited}" if left else f"not gone {waited}"
        self.tell({"event": "unkillable", **known, "message": message})

    def _finish(self, live: Launch) -> None:
        outcome = live.outcome(now_us())
        live.state = ENDED
        self.ledger.note_exited(live.launch, live.generation, outcome)
        self.after.append(lambda: self._forget(live))

    def _forget(self, live: Launch) -> None:
        crashpoint.reach("launch.after_exited")
        self.live.pop(live.launch, None)
        self.leased.pop(live.launch, None)
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
        now_s = clock_s()
        due = [max(0.0, at_s - now_s) for at_s, _ in self.wakes]
        due += [
            LEASE_LOOK_S if left_s <= 0 else min(LEASE_LOOK_S, left_s)
            for live in self.leased.values()
            if live.state in LEASED
            for left_s in (self.renewed_s + live.lease_s - now_s,)
        ]
        return min(due, default=None)

    def tick(self) -> None:
        """Look again at launches on their way down, and at leases."""
        now_s = clock_s()
        for leased in list(self.leased.values()):
            self._look_at_lease(leased)
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
            if live.state == RUNNING and live.is_frozen:
                self.look_frozen(live)
            return
        if live.tree.mains and (live.state == CLEANING or now_s >= live.kill_at_s):
            self._kill(live)
            self._look_whether_stuck(live)
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

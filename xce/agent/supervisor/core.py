"""What the supervisor does with requests, exits and time.

Everything that must be durable first is noted in the ledger, and what is to follow is put into
`after`; the loop commits once per turn and then runs `after`. So intent comes before the fork,
`started` before the go, and an outcome before anybody hears of it, whatever the order of events.
For one launch the highest target ever asked holds; every request may be repeated.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import ClassVar

from xce.agent import crashpoint
from xce.agent.supervisor.cgroup import Cgroups, Group
from xce.agent.supervisor.kernel import clock_s
from xce.agent.supervisor.launch import (
    Launch,
    LaunchState,
    cause_of,
    lost,
    signal_number,
    unstarted,
)
from xce.agent.supervisor.ledger import Ledger
from xce.agent.supervisor.spawn import Recipe, Unpreparable, fork_process
from xce.agent.supervisor.tree import Tree
from xce.agent.supervisor.wire import Message

PREPARING, ARMED, RUNNING = LaunchState.PREPARING, LaunchState.ARMED, LaunchState.RUNNING
STOPPING, CLEANING, ENDED = LaunchState.STOPPING, LaunchState.CLEANING, LaunchState.ENDED
CLEAN_FIRST_S, CLEAN_MAX_S = 0.002, 0.5


def now_us() -> int:
    """Wall time in microseconds, for people and records."""
    return time.time_ns() // 1000


class Core:
    """All launches of a host. `tell` sends an event to the agent, if one is connected."""

    def __init__(
        self,
        ledger: Ledger,
        cgroups: Cgroups,
        tell: Callable[[Message], None],
        *,
        script_folder: str,
        allow_root: bool,
    ) -> None:
        self.ledger = ledger
        self.cgroups = cgroups
        self.live: dict[int, Launch] = {}
        self.after: list[Callable[[], None]] = []
        self.wakes: list[tuple[float, int]] = []
        self._tell = tell
        self._script_folder = script_folder
        self._allow_root = allow_root
        self._by_pid: dict[int, Launch] = {}

    # --- requests -------------------------------------------------------------------------

    def handle(self, message: Message) -> None:
        """One request of the agent; its shape was checked."""
        self._ACTIONS[message["do"]](self, message)

    def _hello(self, _message: Message) -> None:
        self.after.append(self._list)

    def _list(self) -> None:
        ledger = self.ledger
        for page in ledger.unacked():
            self._tell_end(page.launch)
        self._tell(
            {
                "event": "listed",
                "epoch": ledger.epoch,
                "anchor_lsn": ledger.anchor[0],
                "anchor_hash": ledger.anchor[1],
                "host_key": ledger.host_key,
                "launches": [one.told() for one in self.live.values()],
            }
        )

    def _epoch(self, message: Message) -> None:
        self.ledger.note_epoch(message["epoch"])

    def _anchor(self, message: Message) -> None:
        self.ledger.note_anchor(message["lsn"], message["hash"])

    def _sync(self, message: Message) -> None:
        token = message["token"]
        self.after.append(lambda: self._tell({"event": "synced", "token": token}))

    def _ack(self, message: Message) -> None:
        at_us = now_us()
        for launch in message["launches"]:
            self.ledger.note_acked(launch, at_us)

    def _prepare(self, message: Message) -> None:
        if self._repeat(message["launch"]):
            return
        launch, generation = message["launch"], message["generation"]
        self.ledger.note_intent(launch, generation)
        name = f"{launch}.{generation}"
        cookie = f"{self.ledger.host_key}:{name}"
        live = Launch(launch, generation, Tree(cookie, Group()))
        live.take_limits(message["task"])
        self.live[launch] = live
        self.after.append(lambda: self._fork(live, message["task"], name))

    def _repeat(self, launch: int) -> bool:
        """Whether the launch is known; then what was told of it is told again."""
        if launch not in self.ledger.pages:
            return False
        live = self.live.get(launch)
        if live is None:
            self.after.append(lambda: self._tell_end(launch))
        elif live.state == ARMED:
            self.after.append(lambda: self._tell_armed(live))
        elif live.was_started:
            self.after.append(lambda: self._tell_started(live))
        return True

    def _go(self, message: Message) -> None:
        launch = message["launch"]
        if launch not in self.ledger.pages:
            if not message.get("task"):
                why = "the host has no trace of this launch"
                self._end_unknown(message, lost("", why, "unknown", now_us(), 0))
                return
            self._prepare(message)
        live = self.live.get(launch)
        if live is None or live.was_started or live.state not in (PREPARING, ARMED):
            self._repeat(launch)
            return
        live.wants_go, live.go_env = True, message["go_env"]
        if live.state == ARMED:
            self._start(live)

    def _stop(self, message: Message) -> None:
        launch = message["launch"]
        if launch not in self.ledger.pages:
            why = "wanted gone before it was prepared here"
            self._end_unknown(message, unstarted(cause_of(message["reason"]), why, now_us()))
            return
        live = self.live.get(launch)
        if live is None:
            self._repeat(launch)
        elif live.state in (PREPARING, ARMED, RUNNING):
            if "grace_us" in message:
                live.grace_s = message["grace_us"] / 1e6
            live.cause = cause_of(message["reason"])
            live.message = message["reason"]
            self._bring_down(live)

    def _end_unknown(self, message: Message, outcome: Message) -> None:
        launch = message["launch"]
        self.ledger.note_exited(launch, message["generation"], outcome)
        self.after.append(lambda: self._tell_end(launch))

    def _signal(self, message: Message) -> None:
        live = self.live.get(message["launch"])
        number = signal_number(message["name"])
        if live is None or live.state != RUNNING or not number:
            return
        if self.ledger.note_signal(live.launch, message["seq"]):
            self.after.append(lambda: live.tree.signal(number, self._others(live)))

    def stop_all(self, reason: str) -> None:
        """Bring everything down, as when the host is taken out of service."""
        for live in list(self.live.values()):
            self._stop({"launch": live.launch, "reason": reason})

    _ACTIONS: ClassVar[dict[str, Callable[["Core", Message], None]]] = {
        "hello": _hello,
        "epoch": _epoch,
        "anchor": _anchor,
        "sync": _sync,
        "ack": _ack,
        "prepare": _prepare,
        "go": _go,
        "stop": _stop,
        "signal": _signal,
    }

    def take_over(self, live: Launch) -> None:
        """A launch that an earlier supervisor left unfinished: end what is left of it."""
        self.live[live.launch] = live
        live.state = CLEANING
        live.tree.kill(set())
        self._settle(live)

    # --- up -------------------------------------------------------------------------------

    def _fork(self, live: Launch, task: Message, name: str) -> None:
        if live.state != PREPARING:
            return self._settle(live)
        try:
            if task["processes"] > 0:
                live.tree.group = self.cgroups.make(name, task["mem_bytes"])
            recipe = Recipe(task, live.tree.cookie, live.tree.group, allow_root=self._allow_root)
            if task["script"] and task["processes"] > 0:
                recipe.write_script(f"{self._script_folder}/{name}.sh")
                live.script_path = recipe.script_path
            for index in range(task["processes"]):
                process = fork_process(recipe, index)
                live.processes.append(process)
                live.tree.add_main(process.pid)
                self._by_pid[process.pid] = live
        except (Unpreparable, OSError) as error:
            return self._unprepared(live, str(error))
        return self.look_at(live)

    def look_at(self, live: Launch) -> None:
        """See whether a preparing launch is parked by now, or cannot be."""
        if live.state != PREPARING:
            return
        for process in live.processes:
            process.hear()
        if live.complaint:
            self._unprepared(live, live.complaint)
        elif live.is_parked:
            live.state = ARMED
            if live.wants_go:
                self._start(live)
            else:
                self.after.append(lambda: self._tell_armed(live))

    def _unprepared(self, live: Launch, why: str) -> None:
        live.cause, live.message = "prepare_failed", why
        self._bring_down(live)

    def _start(self, live: Launch) -> None:
        crashpoint.reach("launch.before_started")
        live.started_us = now_us()
        live.state = RUNNING
        self.ledger.note_started(live.launch, live.started_us)
        self.after.append(lambda: self._let_go(live))

    def _let_go(self, live: Launch) -> None:
        crashpoint.reach("launch.after_started")
        for process in live.processes:
            process.let_go(live.go_env)
        if live.limit_s > 0:
            live.limit_at_s = clock_s() + live.limit_s
            self._wake(live, live.limit_s)
        self._tell_started(live)

    # --- down -----------------------------------------------------------------------------

    def _bring_down(self, live: Launch) -> None:
        """End the launch: gently what runs, at once what is only parked."""
        if live.was_started and live.tree.mains:
            live.state = STOPPING
            live.kill_at_s = clock_s() + live.grace_s
            live.tree.signal(signal.SIGTERM, self._others(live))
            live.tree.signal(signal.SIGCONT, self._others(live))
            self._wake(live, 0.02)
        else:
            live.state = CLEANING
            live.tree.kill(self._others(live))
            self._settle(live)

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
            self._unprepared(live, why)
        elif live.state == RUNNING and live.tree.mains and live.has_failed:
            self._bring_down(live)
        else:
            self._settle(live)

    def _settle(self, live: Launch) -> None:
        """Bring what has no main processes any more to its end."""
        if live.state == ENDED or live.tree.mains:
            return
        others = self._others(live)
        if not live.tree.is_empty(others):
            if live.state == STOPPING and clock_s() < live.kill_at_s:
                self._wake(live, 0.02)
                return
            live.state = CLEANING
            live.tree.kill(others)
            if not live.tree.is_empty(others):
                live.clean_tries += 1
                self._wake(live, min(CLEAN_MAX_S, CLEAN_FIRST_S * 2**live.clean_tries))
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
        if live.script_path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(live.script_path)
        live.tree.group.remove()
        self._tell_end(live.launch)

    # --- time -----------------------------------------------------------------------------

    def _wake(self, live: Launch, delay_s: float) -> None:
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
            if live.tree.mains and 0 < live.limit_at_s <= now_s:
                live.cause = "run_limit"
                self._bring_down(live)
            return
        if live.tree.mains and (live.state == CLEANING or now_s >= live.kill_at_s):
            live.state = CLEANING
            live.tree.kill(self._others(live))
        if live.tree.mains:
            left_s = live.kill_at_s - now_s if live.state == STOPPING else CLEAN_MAX_S
            self._wake(live, max(CLEAN_FIRST_S, left_s))
        self._settle(live)

    def _others(self, live: Launch) -> set[int]:
        return {pid for pid, owner in self._by_pid.items() if owner is not live}

    # --- telling --------------------------------------------------------------------------

    def _tell_armed(self, live: Launch) -> None:
        if live.state in (ARMED, RUNNING):
            self._tell({"event": "armed", "launch": live.launch, "generation": live.generation})

    def _tell_started(self, live: Launch) -> None:
        self._tell({"event": "started", **live.told()})

    def _tell_end(self, launch: int) -> None:
        page = self.ledger.pages.get(launch)
        if page is not None and page.outcome is not None:
            told = {"event": "ended", "launch": launch, "generation": page.generation}
            self._tell({**told, **page.outcome})

    def fds(self) -> list[tuple[int, Launch]]:
        """Channels of children that are getting ready."""
        return [
            (process.channel.fileno(), live)
            for live in self.live.values()
            if live.state == PREPARING
            for process in live.processes
            if process.channel is not None and not process.is_parked
        ]

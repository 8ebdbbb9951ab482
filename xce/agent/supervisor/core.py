"""What the supervisor does with the agent's requests, and how a launch comes up.

Everything that must be durable first is noted in the ledger, and what is to follow is put into
`after`; the loop commits once per turn and then runs `after`. So intent comes before the fork,
`started` before the go, and an outcome before anybody hears of it, whatever the order of events.
For one launch the highest target ever asked holds; every request may be repeated. A launch is
its number and its generation: a request about another generation is of another history. It is
answered as never having been here, and what is here goes on untouched.
"""

from collections.abc import Callable
from typing import ClassVar

from xce import crashpoint
from xce.agent.supervisor.endings import ARMED, PREPARING, RUNNING, Endings, now_us
from xce.agent.supervisor.kernel import clock_s
from xce.agent.supervisor.launch import (
    Launch,
    cause_of,
    lost,
    signal_number,
    unstarted,
)
from xce.agent.supervisor.processes.cgroup import Cgroups, Group
from xce.agent.supervisor.processes.freezer import Freezer
from xce.agent.supervisor.processes.tree import Tree
from xce.agent.supervisor.spawn import Recipe, Unpreparable, fork_process
from xce.agent.supervisor.wire import CAN, VERSION, Message

_OF_LAUNCH = ("prepare", "go", "stop", "signal", "limit", "freeze")


class Core:
    """The requests of the agent, turned into what is durable and what follows it."""

    def __init__(
        self, endings: Endings, cgroups: Cgroups, *, file_folder: str, allow_root: bool
    ) -> None:
        self.endings = endings
        self.cgroups = cgroups
        self.ledger = endings.ledger
        self.live = endings.live
        self.after = endings.after
        self.tell = endings.tell
        self.freezer = Freezer(endings)
        self.file_folder = file_folder
        self._allow_root = allow_root

    # --- requests -------------------------------------------------------------------------

    def handle(self, message: Message) -> None:
        """One request of the agent; its shape was checked."""
        if message["do"] in _OF_LAUNCH and not self._fits(message):
            self._answer_stranger(message)
        else:
            self._ACTIONS[message["do"]](self, message)

    def _fits(self, message: Message) -> bool:
        """Whether a request is about the launch that is here. 0 is a launch that the log does not
        know (any more): whatever has its number is meant."""
        page = self.ledger.pages.get(message["launch"])
        return page is None or message["generation"] in (0, page.generation)

    def _answer_stranger(self, message: Message) -> None:
        """Never told from a journal entry of its own: the entry that is in the way stays."""
        launch, generation = message["launch"], message["generation"]
        here = self.ledger.pages[launch].generation
        why = f"this host has launch {launch} of generation {here}, not of {generation}"
        if message["do"] == "stop":
            outcome = unstarted(cause_of(message["reason"]), why, now_us())
        elif message["do"] == "prepare" or message.get("task"):
            outcome = unstarted("prepare_failed", why, now_us())
        elif message["do"] == "go":
            outcome = lost("", why, "unknown", now_us(), 0)
        else:
            return
        told = {"event": "ended", "launch": launch, "generation": generation, **outcome}
        self.after.append(lambda: self.tell(told))

    def _hello(self, _message: Message) -> None:
        self.after.append(self._list)

    def _list(self) -> None:
        ledger = self.ledger
        for page in ledger.unacked():
            self.endings.tell_end(page.launch)
        self.tell(
            {
                "event": "listed",
                "version": VERSION,
                "can": CAN,
                "epoch": ledger.epoch,
                "anchor_lsn": ledger.anchor[0],
                "anchor_hash": ledger.anchor[1],
                "host_key": ledger.host_key,
                "log_id": ledger.log_id,
                "launches": [one.told() for one in self.live.values()],
            }
        )
        for live in self.live.values():
            if live.is_stuck:
                self.endings.tell_stuck(live)

    def _epoch(self, message: Message) -> None:
        self.ledger.note_epoch(message["epoch"], str(message.get("log", "")))

    def _anchor(self, message: Message) -> None:
        self.ledger.note_anchor(message["lsn"], message["hash"])

    def _renewed(self, message: Message) -> None:
        """The controller answered a poll that was sent then."""
        at_s = min(message["at_us"] / 1e6, clock_s())
        self.endings.renewed_s = max(self.endings.renewed_s, at_s)

    def _sync(self, message: Message) -> None:
        token = message["token"]
        self.after.append(lambda: self.tell({"event": "synced", "token": token}))

    def _ack(self, message: Message) -> None:
        at_us = now_us()
        # An agent of before says no generations: 0 is any.
        generations = message.get("generations") or [0] * len(message["launches"])
        for launch, generation in zip(message["launches"], generations, strict=False):
            self.ledger.note_acked(launch, at_us, generation)

    def _prepare(self, message: Message) -> None:
        if self._repeat(message["launch"]):
            return
        launch, generation = message["launch"], message["generation"]
        self.ledger.note_intent(launch, generation)
        name = f"{launch}.{generation}"
        cookie = f"{self.ledger.host_key}:{name}"
        live = Launch(launch, generation, Tree(cookie, Group()))
        live.take_limits(message["task"])
        self.endings.add(live)
        self.after.append(lambda: self._fork(live, message["task"], name))

    def _repeat(self, launch: int) -> bool:
        """Whether the launch is known; then what was told of it is told again."""
        if launch not in self.ledger.pages:
            return False
        live = self.live.get(launch)
        if live is None:
            self.after.append(lambda: self.endings.tell_end(launch))
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
            if message.get("freeze", 0) > live.freeze:
                self._freeze(message)
                live.tree.thaw(self.endings.others(live))
            live.cause = cause_of(message["reason"])
            live.message = message["reason"]
            self.endings.bring_down(live)

    def _end_unknown(self, message: Message, outcome: Message) -> None:
        launch = message["launch"]
        self.ledger.note_exited(launch, message["generation"], outcome)
        self.after.append(lambda: self.endings.tell_end(launch))

    def _freeze(self, message: Message) -> None:
        self.freezer.handle(message)

    def _signal(self, message: Message) -> None:
        live = self.live.get(message["launch"])
        number = signal_number(message["name"])
        if live is None or live.state != RUNNING or not number:
            return
        if self.ledger.note_signal(live.launch, message["seq"]):
            self.after.append(lambda: live.tree.signal(number, self.endings.others(live)))

    def _limit(self, message: Message) -> None:
        """Limits as they are from now on; they may have moved while it runs."""
        live = self.live.get(message["launch"])
        if live is None:
            return
        live.limit_s, live.terminate_us = message["run_limit_us"] / 1e6, message["terminate_us"]
        if live.state == RUNNING and live.let_go_s and live.tree.mains:
            self.endings.watch_limits(live)

    def stop_all(self, reason: str) -> None:
        """Bring everything down, as when the host is taken out of service."""
        for live in list(self.live.values()):
            known = {"launch": live.launch, "generation": live.generation}
            self._stop({**known, "reason": reason})

    _ACTIONS: ClassVar[dict[str, Callable[["Core", Message], None]]] = {
        "hello": _hello,
        "epoch": _epoch,
        "anchor": _anchor,
        "renewed": _renewed,
        "sync": _sync,
        "ack": _ack,
        "prepare": _prepare,
        "go": _go,
        "stop": _stop,
        "signal": _signal,
        "limit": _limit,
        "freeze": _freeze,
    }

    # --- up -------------------------------------------------------------------------------

    def _fork(self, live: Launch, task: Message, name: str) -> None:
        if live.state != PREPARING:
            return self.endings.settle(live)
        try:
            if task["processes"] > 0:
                live.tree.group = self.cgroups.make(name, task["mem_bytes"])
            recipe = Recipe(task, live.tree.cookie, live.tree.group, allow_root=self._allow_root)
            if task["processes"] > 0:
                recipe.write_files(f"{self.file_folder}/{name}", live.paths)
            for index in range(task["processes"]):
                process = fork_process(recipe, index)
                live.processes.append(process)
                self.endings.add_main(live, process.pid)
        except Unpreparable as error:
            return self.endings.give_up(live, str(error), own_fault=True)
        except OSError as error:
            return self.endings.give_up(live, str(error))
        return self.look_at(live)

    def look_at(self, live: Launch) -> None:
        """See whether a preparing launch is parked by now, or cannot be."""
        if live.state != PREPARING:
            return
        for process in live.processes:
            process.hear()
        if live.complaint:
            self.endings.give_up(live, live.complaint, own_fault=live.is_own_fault)
        elif live.is_parked:
            live.state = ARMED
            if live.wants_go:
                self._start(live)
            else:
                self.after.append(lambda: self._tell_armed(live))

    def _start(self, live: Launch) -> None:
        if self.endings.is_over(live):
            self.endings.end_lease(live)
            return
        crashpoint.reach("launch.before_started")
        live.started_us = now_us()
        live.state = RUNNING
        self.ledger.note_started(live.launch, live.started_us)
        self.after.append(lambda: self._let_go(live))

    def _let_go(self, live: Launch) -> None:
        crashpoint.reach("launch.after_started")
        for process in live.processes:
            process.let_go(live.go_env)
        live.let_go_s = clock_s()
        self._tell_started(live)
        self.endings.watch_limits(live)
        self.freezer.act(live)

    def _tell_armed(self, live: Launch) -> None:
        if live.state in (ARMED, RUNNING):
            self.tell({"event": "armed", "launch": live.launch, "generation": live.generation})

    def _tell_started(self, live: Launch) -> None:
        self.tell({"event": "started", **live.told()})

    def fds(self) -> list[tuple[int, Launch]]:
        """Channels of children that are getting ready."""
        return [
            (process.channel.fileno(), live)
            for live in self.live.values()
            if live.state == PREPARING
            for process in live.processes
            if process.channel is not None and not process.is_parked
        ]

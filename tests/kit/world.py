"""A scripted, seeded world around the real core: virtual clock, memory log, sessions, hosts.

The controller side is the real one: `decide`, `apply`, `Writer`, `Hosts`, `Sessions`, `recover`;
only the event loop is replaced, by `advance`. After every step the state is checked, and every
transaction's digest is kept, so that a recovery can be compared with what was live. `Crash` may
be raised at any named point of the log or the writer; the world then throws the state away,
recovers from the log and leads with the next epoch.
"""

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.kit.agents import LaunchHere, Life, Provision, SimAgent
from tests.kit.leases import Leases
from tests.kit.ledger import Ledger
from tests.kit.line import FAIR, Line, Weather
from tests.kit.words import OPS, SETTINGS
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.controller.core.fold.check import check
from xce.controller.core.fold.encode import digest
from xce.controller.core.fold.state import State
from xce.controller.hosts import Hosts
from xce.controller.recover import recover
from xce.controller.sessions import Sessions
from xce.controller.step import Answer, Step, decide_all
from xce.controller.writer import Writer
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US, Config
from xce.model.host import HostFacts
from xce.model.job import Exit
from xce.model.records import Record
from xce.wal.memory import MemoryLog, MemoryStore
from xce.wal.port import Batch

BEGAN_US = 1_000_000 * SECOND_US
BEFORE_COMMIT = ("before_append", "log.begun", "log.written")


class Crash(Exception):
    """The controller dies here."""


@dataclass
class Scripts:
    """What launches and providers do, by job text, (job, attempt) or launch; by claim name."""

    lives: dict[Any, Life] = field(default_factory=dict)
    provisions: dict[str, Provision] = field(default_factory=dict)
    default: Callable[[str, int], Life] = lambda job, attempt: Life()


class World:
    """One cluster and its controller, on a clock of its own."""

    def __init__(
        self,
        hosts: dict[str, HostFacts] | None = None,
        seed: int = 0,
        config: Config = SETTINGS,
        weather: Weather = FAIR,
    ) -> None:
        self.random, self.weather, self.config = random.Random(seed), weather, config
        self.now_us, self.last_us = BEGAN_US, 0
        self.scripts = Scripts()
        self.ledger, self.line = Ledger(self), Line(self)
        self.digests: dict[int, str] = {}
        self.reached: dict[str, int] = {}
        self.crash: Callable[[str], bool] = lambda name: False
        self.crashes = 0
        self.died_at = ("", 0, 0)
        self.leaderless = False
        self.boots_at_once = True
        self.agents: dict[str, SimAgent] = {}
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count, self.leases = 0, Leases(self)
        self.inbox: list[tuple[c.Command, Callable[[Answer], None] | None]] = []
        self._armed, self._before_lsn = False, 0
        self.store = MemoryStore()
        self.lead()
        for name in sorted(hosts or {}):
            self.add(name, (hosts or {})[name])

    # -- leading -------------------------------------------------------------------------------
    def lead(self) -> None:
        """A controller takes over: recover, compare with what was live, lead, load settings."""
        while True:
            try:
                self._take_over()
                break
            except Crash:
                self.crashes += 1
        self.leaderless = False
        self.pump()

    def _take_over(self) -> None:
        self.inbox.clear()
        self._armed = False
        log = MemoryLog(self.store, at_point=self._reach)
        epoch = log.lead("home", self.now_us, 10 * SECOND_US)
        self._assert_all_or_nothing(log.head().lsn)
        self.state, cutter = recover(log)
        if self.state.lsn:
            assert digest(self.state) == self.digests[self.state.lsn], "recovered another state"
        check(self.state)
        self.ledger.committed(log.read(self.ledger.lsn + 1))
        self.now_us = max(self.now_us, self.state.at_us + 1)
        resumed, self.state.epoch = self.state.lsn, epoch
        self.cutter = cutter
        self.writer = Writer(self.state, log, None, cutter, self._reach)
        self.hosts = Hosts(self.state)
        self.sessions = Sessions(self.state)
        self.hosts.begin(self.now_us)
        for agent in self.agents.values():
            agent.polling = False
        self._armed = True
        self.step(
            [
                c.StartLeading(
                    actor=CONTROLLER, holder="home", version="test", database="memory",
                    boot_id="boot", resumed_lsn=resumed,
                )
            ]
        )  # fmt: skip
        self.step([c.LoadConfig(actor=CONTROLLER, config=self.config, digest=repr(self.config))])
        if any(agent.muted for agent in self.agents.values()):
            self.watch_silence()

    def die(self) -> None:
        """The controller is gone; nobody leads until `lead`."""
        self.leaderless = True
        self.inbox.clear()

    def change_leader(self) -> None:
        """Throw the state away and go on from the log."""
        self.die()
        self.lead()

    def _reach(self, name: str) -> None:
        if self._armed and self.crash(name):
            self.reached[name] = self.reached.get(name, 0) + 1
            self.died_at = (name, self._before_lsn, self.state.lsn)
            raise Crash(name)

    def _assert_all_or_nothing(self, lsn: int) -> None:
        """A transaction that the crash fell into is whole or not there at all."""
        name, before, after = self.died_at
        if name:
            expected = before if name in BEFORE_COMMIT else after
            assert lsn == expected, f"died at {name} between {before} and {after}: found {lsn}"
        self.died_at = ("", 0, 0)

    # -- steps ---------------------------------------------------------------------------------
    def step(self, commands: Sequence[c.Command]) -> Step:
        """One step, committed, checked and published."""
        self.now_us = max(self.now_us, self.last_us + 1)
        self.last_us = self.now_us
        self._before_lsn = self.state.lsn
        known = [self.writer.with_facts(command) for command in commands]
        facts = [self._heard(command) for command in known]
        done = decide_all(self.state, facts, self.now_us)
        self.sessions.note(done)
        if not done.records and not self.cutter.under_way:
            return done
        self.digests[self.state.lsn] = digest(self.state)
        batch: Batch = self.writer.batch(done, facts)
        self.writer.commit(batch)
        if batch.cut_close is not None:
            self.cutter.closed()
        check(self.state)
        self.ledger.committed(done.records)
        self.hosts.note(done.records)
        self._reach("before_answer")
        return done

    def _heard(self, command: c.Command) -> c.Command:
        """With what the hosts' silence says. A boot takes longer than silence is borne; the world
        skips that while, unless a test is about it."""
        if self.boots_at_once and isinstance(command, c.RegisterHost):
            return command
        return self.hosts.with_facts(command, self.now_us)

    def _turn(self) -> None:
        taken, self.inbox = self.inbox, []
        if taken or self._timer_due():
            done = self.step([command for command, _ in taken])
            for (_, tell), answer in zip(taken, done.answers, strict=True):
                if tell is not None:
                    tell(answer)
        if self.sessions.wanted():
            self._session()

    def _session(self) -> None:
        work = self.sessions.begin(self.now_us)
        while not self.sessions.advance(work):
            pass
        if self.chance(self.weather.between) and self._heap:
            self._next_event()
            taken, self.inbox = self.inbox, []
            done = self.step([command for command, _ in taken])
            for (_, tell), answer in zip(taken, done.answers, strict=True):
                if tell is not None:
                    tell(answer)
        for slice_ in self.sessions.slices(work):
            self.sessions.committed(work, self.step([slice_]))
        closing = self.sessions.end(work)
        if closing is not None:
            self.step([closing])

    def cut(self) -> None:
        """Write a cut with the next step."""
        if not self.cutter.under_way and self.state.changed:
            self.cutter.begin()

    def _timer_due(self) -> bool:
        due_us = self.state.index.timers.next_due_us()
        return due_us is not None and due_us <= self.now_us

    # -- time ----------------------------------------------------------------------------------
    def after(self, wait_us: int, act: Callable[..., None], *args: Any) -> None:
        """Do something later."""
        self._count += 1
        heapq.heappush(self._heap, (self.now_us + wait_us, self._count, act, args))

    def _next_event(self) -> None:
        at_us, _, act, args = heapq.heappop(self._heap)
        self.now_us = max(self.now_us, at_us)
        act(*args)

    def advance(self, until_us: int) -> bool:
        """The next thing that happens up to `until_us`; False when there is none."""
        timer_us = None if self.leaderless else self.state.index.timers.next_due_us()
        times = [self._heap[0][0]] if self._heap else []
        times += [timer_us] if timer_us is not None else []
        if not self.leaderless and self.sessions.wanted():
            times.append(self.now_us + 1_000)
        if not times or min(times) > until_us:
            return False
        self.now_us = max(self.now_us, min(times))
        while self._heap and self._heap[0][0] <= self.now_us:
            self._next_event()
        if not self.leaderless:
            self.turn()
        return True

    def turn(self) -> None:
        """Take what is in the inbox; a crash in the middle of it is a change of leader."""
        try:
            self._turn()
        except Crash:
            self.crashes += 1
            self.die()
            self.lead()
        self.pump()

    def run(self, for_us: int, steps: int = 100_000) -> None:
        """Let time pass."""
        until_us = self.now_us + for_us
        for _ in range(steps):
            if not self.advance(until_us):
                self.now_us = max(self.now_us, until_us)
                return
        raise AssertionError("the world does not come to rest")

    def run_until(self, done: Callable[[], bool], limit_us: int = 3600 * SECOND_US) -> None:
        """Let time pass until something is so."""
        until_us = self.now_us + limit_us
        while not done():
            if not self.advance(until_us):
                raise AssertionError("it never came to that")

    def rest(self, limit_us: int = 3600 * SECOND_US) -> None:
        """Until every submitted job has ended and every host has confirmed what is gone."""
        self.run_until(self.ledger.at_rest, limit_us)

    # -- asking --------------------------------------------------------------------------------
    def ask(self, command: c.Command) -> Answer:
        """Decide a command now and take the answer."""
        answers: list[Answer] = []
        self.inbox.append((command, answers.append))
        self.turn()
        assert answers, "the leader died before it answered"
        return answers[0]

    def ask_body(self, command: c.Command) -> dict[str, Any]:
        """The answer to a command that is accepted."""
        answer = self.ask(command)
        assert isinstance(answer, Outcome), answer
        self.ledger.acknowledged(answer.body)
        return answer.body

    def submit(self, command: c.SubmitJob) -> int:
        """Submit a job; its key."""
        return int(self.ask_body(command)["job"])

    def submit_gang(self, command: c.SubmitGroup) -> int:
        """Submit a gang; its number."""
        return int(self.ask_body(command)["group"][1:])

    # -- hosts ---------------------------------------------------------------------------------
    def add(self, name: str, facts: HostFacts) -> SimAgent:
        """A host joins."""
        self.agents[name] = SimAgent(self, name, facts)
        self.agents[name].pump()
        return self.agents[name]

    def up(self) -> None:
        """Until every host is UP."""
        self.run_until(lambda: all(one.liveness == "UP" for one in self.state.hosts.values()) and
                       len(self.state.hosts) == len(self.agents))  # fmt: skip

    def mute(self, name: str) -> None:
        """The line to a host is cut; its processes go on."""
        self.agents[name].muted = True
        self.watch_silence()

    def unmute(self, name: str) -> None:
        """The line is back."""
        agent = self.agents[name]
        agent.muted = agent.polling = agent.registering = False
        agent.pump()

    def lose(self, name: str) -> None:
        """An operator's word that nothing runs there any more; so the machine is switched off."""
        self.agents[name].reboot()
        self.inbox.append((c.HostEvent(actor=OPS, host=name, event="lost"), None))
        self.turn()

    def watch_silence(self) -> None:
        """Look at silent hosts when their time is over."""
        for wait_us in (self.config.suspect_after_us, self.config.host_grace_us):
            self.after(wait_us + SECOND_US, self.silence)

    def silence(self) -> None:
        """Look who was not heard for too long."""
        if self.leaderless:
            return
        for name in sorted(self.agents):
            if not self.agents[name].muted:
                self.line.hear(name)
        self.inbox += [(event, None) for event in self.hosts.silent(self.now_us)]

    def pump(self) -> None:
        """Keep every host's poll under way."""
        if not self.leaderless:
            for name in sorted(self.agents):
                self.agents[name].pump()

    def chance(self, of_1000: int) -> bool:
        """Whether something of that chance happens."""
        return of_1000 > 0 and self.random.randrange(1000) < of_1000

    # -- what launches do ----------------------------------------------------------------------
    def life(self, job: str, attempt: int, launch: int) -> Life:
        """What a launch is going to do."""
        lives = self.scripts.lives
        for key in (launch, (job, attempt), job):
            if key in lives:
                return lives[key]
        return self.scripts.default(job, attempt)

    def provision(self, name: str) -> Provision:
        """What a provider does with a claim of that name."""
        return self.scripts.provisions.get(name, Provision())

    def occupy(self, agent: SimAgent, here: LaunchHere) -> None:
        """A launch begins to be on a host."""
        self.ledger.occupy(agent.name, here)
        if here.task is not None and here.task.lease_us:
            self.leases.watch()

    def execute_again(self, agent: SimAgent, here: LaunchHere) -> None:
        """Processes that were frozen go on."""
        self.ledger.assert_running(agent.name, here)

    def vacate(self, agent: SimAgent, here: LaunchHere) -> None:
        """Nothing of a launch is on a host any more."""
        self.ledger.vacate(agent.name, here)

    def execute(self, agent: SimAgent, here: LaunchHere) -> None:
        """A launch's processes are let go."""
        self.ledger.execute(agent.name, here)

    # -- looking -------------------------------------------------------------------------------
    @property
    def records(self) -> list[Record]:
        """The whole log."""
        return list(self.writer.log.read(1))

    def exit_of(self, key: int) -> Exit:
        """How a job ended."""
        found = self.state.jobs[key].exit
        assert found is not None
        return found


__all__ = ["Crash", "Life", "Provision", "State", "Weather", "World"]

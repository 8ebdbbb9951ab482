"""The world: the real step, sessions and tables on a virtual clock.

Events wait in one heap. Of those of one instant the order is a rule (docs/reference/simulator.md):
ends and what else hosts report, changes of hosts, arrivals and other changes, timers of the state,
and then exactly one session; what hosts report at once of what the session began comes last. With
`Order.APART` (the published event order) every event of an instant has a session of its own.
"""

import heapq
from collections.abc import Callable, Sequence

from msgspec import Struct

from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.controller.sessions import Sessions
from xce.controller.step import Answer, Step, decide_all
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US, Config
from xce.model.host import HostFacts
from xce.sim.agents import Agents, Delays
from xce.sim.instant import Order, Rank
from xce.sim.results import config_digest
from xce.sim.tape import Tape

BEGAN_US = 1_000_000 * SECOND_US
"""The moment of the virtual clock that is a trace's zero."""


class Rules(Struct, frozen=True, kw_only=True):
    """How time goes. `cadence_us` 0 means a session whenever there is something to look at; else
    only at multiples of it, counted from the trace's zero."""

    order: Order = Order.TOGETHER
    cadence_us: int = 0
    delays: Delays = Delays()


Told = Callable[[Answer], None]
Event = tuple[int, int, int, c.Command | None, Told | None]


class Counts(Struct, kw_only=True):
    """What a run came to."""

    steps: int = 0
    sessions: int = 0
    records: int = 0
    rejected: int = 0
    events: int = 0


class World:
    """One cluster and its controller in virtual time."""

    def __init__(self, config: Config, rules: Rules, tape: Tape) -> None:
        self.rules, self.tape = rules, tape
        self.now_us = BEGAN_US - SECOND_US
        self.state = State()
        self.sessions = Sessions(self.state)
        self.agents = Agents(self)
        self.counts = Counts()
        self.watch: Callable[[Step, int], None] = lambda done, now_us: None
        self._heap: list[Event] = []
        self._number = 0
        self._look_us = 0
        self._lead(config)

    # -- the beginning -------------------------------------------------------------------------
    def _lead(self, config: Config) -> None:
        self.state.epoch = 1
        lead = c.StartLeading(
            actor=CONTROLLER, holder="simulator", version=self.tape.version, database="memory",
            boot_id="virtual", resumed_lsn=0,
        )  # fmt: skip
        self.step([lead])
        self.step([c.LoadConfig(actor=CONTROLLER, config=config, digest=config_digest(config))])

    def add_hosts(self, hosts: dict[str, HostFacts]) -> None:
        """Hosts join, before anything else happens."""
        self.step([self.agents.registration(name, facts) for name, facts in hosts.items()])
        self.step([self.agents.listing(name) for name in hosts])

    # -- events --------------------------------------------------------------------------------
    def at(
        self, at_us: int, rank: Rank, command: c.Command | None, tell: Told | None = None
    ) -> None:
        """Something is going to happen; equal ones in the order of this call."""
        self._number += 1
        heapq.heappush(self._heap, (at_us, rank, self._number, command, tell))

    def step(self, commands: Sequence[c.Command], *, timers: bool = False) -> Step:
        """One step of the controller, written down; hosts learn of it."""
        done = decide_all(self.state, commands, self.now_us, timers=timers)
        self.counts.steps += 1
        self.sessions.note(done)
        if done.records:
            self.counts.records += len(done.records)
            self.tape.write(done)
            self.state.changed.clear()
            self.agents.note(done.records)
            self.watch(done, self.now_us)
        return done

    # -- time ----------------------------------------------------------------------------------
    def next_us(self) -> int | None:
        """When something happens next."""
        times = [self._heap[0][0]] if self._heap else []
        timer_us = self.state.index.timers.next_due_us()
        if timer_us is not None:
            times.append(max(timer_us, self.now_us))
        if not times:
            return None
        return min(times)

    def run(self, more: Callable[[], bool]) -> None:
        """Until nothing happens any more, or `more` says that it is enough. It is asked before
        each instant."""
        while more():
            at_us = self.next_us()
            if at_us is None:
                return
            if at_us < self.now_us:
                raise AssertionError("the virtual clock goes back")
            self.now_us = at_us
            self.counts.events += 1
            if self.rules.order is Order.APART:
                self._instant_apart()
            else:
                self._instant()

    def _instant(self) -> None:
        """Everything of this instant, in the order of the rule; one session."""
        taken = self._take(Rank.LOOK)
        self._decide(taken)
        self._fire()
        every_us = self.rules.cadence_us
        if not every_us or (self.now_us - BEGAN_US) % every_us == 0:
            self._session()
        else:
            self._look_later(every_us)
        self._report()

    def _instant_apart(self) -> None:
        """A session behind every event."""
        self._decide(self._take(Rank.END))
        while taken := self._take(Rank.LOOK, 1):
            self._decide(taken)
            self._session()
            self._report()
        self._fire()
        self._session()
        self._report()

    def _report(self) -> None:
        """What hosts tell at once of what was just decided; no further session at this instant."""
        while taken := self._take(Rank.LOOK):
            self._decide(taken)

    def _take(self, upto: Rank, limit: int = 0) -> list[Event]:
        """The events of this instant up to a rank, in order, at most `limit` where it is not 0."""
        taken: list[Event] = []
        heap = self._heap
        while heap and heap[0][0] <= self.now_us and heap[0][1] <= upto:
            taken.append(heapq.heappop(heap))
            if len(taken) == limit:
                break
        return taken

    def _decide(self, taken: list[Event]) -> None:
        asked = [(command, tell) for *_, command, tell in taken if command is not None]
        if not asked:
            return
        done = self.step([command for command, _ in asked])
        for (_, tell), answer in zip(asked, done.answers, strict=True):
            if isinstance(answer, c.Rejection):
                self.counts.rejected += 1
            if tell is not None:
                tell(answer)

    def _fire(self) -> None:
        """Timers of the state that are due."""
        timers = self.state.index.timers
        while (due_us := timers.next_due_us()) is not None and due_us <= self.now_us:
            self.step((), timers=True)

    # -- sessions ------------------------------------------------------------------------------
    def _look_later(self, every_us: int) -> None:
        """A session at the next multiple of the cadence, if one is wanted."""
        at_us = BEGAN_US + ((self.now_us - BEGAN_US) // every_us + 1) * every_us
        if at_us != self._look_us and self.sessions.wanted():
            self._look_us = at_us
            self.at(at_us, Rank.LOOK, None)

    def _session(self) -> None:
        """One session, if something could change."""
        if not self.sessions.wanted():
            return
        self.counts.sessions += 1
        work = self.sessions.begin(self.now_us)
        while not self.sessions.advance(work):
            pass
        for slice_ in self.sessions.slices(work):
            self.sessions.committed(work, self.step([slice_]))
        closing = self.sessions.end(work)
        if closing is not None:
            self.step([closing])

"""Simulated hosts: what their agents would do and tell, each thing at its own moment.

They follow orders: a launch that is wanted PREPARED is armed, one wanted RUNNING is let go and
ends when its time or its limit is over, one wanted GONE ends. Attachments are brought up and taken
down. What a launch does (`Life`) is known by its job before it is let go.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.controller.core.orders.wanted import launch_target, over_us, touched
from xce.dispatch import protocol as p
from xce.model.actor import HOST, Actor
from xce.model.host import HostFacts
from xce.model.records import Record
from xce.model.start import Launch
from xce.sim.instant import rank_of_end

if TYPE_CHECKING:
    from xce.sim.world import World

TERM = 15


class Delays(Struct, frozen=True, kw_only=True):
    """How long things take on hosts and on the way: until a launch is armed, let go, until its end
    is known, until what was told to stop has stopped, until an attachment is there, or gone."""

    arm_us: int = 0
    start_us: int = 0
    end_us: int = 0
    kill_us: int = 0
    attach_us: int = 0
    release_us: int = 0


class Life(Struct, frozen=True, gc=False):
    """How long a launch runs if nobody ends it, and with which exit code; below 0 it never ends."""

    run_us: int
    code: int = 0


class Here(Struct, gc=False):
    """A launch that is on a host, and how far it has come there."""

    host: str
    generation: int
    level: str = p.PREPARED
    armed: bool = False
    started_us: int = 0
    stopping: bool = False


class Agents:
    """All hosts of a world."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.lives: dict[int, Life] = {}
        self._here: dict[int, Here] = {}
        self._seq = 0
        self._actors: dict[str, Actor] = {}

    @property
    def _state(self) -> State:
        return self.world.state

    # -- joining -------------------------------------------------------------------------------
    def registration(self, name: str, facts: HostFacts) -> c.RegisterHost:
        """A host asks to be let in."""
        actor = self._actors[name] = Actor(kind=HOST, name=name)
        return c.RegisterHost(actor=actor, host=name, boot_id=f"{name}-boot", facts=facts)

    def listing(self, name: str) -> c.TakeReport:
        """A host that has nothing says so."""
        return self._told(name, p.Reconciled(seq=0, question=self._state.hosts[name].question))

    def _told(self, host: str, report: p.Report) -> c.TakeReport:
        incarnation = self._state.hosts[host].incarnation
        actor = self._actors[host]
        return c.TakeReport(actor=actor, host=host, incarnation=incarnation, report=report)

    def _tell(self, wait_us: int, host: str, report: p.Report, *, due: bool | None = None) -> None:
        """Tell the controller something later; `due` says whether an end was expected then."""
        self.world.at(self.world.now_us + wait_us, rank_of_end(due), self._told(host, report))

    # -- orders --------------------------------------------------------------------------------
    def note(self, records: Iterable[Record]) -> None:
        """Committed records: hosts do what is wanted of them now."""
        for record in records:
            if record.kind == "LaunchEnded":
                self._here.pop(record.body.launch, None)  # type: ignore[attr-defined]
            launches, attachments = touched(record)
            for number in launches:
                self._obey(number)
            for number in attachments:
                self._attach(number)

    def _obey(self, number: int) -> None:
        launch = self._state.launches.get(number)
        here = self._here.get(number)
        if launch is None or (here is None and launch.ended_us):
            return
        if here is None:
            here = self._here[number] = Here(launch.host, launch.generation)
        target = launch_target(launch)
        delays = self.world.rules.delays
        if target == p.GONE:
            self._stop(number, launch, here, delays)
        elif target == p.RUNNING and here.level == p.PREPARED:
            here.level = p.RUNNING
            wait_us = delays.start_us + (0 if here.armed else delays.arm_us)
            self._start(number, launch, here, wait_us)
        elif target == p.PREPARED and not here.armed:
            here.armed = True
            armed = p.Armed(seq=0, launch=number, generation=launch.generation)
            self._tell(delays.arm_us, launch.host, armed)

    def _start(self, number: int, launch: Launch, here: Here, wait_us: int) -> None:
        here.started_us = at_us = self.world.now_us + wait_us
        self._tell(
            wait_us,
            launch.host,
            p.Started(seq=0, launch=number, generation=launch.generation, at_us=at_us),
        )
        spec = self._state.specs[self._state.jobs[launch.job].spec]
        life = self.lives.get(launch.job)
        run_us = life.run_us if life is not None and launch.processes else -1
        limit_us = spec.run_limit_us
        ends = [(at_us + run_us, "")] if run_us >= 0 else []
        if limit_us:
            ends.append((at_us + limit_us, "run_limit"))
        if deadline_us := over_us(self._state, launch, spec):
            ends.append((deadline_us, "deadline"))
        if not ends:
            return
        end_us, cause = min(ends)
        expected = bool(limit_us) and end_us == at_us + limit_us
        code = life.code if life is not None and not cause else TERM
        how = "signalled" if cause else "exited"
        self._end(end_us - self.world.now_us, number, (how, code, cause), here, due=expected)

    def _stop(self, number: int, launch: Launch, here: Here, delays: Delays) -> None:
        if launch.ended_us or here.stopping:
            return
        here.stopping = True
        if here.started_us and here.started_us <= self.world.now_us:
            self._end(delays.kill_us, number, ("signalled", TERM, "stopped"), here)
            return
        report = p.Ended(
            seq=0, launch=number, generation=here.generation, how="aborted",
            cause_of_end="stopped", ran="no", ended_us=self.world.now_us,
        )  # fmt: skip
        self._tell(delays.kill_us, here.host, report)

    def _end(
        self, wait_us: int, number: int, how: tuple[str, int, str], here: Here,
        *, due: bool | None = None,
    ) -> None:  # fmt: skip
        word, code, cause = how
        report = p.Ended(
            seq=0, launch=number, generation=here.generation, how=word, code=code,
            cause_of_end=cause, started_us=here.started_us, ended_us=self.world.now_us + wait_us,
        )  # fmt: skip
        self._tell(wait_us + self.world.rules.delays.end_us, here.host, report, due=due)

    # -- attachments ---------------------------------------------------------------------------
    def _attach(self, number: int) -> None:
        attachment = self._state.attachments.get(number)
        if attachment is None or attachment.state not in ("PROVISIONING", "RELEASING"):
            return
        claim = self._state.claims[attachment.claim]
        delays = self.world.rules.delays
        if attachment.state == "RELEASING":
            outcome, value, wait_us = "released", "", delays.release_us
        else:
            own = dict(attachment.parameters)
            value = f"{own.get('address', attachment.host)}:{own.get('port', '')}"
            outcome, wait_us = "ready", delays.attach_us
        result = p.AttachmentResult(
            seq=0, attachment=number, generation=claim.generation, outcome=outcome, value=value
        )
        self._tell(wait_us, attachment.host, result)

"""The line between simulated hosts and the controller: late, twice, torn, never.

Only what the API does is done here: an old incarnation or epoch is told so, everything else
becomes a command of the next step, and its answer goes back after the commit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.kit.agents import SimAgent
from tests.kit.words import host_actor
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.controller.step import Answer
from xce.dispatch import protocol as p

if TYPE_CHECKING:
    from tests.kit.world import World


@dataclass(frozen=True)
class Weather:
    """How bad the line and the timing are: chances of 1000 for each message."""

    lost: int = 0
    twice: int = 0
    torn: int = 0
    slow: int = 0
    between: int = 0
    line_us: tuple[int, int] = (200, 200)


FAIR = Weather()


class Line:
    """Messages of one world."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def hear(self, name: str) -> None:
        """A host was heard."""
        event = self._world.hosts.hear(name, self._world.now_us)
        if event is not None:
            self._world.inbox.append((event, None))

    def line_us(self) -> int:
        """How long a message takes."""
        low, high = self._world.weather.line_us
        slow = 50 if self._world.chance(self._world.weather.slow) else 1
        return self._world.random.randint(low, high) * slow

    def torn(self, reports: tuple[p.Report, ...]) -> tuple[p.Report, ...]:
        """Perhaps only the first or the last part of a batch."""
        if len(reports) > 1 and self._world.chance(self._world.weather.torn):
            at = self._world.random.randrange(1, len(reports))
            return self._world.random.choice((reports[:at], reports[at:]))
        return reports

    def deliver(self, act: Callable[..., None], *args: Any) -> None:
        """Carry a message: once, late, twice or never."""
        if not self._world.chance(self._world.weather.lost):
            self._world.after(self.line_us(), act, *args)
        if self._world.chance(self._world.weather.twice):
            self._world.after(self.line_us() * self._world.random.randint(1, 400), act, *args)

    def take_register(self, name: str, boot_id: str, life: int) -> None:
        """A registration arrives."""
        agent = self._world.agents[name]
        if self._world.leaderless or agent.muted or boot_id != agent.boot_id:
            return

        def tell(answer: Answer) -> None:
            if isinstance(answer, Outcome):
                incarnation = self._world.state.hosts[name].incarnation
                self.deliver(agent.registered, life, self._world.state.epoch, incarnation)

        command = c.RegisterHost(
            actor=host_actor(name), host=name, boot_id=boot_id, facts=agent.facts,
            epoch=agent.epoch, can=agent.can,
        )  # fmt: skip
        self._world.inbox.append((command, tell))

    def take_poll(self, agent: SimAgent) -> None:
        """A poll arrives; its answer goes out now or with a later turn."""
        poll = p.Poll(
            protocol=p.PROTOCOL, host=agent.name, incarnation=agent.incarnation, epoch=agent.epoch,
            stamp=agent.stamp,
        )  # fmt: skip
        before = len(self._world.inbox)
        self.hear(agent.name)
        if len(self._world.inbox) > before:
            self._world.after(0, _nothing)
        orders = self._world.hosts.orders(poll, self._world.now_us, (0, ""))
        if orders is None:
            return
        agent.polling = True
        sent_us = self._world.now_us
        self.deliver(agent.answered, (agent.life, sent_us), agent.incarnation, orders)
        self._world.after(1_100_000, _poll_again, agent, agent.life)

    def send_reports(self, agent: SimAgent, reports: tuple[p.Report, ...]) -> None:
        """A batch of reports goes out."""
        self.deliver(
            self._take_reports, agent, (agent.life, agent.incarnation, agent.epoch), reports
        )

    def _take_reports(
        self, agent: SimAgent, said: tuple[int, int, int], reports: tuple[p.Report, ...]
    ) -> None:
        life, incarnation, epoch = said
        if self._world.leaderless or agent.muted:
            return
        self.hear(agent.name)
        known = self._world.state.hosts.get(agent.name)
        stale = known is None or known.incarnation != incarnation
        if stale or epoch != self._world.state.epoch:
            self.deliver(agent.taken, life, incarnation, (), stale)
            return
        for report in reports:
            command = c.TakeReport(
                actor=host_actor(agent.name), host=agent.name, incarnation=incarnation,
                report=report,
            )  # fmt: skip
            tell = self._teller(agent, (life, incarnation), report.seq)
            self._world.inbox.append((command, tell))

    def _teller(self, agent: SimAgent, said: tuple[int, int], seq: int) -> Callable[[Answer], None]:
        def tell(answer: Answer) -> None:
            again = isinstance(answer, Outcome) and bool(answer.body.get("register"))
            self.deliver(agent.taken, *said, () if again else (seq,), again)

        return tell


def _nothing() -> None:
    """Something waits in the inbox."""


def _poll_again(agent: SimAgent, life: int) -> None:
    if life == agent.life:
        agent.polling = False

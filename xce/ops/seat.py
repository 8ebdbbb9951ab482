"""Where the API finds the controller that leads now.

The API is built once and stays on its sockets; controllers come and go under it when the
leadership is taken over anew. A seat passes everything on to the one that sits there. With
nobody there, or when the one that was asked ended before it answered, the asker gets 503 and a
code: `not_leading` (nothing was done) or `outcome_unknown` (ask again with the same key).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from xce.api.ports import Answered, StateView
from xce.api.problem import Problem
from xce.controller.asking import Overloaded, Stopped
from xce.controller.core.commands import Command, Rejection, SubmitGroup
from xce.controller.core.time.estimate import Estimate
from xce.controller.core.whatif import Change
from xce.controller.loop import Controller
from xce.dispatch.protocol import Orders, Poll
from xce.model.records import Record
from xce.scheduler.reasons import PendReason
from xce.wal.port import LogError


class Seat:
    """The engine that the API is given."""

    def __init__(self) -> None:
        self._controller: Controller | None = None

    def take(self, controller: Controller) -> None:
        """A controller leads from now on."""
        self._controller = controller

    def leave(self) -> None:
        """Nobody leads."""
        self._controller = None

    def _here(self) -> Controller:
        if self._controller is None:
            raise Problem("not_leading", "this controller does not lead now; try again")
        return self._controller

    @property
    def state(self) -> StateView:
        """What is committed, once `settled` returned."""
        return self._here().state

    @property
    def anchor(self) -> tuple[int, str]:
        """Lsn and hash of the last committed record, for agents to remember."""
        return self._here().anchor

    @property
    def about(self) -> Mapping[str, Any]:
        """What log this is and which durability it read back."""
        return self._here().about

    @property
    def refused_hosts(self) -> Mapping[str, str]:
        """Hosts that asked to be let in and were refused last, and why."""
        return self._here().refused_hosts

    async def ask(self, command: Command) -> Answered | Rejection:
        """Decide, commit, answer."""
        try:
            return await self._here().ask(command)
        except Overloaded as error:
            raise Problem("busy", f"{error}; nothing was done, try again") from error
        except Stopped as error:
            raise Problem(
                "outcome_unknown",
                "the controller ended before it could answer; whether this was done is unknown",
                hint="ask again with the same Idempotency-Key",
            ) from error

    async def settled(self) -> None:
        """Wait until no commit is under way."""
        try:
            await self._here().settled()
        except Stopped as error:
            raise _gone() from error

    @property
    def now_us(self) -> int:
        """The controller's time, on which leases run."""
        return self._here().clock.now_us()

    async def confirmed(self) -> None:
        """As `settled`, behind a look, begun after this was asked, at who leads."""
        try:
            await self._here().confirmed()
        except (Stopped, LogError) as error:
            raise _gone() from error

    async def changed(self, after_lsn: int, timeout_s: float) -> int:
        """Wait until the state's lsn is beyond `after_lsn` or the time is over; its lsn."""
        try:
            return await self._here().changed(after_lsn, timeout_s)
        except Stopped as error:
            raise _gone() from error

    @property
    def log_id(self) -> str:
        """The log's identity; "" once its first record was deleted."""
        return self._here().log_id

    async def witness(self, host: str, lsn: int, digest: str) -> None:
        """Compare the last record that a host knows of with the log; a log that lacks it ends."""
        try:
            await self._here().witness(host, lsn, digest)
        except Stopped as error:
            raise _gone() from error

    async def poll(self, poll: Poll) -> Orders:
        """Orders of a host newer than its stamp; waits up to `poll.wait_ms` for some."""
        try:
            return await self._here().poll(poll)
        except Stopped as error:
            raise _gone() from error

    async def story(self, entity: str) -> Sequence[Record]:
        """The records that name an entity, oldest first."""
        return await self._here().story(entity)

    async def records(self, after_lsn: int, limit: int) -> Sequence[Record]:
        """The next records of the log."""
        return await self._here().records(after_lsn, limit)

    async def finished(self, entity: str) -> Mapping[str, Any] | None:
        """Work that left the state, None when there was none of that name."""
        return await self._here().finished(entity)

    async def dry_run(self, command: SubmitGroup | Change) -> Mapping[str, Any] | Rejection:
        """What would happen with this; nothing is kept."""
        return await self._here().dry_run(command)

    def reasons_for(self, entity: str) -> PendReason | None:
        """Why a job or a group waits, as the last session saw it."""
        return self._here().reasons_for(entity)

    def expected(self, entity: str) -> Estimate | None:
        """When a job or a group that waits is expected to begin, and where."""
        here = self._here()
        return here.sessions.expected(entity, here.clock.now_us())


def _gone() -> Problem:
    return Problem("not_leading", "the controller that was asked has ended; try again")

"""What the API needs of the controller that runs in its process.

The controller's loop implements `Engine`; tests implement it with a small fake. Rules:
  - `ask` answers after the commit, never before; a `Rejection` changed nothing. The answer's
    body: SubmitJob {"job", "queue"}, SubmitGroup {"group", "queue", "jobs"}, Kill {"job"} or
    {"group"}; ids as texts. An idempotent repeat gives the first answer again.
  - `settled` is awaited before `state` is read, and nothing is awaited between the two, so that
    no reader sees what is not committed.
  - Entities are named by their texts (`12`, `12[3]`, `g7`, `c7`, `host:n1`).
  - `finished` gives retired work as {"job": fields of Job, "spec": fields of Spec} or {"group":
    fields of Group, "spec": fields of GroupSpec}.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from xce.controller.core.commands import Command, Rejection, SubmitGroup
from xce.controller.core.fold.indexes import Indexes
from xce.controller.core.time.estimate import Estimate
from xce.controller.core.whatif import Change
from xce.dispatch.protocol import Orders, Poll
from xce.model.config import Config
from xce.model.group import Group, GroupSpec
from xce.model.host import Host, Instance, Observed
from xce.model.job import Job, Spec
from xce.model.records import Record
from xce.model.start import Allocation, Attachment, Claim, Launch, Start
from xce.model.waiting.array import Array
from xce.model.waiting.job_group import JobGroup
from xce.model.waiting.reservation import Reservation
from xce.scheduler.reasons import PendReason


class Answered(Protocol):
    """A command that was taken: `lsn` of its last record, the entity it is about, a body."""

    @property
    def lsn(self) -> int:
        """The last record of the command."""

    @property
    def entity(self) -> str:
        """The entity's text."""

    @property
    def body(self) -> dict[str, Any]:
        """What the asker is told."""


class StateView(Protocol):
    """The state, for reading only."""

    lsn: int
    epoch: int
    at_us: int
    specs: dict[str, Spec]
    group_specs: dict[str, GroupSpec]

    @property
    def jobs(self) -> dict[int, Job]:
        """By key."""

    @property
    def job_groups(self) -> dict[str, JobGroup]:
        """Those that were made, by path."""

    @property
    def reservations(self) -> dict[int, Reservation]:
        """What is kept for somebody, by number."""

    @property
    def arrays(self) -> dict[int, Array]:
        """By number."""

    @property
    def groups(self) -> dict[int, Group]:
        """By number."""

    @property
    def starts(self) -> dict[int, Start]:
        """By number."""

    @property
    def launches(self) -> dict[int, Launch]:
        """By number."""

    @property
    def allocations(self) -> dict[int, Allocation]:
        """By number."""

    @property
    def claims(self) -> dict[int, Claim]:
        """By number."""

    @property
    def attachments(self) -> dict[int, Attachment]:
        """By number."""

    @property
    def instances(self) -> dict[str, Instance]:
        """By key."""

    @property
    def hosts(self) -> dict[str, Host]:
        """By name."""

    @property
    def observed(self) -> dict[str, Observed]:
        """What ticks said, by host, or by `TYPE@LABEL` for pools."""

    @property
    def config(self) -> Config:
        """The configuration in force."""

    def last(self, counter: str) -> int:
        """The last number that a counter gave out."""

    @property
    def index(self) -> Indexes:
        """What it can be asked without a search."""


class Engine(Protocol):
    """The controller, as the API sees it."""

    @property
    def state(self) -> StateView:
        """What is committed, once `settled` returned."""

    @property
    def anchor(self) -> tuple[int, str]:
        """Lsn and hash of the last committed record, for agents to remember."""

    @property
    def about(self) -> Mapping[str, Any]:
        """The log: {"name", "version", "durability": settings read back}."""

    @property
    def refused_hosts(self) -> Mapping[str, str]:
        """Hosts that asked to be let in and were refused last, and why."""

    async def ask(self, command: Command) -> Answered | Rejection:
        """Decide, commit, answer."""

    async def settled(self) -> None:
        """Wait until no commit is under way."""

    @property
    def now_us(self) -> int:
        """The controller's time, on which leases run."""

    async def confirmed(self) -> None:
        """As `settled`, behind a look, begun after this was asked, at who leads."""

    async def changed(self, after_lsn: int, timeout_s: float) -> int:
        """Wait until the state's lsn is beyond `after_lsn` or the time is over; its lsn."""

    @property
    def log_id(self) -> str:
        """The log's identity; "" once its first record was deleted."""

    async def witness(self, host: str, lsn: int, digest: str) -> None:
        """Compare the last record that a host knows of with the log; a log that lacks it ends."""

    async def poll(self, poll: Poll) -> Orders:
        """Orders of a host newer than its stamp; waits up to `poll.wait_ms` for some."""

    async def story(self, entity: str) -> Sequence[Record]:
        """The records that name an entity, oldest first."""

    async def records(self, after_lsn: int, limit: int) -> Sequence[Record]:
        """The next records of the log."""

    async def finished(self, entity: str) -> Mapping[str, Any] | None:
        """Work that left the state, None when there was none of that name."""

    async def dry_run(self, command: SubmitGroup | Change) -> Mapping[str, Any] | Rejection:
        """What a session would do with the gang now, nothing else waiting: {"fits", "never",
        "members": [{"role", "rank", "hosts": [{"host", "tasks", "instances"}]}], "reason": a
        sentence}; nothing is kept."""

    def reasons_for(self, entity: str) -> PendReason | None:
        """Why a job or a group waits, as the last session saw it."""

    def expected(self, entity: str) -> Estimate | None:
        """When a job or a group that waits is expected to begin, and where; None if unknown."""

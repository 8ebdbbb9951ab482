"""The tables of the state: which kinds of entities there are, and their names for readers."""

from typing import Any

from msgspec import Struct

from xce.model.config import Config
from xce.model.group import Group
from xce.model.host import Host, Instance, Observed
from xce.model.job import Job
from xce.model.start import Allocation, Attachment, Claim, Launch, Start
from xce.model.waiting.array import Array
from xce.model.waiting.job_group import JobGroup
from xce.model.waiting.queue import Queue
from xce.model.waiting.reservation import Reservation
from xce.model.waiting.share import Share

Key = int | str


class Counter(Struct, frozen=True, gc=False, kw_only=True):
    """The last number given out of one kind; never goes back."""

    name: str
    last: int


class Setting(Struct, frozen=True, gc=False, kw_only=True):
    """The configuration in force, as an entity, so that cuts and digests hold it too."""

    name: str
    lsn: int
    digest: str
    config: Config


TABLES: dict[str, type[Struct]] = {
    "setting": Setting,
    "counter": Counter,
    "host": Host,
    "instance": Instance,
    "array": Array,
    "job": Job,
    "group": Group,
    "start": Start,
    "allocation": Allocation,
    "launch": Launch,
    "claim": Claim,
    "attachment": Attachment,
    "observed": Observed,
    "job_group": JobGroup,
    "share": Share,
    "queue": Queue,
    "reservation": Reservation,
}


class Tables:
    """The tables by name, for readers."""

    tables: dict[str, dict[Key, Any]]

    @property
    def jobs(self) -> dict[int, Job]:
        """Live and recently ended jobs by key."""
        return self.tables["job"]  # type: ignore[return-value]

    @property
    def reservations(self) -> dict[int, Reservation]:
        """What is kept for somebody from a moment on."""
        return self.tables["reservation"]  # type: ignore[return-value]

    @property
    def arrays(self) -> dict[int, Array]:
        """Job arrays by number, until all their elements have left."""
        return self.tables["array"]  # type: ignore[return-value]

    @property
    def groups(self) -> dict[int, Group]:
        """Live and recently ended groups by number."""
        return self.tables["group"]  # type: ignore[return-value]

    @property
    def starts(self) -> dict[int, Start]:
        """Starts whose jobs are not retired."""
        return self.tables["start"]  # type: ignore[return-value]

    @property
    def launches(self) -> dict[int, Launch]:
        """Launches whose jobs are not retired."""
        return self.tables["launch"]  # type: ignore[return-value]

    @property
    def allocations(self) -> dict[int, Allocation]:
        """What is granted now."""
        return self.tables["allocation"]  # type: ignore[return-value]

    @property
    def claims(self) -> dict[int, Claim]:
        """Claims by number."""
        return self.tables["claim"]  # type: ignore[return-value]

    @property
    def attachments(self) -> dict[int, Attachment]:
        """Attachments by number."""
        return self.tables["attachment"]  # type: ignore[return-value]

    @property
    def instances(self) -> dict[str, Instance]:
        """Instances by key."""
        return self.tables["instance"]  # type: ignore[return-value]

    @property
    def job_groups(self) -> dict[str, JobGroup]:
        """Job groups that were made, by path."""
        return self.tables["job_group"]  # type: ignore[return-value]

    @property
    def hosts(self) -> dict[str, Host]:
        """Hosts by name."""
        return self.tables["host"]  # type: ignore[return-value]

    @property
    def observed(self) -> dict[str, Observed]:
        """What ticks said, by host, or by `TYPE@LABEL` for pools."""
        return self.tables["observed"]  # type: ignore[return-value]

    @property
    def shares(self) -> dict[str, Share]:
        """Accounts of share trees that were charged, by path."""
        return self.tables["share"]  # type: ignore[return-value]

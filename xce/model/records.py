"""What may be written down: the records of the write-ahead log and their bodies.

A record is one decision. Its body holds, in declared order, the facts that its kind is about
(contract.md lists them) and, last, `then`: every change that follows, spelled out one by one
with the event that caused it. `apply` creates what the facts name and makes the changes of
`then`; it derives nothing, so an old log means the same under later tables.

The first record of a cause carries its whole input; texts that an input names by hash (specs,
scripts, environments) are blobs of the same or an earlier transaction. A body's version is the
class attribute `V`; older bodies are upcast when read, newer ones refuse to start.
"""

from typing import Any, ClassVar

from msgspec import Struct

from xce.model.config import Config, PoolConfig, TypeConfig
from xce.model.host import HostFacts
from xce.model.placing import AttachmentPlan, ClaimPlan, LaunchPlan, MemberPlan, Share


class Change(Struct, frozen=True, gc=False, array_like=True):
    """One change of one entity.

    `what` is the table (`job`, `launch`, ...), `key` the entity's key in it, `event` the event of
    its machine ("" where no state moves), `set` the fields and their new values; None removes the
    entity from the state.
    """

    what: str
    key: int | str
    event: str
    set: dict[str, Any] | None


class Body(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=False):
    """What all bodies have: the changes that follow from the facts."""

    V: ClassVar[int] = 1
    then: tuple[Change, ...] = ()


class Record(Struct, frozen=True, gc=False, kw_only=True):
    """One line of the log. `hash` chains it to the one before; the log computes it."""

    lsn: int
    epoch: int
    at_us: int
    kind: str
    v: int
    cause: str
    actor: str
    entities: tuple[str, ...]
    body: Body


class LeaderStarted(Body, frozen=True, gc=False, kw_only=True):
    """A controller took over: every host joins anew, nothing heard before is evidence."""

    holder: str
    version: str
    database: str
    boot_id: str
    resumed_lsn: int


class ConfigLoaded(Body, frozen=True, gc=False, kw_only=True):
    """The configuration in force from here on, whole, with the digest of its text."""

    digest: str
    config: Config


class ConfigChanged(Body, frozen=True, gc=False, kw_only=True):
    """One change of the configuration at run time: the type or pool of this name as it is from
    here on; neither means that it was taken away. The whole configuration is in `then`."""

    what: str
    name: str
    type: TypeConfig | None = None
    pool: PoolConfig | None = None


class TickOf(Struct, frozen=True, gc=False, array_like=True):
    """What changed of one host or pool: (place in the tick's columns, value); None is unknown."""

    of: str
    moves: tuple[tuple[int, int | str | None], ...]


class Tick(Body, frozen=True, gc=False, kw_only=True):
    """One sample of the observed columns that somebody looks at: only what left its dead band,
    became known or went stale. `dropped` are columns that nobody looks at any more."""

    columns: tuple[str, ...]
    changes: tuple[TickOf, ...]
    dropped: tuple[str, ...] = ()


class CutClosed(Body, frozen=True, gc=False, kw_only=True):
    """A cut was closed: rows of the newest version of each entity at `cut_lsn`."""

    cut_lsn: int
    count: int
    digest: str


class Truncated(Body, frozen=True, gc=False, kw_only=True):
    """A prefix of the log up to `upto_lsn` was deleted; `hash` carries the chain on."""

    upto_lsn: int
    hash: str


class ReportRefused(Body, frozen=True, gc=False, kw_only=True):
    """An agent's or provider's report did not fit; its source is closed."""

    host: str
    report: str
    why: str


class JobSubmitted(Body, frozen=True, gc=False, kw_only=True):
    """A job was accepted. `array` is the index text, "" for a plain job; `asked` the requirement
    as it was written, where it is not the canonical one that the spec holds."""

    job: int
    array: str = ""
    spec: str
    owner: int
    queue: str
    priority: int
    after: str = ""
    name: str = ""
    asked: str = ""
    held: bool = False


class RoleSpan(Struct, frozen=True, gc=False, array_like=True):
    """The members of one role: `count` jobs from `first_job` on, ranks 0 .. count-1."""

    name: str
    first_job: int
    count: int


class GroupSubmitted(Body, frozen=True, gc=False, kw_only=True):
    """A gang was accepted whole; its members are named by role, first job and count. `asked`
    holds each role's requirement as it was written, where it is not the canonical one."""

    group: int
    name: str
    spec: str
    owner: int
    queue: str
    priority: int
    roles: tuple[RoleSpan, ...]
    member_specs: tuple[str, ...]
    asked: tuple[str, ...] = ()


class GroupSealed(Body, frozen=True, gc=False, kw_only=True):
    """A group that was built up takes no more members."""

    group: int


class JobChanged(Body, frozen=True, gc=False, kw_only=True):
    """One field of a job was changed on request (hold and its end among them)."""

    job: int
    field: str
    new: str


class KillAsked(Body, frozen=True, gc=False, kw_only=True):
    """A user, an operator or a rule asked that a job or a group end."""

    job: int = 0
    group: int = 0
    reason: str = "user"
    signal: str = ""


class PlannedGroup(Struct, frozen=True, gc=False, kw_only=True):
    """One group's (or plain job's) place in a plan, all of it or nothing."""

    start: int
    group: int
    kind: str
    deadline_us: int
    members: tuple[MemberPlan, ...]
    claims: tuple[ClaimPlan, ...] = ()
    attachments: tuple[AttachmentPlan, ...] = ()
    launches: tuple[LaunchPlan, ...] = ()


class Planned(Body, frozen=True, gc=False, kw_only=True):
    """A slice of a session's plan, re-checked and committed."""

    session: int
    slice: int
    snapshot_lsn: int
    now_us: int
    config_lsn: int
    tick_lsn: int
    decision: int
    digest: str
    groups: tuple[PlannedGroup, ...]


class SessionEnded(Body, frozen=True, gc=False, kw_only=True):
    """A session that changed something is over: its counts."""

    session: int
    planned: int
    stale: int
    blocked: int


class LaunchArmed(Body, frozen=True, gc=False, kw_only=True):
    """An agent holds a launch's processes, parked before exec."""

    launch: int
    start: int


class AttachmentReported(Body, frozen=True, gc=False, kw_only=True):
    """A provider's result: `outcome` is ready, failed or released; `value` what processes get."""

    attachment: int
    outcome: str
    value: str = ""
    message: str = ""


class BarrierPassed(Body, frozen=True, gc=False, kw_only=True):
    """Every launch was ARMED, every attachment READY, in one evaluation."""

    start: int
    armed: int
    ready: int
    first_wave: tuple[int, ...]


class WaveOpened(Body, frozen=True, gc=False, kw_only=True):
    """The launches of the next wave may exec: their roles' dependencies are ready."""

    start: int
    wave: int
    launches: tuple[int, ...]


class RoleReady(Body, frozen=True, gc=False, kw_only=True):
    """All members of a role met its readiness."""

    start: int
    role: str


class StartFailed(Body, frozen=True, gc=False, kw_only=True):
    """A start did not pass, or broke after its pass; `missing` names the culprits."""

    start: int
    reason: str
    missing: tuple[str, ...]
    broken: bool = False


class LaunchStarted(Body, frozen=True, gc=False, kw_only=True):
    """An agent journalled `started` and let a launch's processes go."""

    launch: int
    started_us: int


class LaunchEnded(Body, frozen=True, gc=False, kw_only=True):
    """A launch is over. `how`: exited, signalled, aborted, lost. `evidence`: who saw it."""

    launch: int
    how: str
    code: int
    cause_of_end: str
    message: str = ""
    evidence: str
    ran: str
    started_us: int = 0
    ended_us: int = 0
    cpu_us: int = 0
    max_rss_bytes: int = 0


class FailureNoted(Body, frozen=True, gc=False, kw_only=True):
    """A failure opened the window in which one burst counts as one event."""

    group: int
    job: int
    until_us: int


class GroupDecided(Body, frozen=True, gc=False, kw_only=True):
    """A rule (or the lack of one) decided what a failure or a success means for a group."""

    group: int
    rule: int
    action: str
    members: tuple[int, ...]
    reason: str
    not_before_us: int = 0
    keep_until_us: int = 0


class GroupEnded(Body, frozen=True, gc=False, kw_only=True):
    """A group is over, all its launches gone."""

    group: int
    verdict: str
    reason: str


class ClaimReleased(Body, frozen=True, gc=False, kw_only=True):
    """A claim gave back what it held."""

    claim: int


class Retired(Body, frozen=True, gc=False, kw_only=True):
    """Finished work left the state; its story is in the history."""

    ids: tuple[str, ...]


class HostRegistered(Body, frozen=True, gc=False, kw_only=True):
    """A host joined (again): facts, boot id and the incarnation it got."""

    host: str
    incarnation: int
    boot_id: str
    facts: HostFacts
    agent: str = ""


class HostReconciled(Body, frozen=True, gc=False, kw_only=True):
    """A host listed its launches and attachments in this epoch."""

    host: str
    incarnation: int
    launches: tuple[int, ...]
    attachments: tuple[int, ...]


class HostChanged(Body, frozen=True, gc=False, kw_only=True):
    """A host's liveness or admin state moved; `why` is for people."""

    host: str
    event: str
    why: str = ""


class InstanceChanged(Body, frozen=True, gc=False, kw_only=True):
    """An instance's state moved; `why` is for people."""

    instance: str
    event: str
    why: str = ""


BODIES: dict[str, type[Body]] = {kind.__name__: kind for kind in Body.__subclasses__()}

__all__ = [
    "BODIES",
    "Body",
    "Change",
    "PlannedGroup",
    "Record",
    "RoleSpan",
    "Share",
    "TickOf",
]

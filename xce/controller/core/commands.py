"""What may be asked: by users, hosts, sessions and the clock. Values only.

Each command is decided on its own: records, or a Rejection. Every command carries its actor. What
decide cannot see in memory the loop looks up first and puts in as a fact (`seen`: the answer that
an earlier request with the same idempotency key got). `blobs` are texts that the records will name
by hash; they travel in the same transaction.
"""

from msgspec import Struct

from xce.controller.core.asking import Rejection, Request
from xce.controller.core.changing import ModifyJob, MoveJob, RequeueJob, SwitchJob
from xce.controller.core.claims.asking import CreateClaim, EndClaim, PublishIsland, RenewClaim
from xce.dispatch.protocol import Report
from xce.model.actor import Actor
from xce.model.config import Config, PoolConfig, TypeConfig
from xce.model.group import GroupSpec
from xce.model.host import HostFacts
from xce.model.job import Past, Spec
from xce.model.waiting.array import Runs
from xce.scheduler.plan import Placement
from xce.scheduler.time.terms import Eviction, Reserve


class SubmitJob(Struct, frozen=True, gc=False, kw_only=True):
    """Run a command. `spec.resreq` is the text as written; decide resolves it. `blobs` maps the
    hashes that the spec names (script, environment) to their bytes. `queue` "" is the default.
    `after` is a dependency as written; `past` the loop's look-up of what it names, `never` its
    finding that no hosts could ever hold it.
    With `indices` it is an array; `array` is their text, `array_limit` its slot limit (0: none)."""

    actor: Actor
    spec: Spec
    queue: str = ""
    priority: int = -1
    held: bool = False
    array: str = ""
    indices: Runs = ()
    array_limit: int = 0
    owner: int = -1
    after: str = ""
    past: tuple[Past, ...] = ()
    never: str = ""
    blobs: dict[str, bytes] = {}
    request: Request = Request()


class SubmitGroup(Struct, frozen=True, gc=False, kw_only=True):
    """Run a gang: its resolved manifest, and one spec per role (same order as `spec.roles`).
    `never` is the loop's finding that no hosts could ever hold it."""

    actor: Actor
    spec: GroupSpec
    member_specs: tuple[Spec, ...]
    owner: int = -1
    never: str = ""
    blobs: dict[str, bytes] = {}
    request: Request = Request()


class Kill(Struct, frozen=True, gc=False, kw_only=True):
    """End a job (`job` > 0), an array (those of `elements`, none: all) or a group. A member's kill
    ends its group by its failure rules."""

    actor: Actor
    job: int = 0
    group: int = 0
    elements: Runs = ()
    request: Request = Request()


class ChangeJobGroup(Struct, frozen=True, gc=False, kw_only=True):
    """Make a job group, change its limit or take it away: `event` is add, modify or remove. A
    limit below 0 is none."""

    actor: Actor
    path: str
    event: str
    limit: int = -1
    request: Request = Request()


class AddReservation(Struct, frozen=True, gc=False, kw_only=True):
    """Keep hosts whole, or room for `tasks` (on these hosts only, if some are named), for users
    from one moment to another. `name` "" makes one."""

    actor: Actor
    name: str = ""
    users: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    tasks: int = 0
    resreq: str = ""
    from_us: int
    until_us: int
    request: Request = Request()


class RemoveReservation(Struct, frozen=True, gc=False, kw_only=True):
    """Take an advance reservation away."""

    actor: Actor
    name: str
    request: Request = Request()


class Suspend(Struct, frozen=True, gc=False, kw_only=True):
    """Stop a running job (`job` > 0) or gang; keep a pending one from being placed; of an array
    those of `elements` (none: all)."""

    actor: Actor
    job: int = 0
    group: int = 0
    why: str = ""
    elements: Runs = ()
    request: Request = Request()


class Resume(Struct, frozen=True, gc=False, kw_only=True):
    """Let a suspended job or gang go on, a held one be placed; of an array those of `elements`
    (none: all)."""

    actor: Actor
    job: int = 0
    group: int = 0
    elements: Runs = ()
    request: Request = Request()


class LimitArray(Struct, frozen=True, gc=False, kw_only=True):
    """Let at most `limit` elements of an array run at once; 0 takes the limit away."""

    actor: Actor
    job: int
    limit: int
    request: Request = Request()


class LoadConfig(Struct, frozen=True, gc=False, kw_only=True):
    """Put a configuration in force; `digest` is of its canonical form."""

    actor: Actor
    config: Config
    digest: str


class ChangeQueue(Struct, frozen=True, gc=False, kw_only=True):
    """Open, close, activate or inactivate a queue; `why` is for people."""

    actor: Actor
    queue: str
    event: str
    why: str = ""
    request: Request = Request()


class TurnWindow(Struct, frozen=True, gc=False, kw_only=True):
    """A queue's window (`dispatches` or `runs`) is open, or shut, from now on."""

    actor: Actor
    queue: str
    window: str
    open: bool


class RegisterHost(Struct, frozen=True, gc=False, kw_only=True):
    """A host (re)joins with what it is.

    `agent` names the host's journal, `log_id` the log that it is of, `epoch` and `anchor_*` the
    highest that it saw, `can` what its agent does beyond the first version. Facts of the loop:
    `own_log` is this log's identity; `anchor_at` is the hash that it has at the host's anchor,
    `BEYOND` its end, or "" where there is nothing to compare; `quiet_us` is how long the present
    incarnation was not heard, -1 when it never was.
    """

    actor: Actor
    host: str
    boot_id: str
    facts: HostFacts
    agent: str = ""
    log_id: str = ""
    epoch: int = 0
    anchor_lsn: int = 0
    anchor_hash: str = ""
    own_log: str = ""
    anchor_at: str = ""
    quiet_us: int = -1
    can: tuple[str, ...] = ()


BEYOND = "beyond"
"""`RegisterHost.anchor_at` of a host that saw records which this log does not have."""


class TakeReport(Struct, frozen=True, gc=False, kw_only=True):
    """One report of a host; a batch is many commands of one step."""

    actor: Actor
    host: str
    incarnation: int
    report: Report


class HostEvent(Struct, frozen=True, gc=False, kw_only=True):
    """Liveness (`miss hear grace_end`, by the clock) or admin (`drain close open remove`, by
    people) or `lost`: an operator's audited word that nothing runs there any more."""

    actor: Actor
    host: str
    event: str
    why: str = ""


class LeasesOver(Struct, frozen=True, gc=False, kw_only=True):
    """A host was not heard for `quiet_us`: work with a lease may be over there by now."""

    actor: Actor
    host: str
    quiet_us: int


class HostFenced(Struct, frozen=True, gc=False, kw_only=True):
    """A fencing hook said that nothing runs on a host any more. `incarnation` and `down_us` name
    the silence in which it was asked."""

    actor: Actor
    host: str
    incarnation: int
    down_us: int
    why: str


class TimerDue(Struct, frozen=True, gc=False, kw_only=True):
    """A deadline that the state named has passed; decide checks that it still stands."""

    actor: Actor
    what: str
    key: int


class CommitPlan(Struct, frozen=True, gc=False, kw_only=True):
    """A slice of a session's plan: at most 256 groups, re-checked, all or nothing per group; the
    last one says what is reserved.
    `config_lsn` is the configuration that the session saw."""

    actor: Actor
    session: int
    slice: int
    snapshot_lsn: int
    config_lsn: int
    snapshot_us: int
    digest: str
    placements: tuple[Placement, ...]
    tick_lsn: int = 0
    reserves: tuple[Reserve, ...] = ()
    evictions: tuple[Eviction, ...] = ()


class CommitResumes(Struct, frozen=True, gc=False, kw_only=True):
    """The part of a session's plan that gives suspended work back what it lent: by gang, or by
    plain job where there is none. Checked again, all or nothing for each."""

    actor: Actor
    session: int
    snapshot_lsn: int
    config_lsn: int
    snapshot_us: int
    digest: str
    resumes: tuple[tuple[int, int], ...]
    tick_lsn: int = 0


class EndSession(Struct, frozen=True, gc=False, kw_only=True):
    """A session that changed something is over."""

    actor: Actor
    session: int
    blocked: int
    stale: int
    planned: int


class NoteCut(Struct, frozen=True, gc=False, kw_only=True):
    """A cut was closed and is durable."""

    actor: Actor
    cut_lsn: int
    count: int
    digest: str


class StartLeading(Struct, frozen=True, gc=False, kw_only=True):
    """A controller took over with a new epoch; the first record it writes."""

    actor: Actor
    holder: str
    version: str
    database: str
    boot_id: str
    resumed_lsn: int


class AddType(Struct, frozen=True, gc=False, kw_only=True):
    """Declare a resource type at run time, or change one that was declared."""

    actor: Actor
    type: TypeConfig
    request: Request = Request()


class AddPool(Struct, frozen=True, gc=False, kw_only=True):
    """Declare a pool of a shared type at run time, or change one."""

    actor: Actor
    pool: PoolConfig
    request: Request = Request()


class RemoveResource(Struct, frozen=True, gc=False, kw_only=True):
    """Take a type away, or a pool where the name is `TYPE@LABEL`."""

    actor: Actor
    name: str
    request: Request = Request()


class Sample(Struct, frozen=True, gc=False, kw_only=True):
    """What is heard now of a host, or of a pool (`TYPE@LABEL`); None is unknown or stale."""

    of: str
    values: tuple[tuple[str, int | str | None], ...]


class TakeTick(Struct, frozen=True, gc=False, kw_only=True):
    """The reported values at this moment; decide writes down what is looked at and moved."""

    actor: Actor
    samples: tuple[Sample, ...]


Command = (
    AddReservation | RemoveReservation |
    SubmitJob | SubmitGroup | Kill | ChangeJobGroup | LimitArray | RequeueJob | Suspend | Resume
    | ModifyJob | SwitchJob | MoveJob | LoadConfig | ChangeQueue | TurnWindow | RegisterHost
    | TakeReport | HostEvent | LeasesOver | HostFenced | TimerDue | CommitPlan | CommitResumes
    | CreateClaim | RenewClaim | EndClaim | PublishIsland | EndSession | NoteCut | StartLeading
    | AddType | AddPool | RemoveResource | TakeTick
)  # fmt: skip

# What is declared in a file of its own and used under this name.
__all__ = [
    "CreateClaim", "EndClaim", "ModifyJob", "MoveJob", "Past", "PublishIsland", "Rejection",
    "RenewClaim", "Request", "RequeueJob", "SwitchJob",
]  # fmt: skip

"""What controller and agents say to each other, version 1.

Agents speak first and only over HTTP: they register, then keep one long poll for orders open and
post batches of reports. Orders are levels, not edges: the target that a launch (PREPARED <
RUNNING < GONE) or an attachment (READY < GONE) is to reach. An agent refuses an epoch below the
highest it saw, and for one launch or attachment the highest target it ever saw holds, so lost,
repeated and crossed orders are harmless. `stamp` numbers the controller's orders within an epoch:
a poll names the last one whose orders are durable on the host, the answer holds all newer ones.

`generation` is the lsn of the record that granted a launch or an attachment; it stands for one
attempt on one host. Both sides compare it: a number with another generation is of another
history, and is neither done nor believed. In an order 0 is something that the log does not know.

A report is kept by the host until an answer lists its `seq`: that answer is given after commit.
"""

from msgspec import Struct

from xce.model.host import HostFacts

PROTOCOL = 1

PREPARED, RUNNING, READY, GONE = "PREPARED", "RUNNING", "READY", "GONE"
LEASES, UNKILLABLE, FREEZING = "leases", "unkillable", "freezing"
"""What was added to version 1: a side says what it can, and is asked for nothing else. An agent
that can LEASES stops work `lease_us` after the last poll it sent that was answered; one that can
FREEZING does what `freeze` of its orders says; a controller that can UNKILLABLE takes reports of
that name."""


class Message(Struct, frozen=True, gc=False, kw_only=True):
    """Common base: encoded with its fields in declared order."""


class Register(Message, frozen=True, gc=False, kw_only=True):
    """A host (re)joins. `agent` names its journal, which may be moved or lost; `log_id` is the log
    that the journal is of; `epoch`, `anchor_lsn`: the highest this host has seen."""

    protocol: int
    host: str
    boot_id: str
    facts: HostFacts
    agent: str = ""
    epoch: int = 0
    anchor_lsn: int = 0
    anchor_hash: str = ""
    log_id: str = ""
    can: tuple[str, ...] = ()


class Registered(Message, frozen=True, gc=False, kw_only=True):
    """The incarnation this registration got; the agent reconciles next. Its journal is of log
    `log_id` from now on. It is to be heard at least every `heartbeat_us`."""

    protocol: int
    epoch: int
    incarnation: int
    heartbeat_us: int
    log_id: str = ""
    can: tuple[str, ...] = ()


class Task(Message, frozen=True, gc=False, kw_only=True):
    """Everything needed to prepare a launch. `script` is text to be run by a shell, or "".

    `processes` processes are started, each with XCE_RANK = first_rank + i and XCE_LOCAL_RANK = i.
    Output paths may hold `%J`, `%I` resolved by the controller; relative ones are under `cwd`.
    `files`: content by variable; the host writes each to a file of the user's before the launch is
    armed, sets the variable to its path, and removes it when the launch is over.
    `anew` names the files (stdout, stderr) that the first process empties before it is parked.
    `stop_signal` ("": TERM) asks its processes to end, before SIGKILL.
    `run_limit_us` of running, and the moment `terminate_us`, are enforced by the host itself.
    `lease_us` > 0: the supervisor stops it that long after its agent sent the last poll that was
    answered. A process that is there `unkillable_after_us` after SIGKILL is told of.
    `nice` makes its processes that much less important.
    `ready_port` > 0: once started, the host reports Probed when that port accepts a connection.
    """

    job: str
    command: tuple[str, ...]
    script: str = ""
    cwd: str = ""
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    stdin: str = ""
    stdout: str = ""
    stderr: str = ""
    user: str = ""
    uid: int = -1
    gid: int = -1
    umask: int = 0o022
    processes: int = 1
    first_rank: int = 0
    mem_bytes: int = 0
    run_limit_us: int = 0
    terminate_us: int = 0
    ready_port: int = 0
    kill_grace_us: int = 10_000_000
    stop_signal: str = ""
    anew: tuple[str, ...] = ()
    lease_us: int = 0
    unkillable_after_us: int = 30_000_000
    nice: int = 0


class LaunchOrder(Message, frozen=True, gc=False, kw_only=True, tag="launch"):
    """Bring a launch to `target`. `task` is there for PREPARED, and for RUNNING where the host
    may not have prepared it yet; `go_env` completes the environment at RUNNING.
    `stop_reason` says why at GONE; `signals` are (number, name) pairs, each acts at most once.
    At RUNNING the limits are those of now, for they may move while it runs; -1 says nothing.
    `freeze`: odd, once it was let go none of its processes is to run; even, they are to go on; the
    highest ever seen holds. At GONE, odd means that others may have its room: it is killed without
    running again."""

    launch: int
    job: int
    attempt: int
    generation: int
    target: str
    task: Task | None = None
    go_env: dict[str, str] = {}
    stop_reason: str = ""
    signals: tuple[tuple[int, str], ...] = ()
    run_limit_us: int = -1
    terminate_us: int = -1
    freeze: int = 0


class AttachmentOrder(Message, frozen=True, gc=False, kw_only=True, tag="attachment"):
    """Bring an attachment to `target` through its provider."""

    attachment: int
    claim: int
    generation: int
    target: str
    provider: str = ""
    name: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    uid: int = -1


Order = LaunchOrder | AttachmentOrder


class Observed(Message, frozen=True, gc=False, kw_only=True):
    """What is reported on the host now: (name, value, age in microseconds), as reporters wrote
    it. It is not acknowledged: the newest wins, and what is not told any more goes stale."""

    values: tuple[tuple[str, int | float | str, int], ...] = ()


class Poll(Message, frozen=True, gc=False, kw_only=True):
    """Ask for orders; also the host's sign of life. `stamp` counts within `epoch`. The anchor is
    the last record that the host knows of, so that a new leader on an older log is found out."""

    protocol: int
    host: str
    incarnation: int
    epoch: int
    stamp: int
    wait_ms: int = 5_000
    log_id: str = ""
    anchor_lsn: int = 0
    anchor_hash: str = ""
    observed: Observed | None = None


class Orders(Message, frozen=True, gc=False, kw_only=True):
    """Orders newer than the poll's stamp. `reconcile`: list your launches and attachments now,
    naming `question`;
    `register`: your incarnation is not the current one, register again."""

    protocol: int
    epoch: int
    incarnation: int
    stamp: int
    orders: tuple[Order, ...] = ()
    reconcile: bool = False
    question: int = 0
    register: bool = False
    anchor_lsn: int = 0
    anchor_hash: str = ""


class Armed(Message, frozen=True, gc=False, kw_only=True, tag="armed"):
    """All processes of a launch are parked before exec."""

    seq: int
    launch: int
    generation: int


class Started(Message, frozen=True, gc=False, kw_only=True, tag="started"):
    """`started` is durable on the host and the processes were let go."""

    seq: int
    launch: int
    generation: int
    at_us: int


class Ended(Message, frozen=True, gc=False, kw_only=True, tag="ended"):
    """A launch is over and its whole process tree gone.

    `how`: exited (code), signalled (code = signal number), aborted (never let go; `cause_of_end`
    says why, for a failed preparation with the reason), lost (proven gone, outcome unknown).
    `cause_of_end`: "" | killed | stopped | oom | run_limit | deadline | lease | prepare_failed |
    bad_task (it could not be prepared anywhere, by its own fault) |
    supervisor_died | reboot. `ran`: yes no unknown (was `started` journalled?).
    """

    seq: int
    launch: int
    generation: int
    how: str
    code: int = 0
    cause_of_end: str = ""
    message: str = ""
    ran: str = "yes"
    evidence: str = "supervisor"
    started_us: int = 0
    ended_us: int = 0
    cpu_us: int = 0
    max_rss_bytes: int = 0


class AttachmentResult(Message, frozen=True, gc=False, kw_only=True, tag="attachment"):
    """A provider's result. `outcome`: ready failed released."""

    seq: int
    attachment: int
    generation: int
    outcome: str
    value: str = ""
    message: str = ""


class Probed(Message, frozen=True, gc=False, kw_only=True, tag="probed"):
    """A launch met its role's readiness (port open, line seen, probe passed)."""

    seq: int
    launch: int
    generation: int


class Frozen(Message, frozen=True, gc=False, kw_only=True, tag="frozen"):
    """What `freeze` of an order asked is done: odd, none of the launch's processes runs any more;
    even, they go on."""

    seq: int
    launch: int
    generation: int
    freeze: int


class Unkillable(Message, frozen=True, gc=False, kw_only=True, tag="unkillable"):
    """A process of a launch outlives SIGKILL. The launch is not over; its end is told as always,
    when it comes."""

    seq: int
    launch: int
    generation: int
    message: str = ""


class LaunchFound(Message, frozen=True, gc=False, kw_only=True):
    """One launch of a reconciliation. `state`: preparing armed running stopping."""

    launch: int
    generation: int
    state: str


class AttachmentFound(Message, frozen=True, gc=False, kw_only=True):
    """One attachment of a reconciliation. `state`: provisioning ready failed releasing."""

    attachment: int
    generation: int
    state: str
    value: str = ""


class Reconciled(Message, frozen=True, gc=False, kw_only=True, tag="reconciled"):
    """Everything alive on the host. All its unacknowledged outcomes were sent before, in the
    same batch or earlier: what the log knows as live here and is not listed is gone."""

    seq: int
    question: int = 0
    launches: tuple[LaunchFound, ...] = ()
    attachments: tuple[AttachmentFound, ...] = ()


Report = Armed | Started | Ended | AttachmentResult | Probed | Frozen | Unkillable | Reconciled


class Reports(Message, frozen=True, gc=False, kw_only=True):
    """A batch of reports, in the host's order."""

    protocol: int
    host: str
    boot_id: str
    incarnation: int
    epoch: int
    reports: tuple[Report, ...]


class ReportsTaken(Message, frozen=True, gc=False, kw_only=True):
    """The seqs that are committed (or recorded as refused): the host may forget them."""

    epoch: int
    incarnation: int
    taken: tuple[int, ...]
    register: bool = False
    anchor_lsn: int = 0
    anchor_hash: str = ""

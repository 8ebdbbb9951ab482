"""Jobs: the immutable spec of a submission, and the job that runs it.

Equal specs are stored once, by the hash of their canonical JSON; scripts and environments are
blobs of their own that a spec names by hash. A plain job is handled as a group of one, so it
carries the few scheduling fields that a group row carries for a gang.
"""

from msgspec import Struct

from xce.model.config import RetryConfig
from xce.model.ids import TextName
from xce.model.need import Need

TASKS_MAX = 65_536
ONCE, PER_HOST, PER_TASK = "once", "host", "task"


class ClaimTemplate(Struct, frozen=True, gc=False, kw_only=True):
    """Claim text of a group, role or member; made into a claim when a plan is committed.

    `size_bytes` is for amounts (directory), `count` for instances and ports, `same` a topology
    level whose one domain must hold all of it, `use` a standalone claim instead.
    """

    name: str
    type: str = ""
    scope: str = "member"
    count: int = 1
    size_bytes: int = 0
    select: str = ""
    same: str = ""
    use: str = ""
    parameters: tuple[tuple[str, str], ...] = ()


class Topology(Struct, frozen=True, gc=False, kw_only=True):
    """Levels that must (`required`) or should (`preferred`) hold what asks; "" is none.

    `segment` members at a time lie in one domain of the finer level; `balanced` spreads members
    evenly over the domains that are used; `exclusive` keeps the required domain for the asker
    alone while it runs.
    """

    required: str = ""
    preferred: str = ""
    segment: int = 0
    balanced: bool = False
    exclusive: bool = False

    @property
    def inner(self) -> str:
        """The finer of its levels: what segments lie in and members are balanced over."""
        return self.preferred or self.required


class Asked(Struct, frozen=True, gc=False, kw_only=True):
    """What a job asked for where its profile and queue have a say: its own requirement as it was
    written, tasks and limits; 0 and "" are nothing."""

    resreq: str = ""
    tasks: int = 0
    tasks_max: int = 0
    run_limit_us: int = 0
    mem_limit_bytes: int = 0


class Spec(Struct, frozen=True, gc=False, kw_only=True):
    """Everything about a job that never changes: what to run, where output goes, what it needs.

    `tasks` is the number of tasks of the job, the least of them where `tasks_max` is more: it then
    starts with as many as fit; `resreq` the canonical text of what the job, its
    `application` profile and its queue ask for; `need` its resolved form. `script`, `environment`
    are blob hashes ("" for none). `end_if_impossible`: it ends when its
    dependency can never be met. `job_group` is a path like `/a/b`.
    Of its times `run_limit_us` counts while it runs, `begin_us`
    and `terminate_us` are moments; 0 is none. `stop_after_us` of a plain job: its host stops it
    that long after it was last answered (0: never); a member's is its group's. A `rerunnable`
    job runs again after the loss of a host (None: as its profile or queue says); `requeue_exits`
    are the exit values that send it back to its queue ("": theirs). `anew` names the files
    of `stdout stderr` that each attempt empties first. `asked` is what it asked for itself; specs
    of before have none. `reservation` is
    the advance reservation that it joined. An `exclusive` job has its hosts for itself.
    """

    command: tuple[str, ...]
    name: str = ""
    cwd: str = ""
    script: TextName = ""
    environment: TextName = ""
    env: tuple[tuple[str, str], ...] = ()
    stdin: str = ""
    stdout: str = ""
    stderr: str = ""
    tasks: int = 1
    run: str = ONCE
    resreq: str = ""
    need: Need = Need()
    topology: Topology = Topology()
    claims: tuple[ClaimTemplate, ...] = ()
    retries: RetryConfig | None = None
    barrier_timeout_us: int = 0
    run_limit_us: int = 0
    run_estimate_us: int = 0
    begin_us: int = 0
    terminate_us: int = 0
    reservation: str = ""
    user: str = ""
    gid: int = -1
    umask: int = 0o022
    application: str = ""
    user_group: str = ""
    end_if_impossible: bool = False
    job_group: str = ""
    rerunnable: bool | None = None
    requeue_exits: str = ""
    project: str = ""
    description: str = ""
    stop_after_us: int = 0
    mem_limit_bytes: int = 0
    anew: tuple[str, ...] = ()
    asked: Asked | None = None
    tasks_max: int = 0
    exclusive: bool = False


class Exit(Struct, frozen=True, gc=False, kw_only=True):
    """How an attempt ended. `how`: exited signalled aborted lost none; `reason` for people and
    rules (exit signal oom run_limit deadline host_lost claim_lost not_ready killed start_failed
    stopped); `deadline` is the termination time of a job."""

    how: str = "none"
    code: int = 0
    reason: str = ""
    by: str = ""
    host: str = ""


class Past(Struct, frozen=True, gc=False, kw_only=True):
    """A fact of the loop: how a job or gang (`12`, `g7`) ended that is in the state no more;
    of an array how many elements ended how."""

    of: str
    state: str = ""
    exit: Exit | None = None
    tally: tuple[tuple[str, int], ...] = ()


SIGNAL_BASE = 128


def exit_code(ended: Exit | None) -> int | None:
    """The code that a shell would show; None where nothing ran to an end of its own."""
    if ended is None or ended.how not in ("exited", "signalled"):
        return None
    return ended.code if ended.how == "exited" else SIGNAL_BASE + ended.code


class Job(Struct, frozen=True, gc=False, kw_only=True):
    """A job: a member of a group (`group` > 0), or plain.

    `start`, `allocation` are 0 while it has none. The fields from `pending_us` to `last_failure`
    are used by plain jobs only: a gang keeps them in its group. `after` is its dependency as it
    was written ("" for none), `after_ids` the same with numbers for names, `after_latched` the
    places of the conditions in it that hold for good, `after_met_us` when all of it held, else 0.

    `suspended_by` is who stopped it, or holds it: user (its owner), operator or system;
    `suspend_since_us` since when it is stopped, `suspended_us` how long its attempt was stopped
    before that; `resume_us` when it was asked to go on, 0 while nobody did.

    `position` moves it before (less than 0) or behind all other work of its queue. `turn_us` and
    `turn` are a place that it took beside another job of its owner: that one's time of submission,
    and a number next to its (`ids.place_of`); 0 is its own.

    `awaits` is the kind of start that a member of a running gang waits for: restart or repair; ""
    is growth, while it is PENDING, and `nothing` that no start is tried any more. Such a member
    uses the fields of plain jobs about failed starts.

    `requeue` says what becomes of an attempt that is being stopped to run again: PENDING or HELD,
    "" when nobody asked. `requeues` counts requeues by exit value (of a member: its repairs),
    `avoid` names hosts where it ended with one that excludes them.
    """

    key: int
    spec: TextName
    owner: int
    queue: str
    priority: int
    state: str
    submit_us: int
    name: str = ""
    group: int = 0
    position: int = 0
    role: str = ""
    rank: int = 0
    attempt: int = 0
    start: int = 0
    allocation: int = 0
    launches: tuple[int, ...] = ()
    started_us: int = 0
    ended_us: int = 0
    exit: Exit | None = None
    kill_reason: str = ""
    pending_us: int = 0
    not_before_us: int = 0
    start_failures: int = 0
    last_failure: str = ""
    after: str = ""
    after_ids: str = ""
    after_latched: tuple[int, ...] = ()
    after_met_us: int = 0
    turn_us: int = 0
    turn: int = 0
    requeue: str = ""
    requeues: int = 0
    avoid: tuple[str, ...] = ()
    suspension: str = "ACTIVE"
    suspended_by: str = ""
    suspend_why: str = ""
    suspend_since_us: int = 0
    suspended_us: int = 0
    preempted: int = 0
    resume_us: int = 0
    awaits: str = ""

    def stopped_us(self, now_us: int) -> int:
        """How long the attempt was stopped by now: that does not count toward its run limit."""
        since_us = self.suspend_since_us
        return self.suspended_us + (max(0, now_us - since_us) if since_us else 0)

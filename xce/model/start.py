"""Starts and what they consist of: allocations, launches, claims and attachments.

A start is a frozen set of launches and attachments that pass one barrier together. It keeps
tallies (`armed`, `ready`, `ended`), so that a report costs the same in a gang of two and of ten
thousand.
"""

from msgspec import Struct

from xce.model.placing import Holding, Share
from xce.model.waiting.claim import ClaimRequest

STANDALONE = "standalone"


class Start(Struct, frozen=True, gc=False, kw_only=True):
    """A start. `group` is 0 for a plain job. `wave` is the last wave opened, -1 before the pass;
    `waves` the number of waves; `ended` counts launches that are over, `begun` those that
    were let go, `role_tally` per role those (or the members) that met the role's readiness.
    `stop_after_us` > 0: its hosts' supervisors stop it that long after they were last answered,
    and kill it `kill_grace_us` later; both are fixed when it is planned.
    `must_end_us` is when it has to be over since its place is reserved from then; 0 is never.
    `world` of a start of some members of a running gang: processes of the whole gang (under ""),
    and members of each role that it is about."""

    number: int
    group: int
    kind: str
    state: str
    members: tuple[int, ...]
    launches: tuple[int, ...]
    attachments: tuple[int, ...]
    claims: tuple[int, ...]
    opened_us: int
    deadline_us: int
    waves: int = 1
    wave: int = -1
    wave_opened_us: int = 0
    ready_roles: tuple[str, ...] = ()
    armed: int = 0
    ready: int = 0
    ended: int = 0
    begun: int = 0
    role_tally: tuple[int, ...] = ()
    passed_us: int = 0
    reason: str = ""
    stop_after_us: int = 0
    kill_grace_us: int = 0
    must_end_us: int = 0
    world: tuple[tuple[str, int], ...] = ()


class Allocation(Struct, frozen=True, gc=False, kw_only=True):
    """What was granted to one member for one attempt; shares go as their hosts confirm.
    `alternative` is the one of the member's requirement that they serve, 0 for the first. `lent`
    is what of the shares others may have while the member is suspended. `uses` are the standalone
    claims that it is a consumer of."""

    number: int
    job: int
    attempt: int
    shares: tuple[Share, ...]
    launches: tuple[int, ...]
    generation: int
    alternative: int = 0
    lent: tuple[Share, ...] = ()
    uses: tuple[int, ...] = ()


class Launch(Struct, frozen=True, gc=False, kw_only=True):
    """One attempt on one host. `go`: its wave was opened by a committed record; `probed`: its host
    saw its readiness. `generation` is the lsn of the record that granted it: orders and reports
    name it, so that a launch of another history is never taken for this one. `signal_seq`
    numbers the signals asked so far. `ran`: yes, no or unknown, once it ended. `unkillable`: its
    host says that a process of it outlives SIGKILL. `freeze` counts how often its processes
    were to be frozen and to go on: odd is frozen; `frozen` is how far its host has come."""

    number: int
    job: int
    attempt: int
    host: str
    start: int
    allocation: int
    state: str
    wave: int
    processes: int
    first_rank: int
    tasks: int
    generation: int = 0
    go: bool = False
    probed: bool = False
    stop_reason: str = ""
    stop_us: int = 0
    signals: tuple[tuple[int, str], ...] = ()
    started_us: int = 0
    ended_us: int = 0
    how: str = ""
    code: int = 0
    cause_of_end: str = ""
    ran: str = ""
    unkillable: bool = False
    freeze: int = 0
    frozen: int = 0


class Claim(Struct, frozen=True, gc=False, kw_only=True):
    """A durable right. `scope`: group, role, member or standalone; `generation` is the lsn of
    the record that granted its holdings.

    The fields from `requests` on are of standalone claims. What they ask for lies in one domain of
    the level `island` ("" for anywhere); `pending_us` is since when it waits. `until_us` is when
    its lease is over (0: it has none), `on_expiry` what becomes of its consumers then: wait or
    stop. `reclaim` is what becomes of its content: delete or retain. `asked` is how its end was
    asked for: release or delete, "" while nobody did; `ended_us` when it came to hold nothing."""

    number: int
    name: str
    type: str
    scope: str
    owner: int
    state: str
    generation: int
    group: int = 0
    role: str = ""
    job: int = 0
    start: int = 0
    count: int = 1
    holdings: tuple[Holding, ...] = ()
    attachments: tuple[int, ...] = ()
    created_us: int = 0
    why: str = ""
    requests: tuple[ClaimRequest, ...] = ()
    island: str = ""
    queue: str = ""
    priority: int = 0
    pending_us: int = 0
    until_us: int = 0
    on_expiry: str = "wait"
    reclaim: str = "delete"
    asked: str = ""
    ended_us: int = 0

    @property
    def stands_alone(self) -> bool:
        """Whether it outlives jobs: it was asked for by itself."""
        return self.scope == STANDALONE


class Attachment(Struct, frozen=True, gc=False, kw_only=True):
    """A claim made usable on one host; `value` is what processes see of it."""

    number: int
    claim: int
    host: str
    start: int
    state: str
    provider: str
    parameters: tuple[tuple[str, str], ...] = ()
    value: str = ""
    message: str = ""

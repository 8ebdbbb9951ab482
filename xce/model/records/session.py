"""Records of sessions: plans, committed slice by slice."""

from msgspec import Struct

from xce.model.placing import (
    AttachmentPlan,
    BoundClaim,
    ClaimPlan,
    LaunchPlan,
    MemberPlan,
    Share,
)
from xce.model.records.form import Body


class PlannedGroup(Struct, frozen=True, gc=False, kw_only=True):
    """One group's (or plain job's) place in a plan, all of it or nothing. `must_end_us` is when
    it has to be over because its place is reserved from then on; 0 is never. `world` is told of a
    start of some members of a running gang: see Start."""

    start: int
    group: int
    kind: str
    deadline_us: int
    members: tuple[MemberPlan, ...]
    claims: tuple[ClaimPlan, ...] = ()
    attachments: tuple[AttachmentPlan, ...] = ()
    launches: tuple[LaunchPlan, ...] = ()
    must_end_us: int = 0
    world: tuple[tuple[str, int], ...] = ()


class Planned(Body, frozen=True, gc=False, kw_only=True):
    """A slice of a session's plan, re-checked and committed. `resumed` are suspended jobs (their
    gang's members, all of them) that got back what they had lent; `bound` are standalone claims
    that waited."""

    session: int
    slice: int
    snapshot_lsn: int
    now_us: int
    config_lsn: int
    tick_lsn: int
    decision: int
    digest: str
    groups: tuple[PlannedGroup, ...]
    resumed: tuple[int, ...] = ()
    bound: tuple[BoundClaim, ...] = ()


class ReservationSet(Body, frozen=True, gc=False, kw_only=True):
    """Something is kept for somebody from a moment on, or is so from another moment (`before_us`,
    0 for a new one) than was said, for a `cause`. `until_us` is the deadline. The session saw the
    state at `snapshot_lsn` and `snapshot_us`; logs of before, and people, say 0."""

    reservation: int
    kind: str
    group: int = 0
    job: int = 0
    name: str = ""
    owner: int = -1
    from_us: int
    until_us: int
    end_us: int
    shares: tuple[Share, ...]
    cause: str = ""
    before_us: int = 0
    slips: int = 0
    session: int = 0
    users: tuple[int, ...] = ()
    snapshot_lsn: int = 0
    snapshot_us: int = 0


class ReservationEnded(Body, frozen=True, gc=False, kw_only=True):
    """A reservation is over. `why`: used, holder_gone, deadline or removed."""

    reservation: int
    why: str


class PreemptedWork(Struct, frozen=True, gc=False, kw_only=True):
    """A gang (`group`) or a plain job that gives way, and its jobs."""

    group: int = 0
    jobs: tuple[int, ...]


class Preempted(Body, frozen=True, gc=False, kw_only=True):
    """Running work gives way to a gang or a plain job that waits, by `action` (requeue, suspend or
    checkpoint: then it is stopped at `stop_us`). The `reservation` keeps `shares` for whom it gave
    way to, from `from_us` on, until `until_us` at the latest."""

    reservation: int
    group: int = 0
    job: int = 0
    victims: tuple[PreemptedWork, ...]
    action: str
    from_us: int
    until_us: int
    end_us: int
    shares: tuple[Share, ...]
    stop_us: int = 0
    session: int = 0
    snapshot_lsn: int = 0
    snapshot_us: int = 0


class SessionEnded(Body, frozen=True, gc=False, kw_only=True):
    """A session that changed something is over: its counts."""

    session: int
    planned: int
    stale: int
    blocked: int

"""Records of sessions: plans, committed slice by slice."""

from msgspec import Struct

from xce.model.placing import AttachmentPlan, ClaimPlan, LaunchPlan, MemberPlan
from xce.model.records.form import Body


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

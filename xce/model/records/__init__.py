"""What may be written down: the records of the write-ahead log and their bodies.

A record is one decision. Its body holds, in declared order, the facts that its kind is about
(contract.md lists them) and, last, `then`: every change that follows, spelled out one by one
with the event that caused it. `apply` creates what the facts name and makes the changes of
`then`; it derives nothing, so an old log means the same under later tables.

The first record of a cause carries its whole input; texts that an input names by hash (specs,
scripts, environments) are blobs of the same or an earlier transaction. A body's version is the
class attribute `V`; older bodies are upcast when read, newer ones refuse to start.
"""

from xce.model.records.asked import (
    DependencyLatched,
    GroupSealed,
    GroupSubmitted,
    JobChanged,
    JobGroupChanged,
    JobSubmitted,
    KillAsked,
    Latched,
    ResumeAsked,
    RoleSpan,
    SuspendAsked,
)
from xce.model.records.claims import (
    ClaimCreated,
    ClaimDeleted,
    ClaimExpired,
    ClaimReleased,
    ClaimRenewed,
)
from xce.model.records.ends import FailureNoted, GroupDecided, GroupEnded, Retired
from xce.model.records.form import Body, Change, Record
from xce.model.records.hosts import (
    HostChanged,
    HostReconciled,
    HostRegistered,
    InstanceChanged,
    IslandPublished,
)
from xce.model.records.log import (
    ConfigChanged,
    ConfigLoaded,
    CutClosed,
    LeaderStarted,
    ReportRefused,
    Tick,
    TickOf,
    Truncated,
)
from xce.model.records.session import (
    Planned,
    PlannedGroup,
    Preempted,
    PreemptedWork,
    ReservationEnded,
    ReservationSet,
    SessionEnded,
)
from xce.model.records.starts import (
    AttachmentReported,
    BarrierPassed,
    LaunchArmed,
    LaunchEnded,
    LaunchFrozen,
    LaunchStarted,
    RoleReady,
    StartFailed,
    WaveOpened,
)

BODIES: dict[str, type[Body]] = {kind.__name__: kind for kind in Body.__subclasses__()}

__all__ = [
    "BODIES",
    "Change",
    "Body",
    "Record",
    "LeaderStarted",
    "ConfigLoaded",
    "ConfigChanged",
    "TickOf",
    "Tick",
    "CutClosed",
    "Truncated",
    "ReportRefused",
    "JobSubmitted",
    "RoleSpan",
    "GroupSubmitted",
    "GroupSealed",
    "JobChanged",
    "Latched",
    "DependencyLatched",
    "JobGroupChanged",
    "KillAsked",
    "SuspendAsked",
    "ResumeAsked",
    "PlannedGroup",
    "Planned",
    "Preempted",
    "PreemptedWork",
    "ReservationSet",
    "ReservationEnded",
    "SessionEnded",
    "LaunchArmed",
    "AttachmentReported",
    "BarrierPassed",
    "WaveOpened",
    "RoleReady",
    "StartFailed",
    "LaunchStarted",
    "LaunchEnded",
    "LaunchFrozen",
    "FailureNoted",
    "GroupDecided",
    "GroupEnded",
    "ClaimCreated",
    "ClaimRenewed",
    "ClaimExpired",
    "ClaimReleased",
    "ClaimDeleted",
    "Retired",
    "HostRegistered",
    "HostReconciled",
    "HostChanged",
    "InstanceChanged",
    "IslandPublished",
]

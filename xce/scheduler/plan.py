"""What a session proposes: placements that hold together, and one reason per class that waits.

A placement is one gang or plain job, all of it or nothing. The plan names each host's version as
its own earlier placements leave it: the snapshot's, plus one for each earlier placement of this
plan that touches the host. So at commit only a foreign change of a host leads to the full
re-check, and whoever commits adds one to the version of each host that a placed group touches.

The digest is blake2b over the canonical JSON of what is decided: session, lsn, placements
and reservations.
Reasons and counts of work are left out, because a session that is told the reasons of an earlier
one decides the same with less work.
"""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec
from msgspec import Struct

from xce.model.ids import claim_of
from xce.model.job import ClaimTemplate
from xce.model.placing import Holding, Share
from xce.scheduler.reasons import PendReason
from xce.scheduler.time.terms import Eviction, Reserve


class PlacedMember(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A member's place: one share per host, in topology order; the first share is where `run:
    once` runs and where the member's own claims sit. `alternative` is the one of its requirement
    that the shares serve, 0 for the first."""

    job: int
    role: str
    rank: int
    shares: tuple[Share, ...]
    alternative: int = 0


class PlacedClaim(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A claim to be made from a template. `role` is "" at group scope, `job` 0 but for member
    scope; `host` is where its attachment is made."""

    template: ClaimTemplate
    scope: str
    role: str = ""
    job: int = 0
    host: str = ""
    holdings: tuple[Holding, ...] = ()


class Placement(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """One ask's place. `host_versions` is sorted by host; `steps` is what its search took.
    `must_end_us` is when it has to be over, because what it uses is reserved from then on; 0 is
    never."""

    group: int
    members: tuple[PlacedMember, ...]
    claims: tuple[PlacedClaim, ...] = ()
    host_versions: tuple[tuple[str, int], ...] = ()
    steps: int = 0
    must_end_us: int = 0

    @property
    def slots(self) -> int:
        """The slots that it takes."""
        return sum(
            next((amount for name, amount in share.counters if name == "slots"), share.tasks)
            for member in self.members
            for share in member.shares
        )

    @property
    def job(self) -> int:
        """The plain job's key, 0 for a gang."""
        return 0 if self.group else self.members[0].job

    @property
    def claim(self) -> int:
        """The standalone claim that it is for, 0 where it is for work."""
        return claim_of(self.job)


class ClassReason(Struct, frozen=True, gc=False, kw_only=True):
    """Why a class of asks waits, and which of them (labels of the first ones) it was seen on."""

    class_key: str
    reason: PendReason
    first: str
    waiting: int


class Plan(Struct, frozen=True, gc=False, kw_only=True):
    """The outcome of a session: placements in the order in which they were made, and what that is
    suspended goes on, as (gang, 0) or (0, plain job)."""

    session: int
    snapshot_lsn: int
    placements: tuple[Placement, ...]
    reasons: tuple[ClassReason, ...]
    steps: int
    digest: str = ""
    reserves: tuple[Reserve, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    resumes: tuple[tuple[int, int], ...] = ()

    def reason_of(self, class_key: str) -> PendReason | None:
        """Why asks of this class wait, None when none does."""
        for entry in self.reasons:
            if entry.class_key == class_key:
                return entry.reason
        return None


class Seal:
    """The digest of a plan in the making, taken as its placements come."""

    def __init__(self, session: int, snapshot_lsn: int) -> None:
        self._hash = blake2b(b"[%d,%d,[" % (session, snapshot_lsn), digest_size=16)
        self._encoder = msgspec.json.Encoder()
        self._taken = 0

    def take(self, placements: Sequence[Placement]) -> None:
        """Takes in what was added since the last call."""
        if self._taken < len(placements):
            body = self._encoder.encode(placements[self._taken :])
            self._hash.update((b"," if self._taken else b"") + body[1:-1])
            self._taken = len(placements)

    def digest(
        self,
        placements: Sequence[Placement],
        reserves: Sequence[Reserve | Eviction],
        resumes: Sequence[tuple[int, int]],
    ) -> str:
        """The digest of these placements and no more, with what else the plan decides."""
        self.take(placements)
        whole = self._hash.copy()
        whole.update(b"]")
        for more in (reserves, resumes):
            whole.update(b"," + self._encoder.encode(more) if more else b"")
        whole.update(b"]")
        return whole.hexdigest()

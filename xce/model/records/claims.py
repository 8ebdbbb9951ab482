"""Records of standalone claims: made, renewed, over."""

from xce.model.placing import AttachmentPlan, Holding
from xce.model.records.form import Body
from xce.model.waiting.claim import ClaimRequest


class ClaimCreated(Body, frozen=True, gc=False, kw_only=True):
    """A claim was made: `bound` at once, with what it holds and the record's lsn as generation, or
    waiting for a session. `until_us` is when its lease is over, 0 for none."""

    claim: int
    name: str
    owner: int
    queue: str
    priority: int
    requests: tuple[ClaimRequest, ...]
    island: str = ""
    until_us: int = 0
    on_expiry: str = "wait"
    reclaim: str = "delete"
    bound: bool = False
    holdings: tuple[Holding, ...] = ()
    attachments: tuple[AttachmentPlan, ...] = ()


class ClaimRenewed(Body, frozen=True, gc=False, kw_only=True):
    """A lease was made longer or shorter: it is over at `until_us`, it was to be at `before_us`."""

    claim: int
    until_us: int
    before_us: int


class ClaimExpired(Body, frozen=True, gc=False, kw_only=True):
    """A lease ran out: the right is over. `consumers` are jobs that still use it, which end by
    themselves or, with `on_expiry` stop, are stopped."""

    claim: int
    until_us: int
    on_expiry: str
    consumers: tuple[int, ...] = ()


class ClaimReleased(Body, frozen=True, gc=False, kw_only=True):
    """A claim's holder gave its right back."""

    claim: int


class ClaimDeleted(Body, frozen=True, gc=False, kw_only=True):
    """A claim is to go, as soon as nobody uses it."""

    claim: int

"""What is asked of standalone claims, as commands."""

from msgspec import Struct

from xce.controller.core.asking import Request
from xce.model.actor import Actor
from xce.model.waiting.claim import ClaimRequest
from xce.model.waiting.island import IslandFacts


class CreateClaim(Struct, frozen=True, gc=False, kw_only=True):
    """Make a claim. Without `waits` it is bound at once, or lost and not made. The lease is over at
    `until_us`, or `lease_us` from now; 0 is none. Requests are as they were written."""

    actor: Actor
    name: str
    requests: tuple[ClaimRequest, ...]
    island: str = ""
    waits: bool = False
    queue: str = ""
    priority: int = -1
    until_us: int = 0
    lease_us: int = 0
    on_expiry: str = "wait"
    reclaim: str = "delete"
    owner: int = -1
    request: Request = Request()


class PublishIsland(Struct, frozen=True, gc=False, kw_only=True):
    """An island is there with these facts; None takes it away."""

    actor: Actor
    island: str
    facts: IslandFacts | None = None
    request: Request = Request()


class RenewClaim(Struct, frozen=True, gc=False, kw_only=True):
    """Make a lease longer or shorter. `generation` is the one that its holder has, 0 where it does
    not say."""

    actor: Actor
    claim: int
    until_us: int = 0
    lease_us: int = 0
    generation: int = 0
    request: Request = Request()


class EndClaim(Struct, frozen=True, gc=False, kw_only=True):
    """Give a claim back (`release`, by its holder: `generation` as for a renewal), or take it away
    in whatever state it is (`delete`)."""

    actor: Actor
    claim: int
    how: str
    generation: int = 0
    request: Request = Request()

"""Bodies of requests about standalone claims, and the commands that they ask for."""

from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request as HttpRequest

from xce.api.asks import actor_of, decoded, request_of
from xce.api.problem import Problem
from xce.controller.core.commands import CreateClaim, EndClaim, RenewClaim
from xce.model.units import UnitError, parse_duration
from xce.model.waiting.claim import ClaimRequest
from xce.model.waiting.island import Criteria

US_MAX = 1 << 60


class ClaimAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing of a claim: `count` instances that match `select`, or an `amount` in the base unit
    of its type (bytes for sizes). `parameters` are for the type's provider. With
    `match` (and type island) `count` of the published islands that match."""

    type: str
    count: int = 1
    amount: int = 0
    select: str = ""
    parameters: dict[str, str] = {}
    match: Criteria | None = None


class ClaimBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/claims. With `wait` the claim waits for a session, else it is bound at once
    or lost. The lease is `until_us` (a moment) or `lease` (a duration, like 2h)."""

    name: str
    requests: tuple[ClaimAsked, ...]
    island: str = ""
    wait: bool = False
    queue: str = ""
    priority: int = -1
    until_us: int = 0
    lease: str = ""
    on_expiry: str = "wait"
    reclaim: str = "delete"


class RenewBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/claims/{claim}/renew: until when, or for how long from now."""

    until_us: int = 0
    lease: str = ""
    generation: int = 0


class ReleaseBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/claims/{claim}/release; `generation` is the one that its holder has."""

    generation: int = 0


_CLAIM = msgspec.json.Decoder(ClaimBody)
_RENEW = msgspec.json.Decoder(RenewBody)
_RELEASE = msgspec.json.Decoder(ReleaseBody)


def create(http: HttpRequest, body: bytes) -> CreateClaim:
    """The command that POST /v1/claims asks for."""
    said: ClaimBody = decoded(_CLAIM, body)
    if not -1 <= said.priority <= 1_000:
        raise Problem("invalid", "priority: from 0 to 1000", pointer="/priority")
    asked = tuple(
        ClaimRequest(
            type=one.type, count=one.count, amount=one.amount, select=one.select,
            parameters=tuple(sorted(one.parameters.items())), match=one.match,
        )
        for one in said.requests
    )  # fmt: skip
    return CreateClaim(
        actor=actor_of(http), name=said.name, requests=asked, island=said.island, waits=said.wait,
        queue=said.queue, priority=said.priority, on_expiry=said.on_expiry, reclaim=said.reclaim,
        request=request_of(http, body), **_lease(said.until_us, said.lease),
    )  # fmt: skip


def renew(http: HttpRequest, body: bytes, claim: int) -> RenewClaim:
    """The command that a renewal asks for."""
    said: RenewBody = decoded(_RENEW, body)
    lease = _lease(said.until_us, said.lease)
    if not any(lease.values()):
        raise Problem("invalid", "until_us or lease: until when it is to hold", pointer="/until_us")
    return RenewClaim(
        actor=actor_of(http), claim=claim, generation=said.generation,
        request=request_of(http, body), **lease,
    )  # fmt: skip


def release(http: HttpRequest, body: bytes, claim: int) -> EndClaim:
    """The command that a release asks for."""
    said: ReleaseBody = decoded(_RELEASE, body) if body else ReleaseBody()
    return EndClaim(
        actor=actor_of(http), claim=claim, how="release", generation=said.generation,
        request=request_of(http, body),
    )  # fmt: skip


def _lease(until_us: int, lease: str) -> dict[str, Any]:
    """A moment, or how long from now; 0 where neither was said."""
    if until_us and lease:
        raise Problem("invalid", "until_us or lease, not both", pointer="/lease")
    if not 0 <= until_us <= US_MAX:
        raise Problem("invalid", "until_us: a moment in microseconds", pointer="/until_us")
    try:
        lease_us = parse_duration(lease) if lease else 0
    except UnitError as error:
        raise Problem("invalid", f"lease: {error}", pointer="/lease") from None
    if lease and not 0 < lease_us <= US_MAX:
        raise Problem("invalid", "lease: longer than nothing", pointer="/lease")
    return {"until_us": until_us, "lease_us": lease_us}

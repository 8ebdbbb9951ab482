"""What is wrong with what is asked of a standalone claim: Rejections, None where nothing is."""

import re
from collections.abc import Mapping

from xce.controller.core.asking import Rejection
from xce.controller.core.claims.asking import CreateClaim
from xce.controller.core.claims.islands import wrong_match
from xce.controller.core.deciders.limits import AMOUNT_MAX, CLAIM_COUNT_MAX
from xce.controller.core.fold.state import State
from xce.controller.core.time.reservations import reservations
from xce.model.ids import claim_text, parse_claim
from xce.model.resources import UNDECLARED, Kind, Layer, ResourceType, site_types
from xce.model.start import Claim
from xce.model.units import format_moment, nearest
from xce.model.waiting.claim import ISLAND, ON_EXPIRY, RECLAIM, ClaimRequest
from xce.model.waiting.island import Criteria
from xce.resreq.errors import ResreqError
from xce.resreq.parse import parse_select

REQUESTS_MAX = 16
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}\Z", re.ASCII)


def types_of(state: State) -> Mapping[str, ResourceType]:
    """The types that may be asked for."""
    return site_types(state.config.types)


def name(state: State, owner: int, text: str) -> Rejection | None:
    """A name is a word, no id, and the owner's only live claim of it."""
    if _NAME.match(text) is None or parse_claim(text) is not None:
        return Rejection(
            code="invalid",
            message=f"{text[:63]!r} is no name for a claim",
            field="name",
            hint="a letter, then letters, digits, `_`, `.` or `-`; not like c7, which is an id",
        )
    known = state.index.claims.names.get(owner, {}).get(text)
    if known is not None:
        said = f"Claim <{text}> exists already: {claim_text(known)}"
        return Rejection(code="conflict", message=said, field="name")
    return None


def islands(command: CreateClaim) -> Rejection | None:
    """Published islands are claimed by themselves, and do not wait."""
    asked = [one for one in command.requests if one.match is not None]
    if not asked:
        return None
    said = ""
    if len(command.requests) > 1 or command.waits or command.island or asked[0].type != ISLAND:
        said = "islands are claimed by themselves, with type island, and are not waited for"
    if not 1 <= asked[0].count <= CLAIM_COUNT_MAX:
        said = f"count: from 1 to {CLAIM_COUNT_MAX}"
    said = said or wrong_match(asked[0].match or Criteria())
    return Rejection(code="invalid", message=said, field="match") if said else None


def requests(state: State, asked: tuple[ClaimRequest, ...], island: str) -> Rejection | None:
    """At least one request, each of a type that can be held."""
    if not 1 <= len(asked) <= REQUESTS_MAX:
        said = f"a claim has from 1 to {REQUESTS_MAX} requests"
        return Rejection(code="invalid", message=said, field="requests")
    if island and island not in state.config.levels:
        levels = ", ".join(state.config.levels)
        said = f'topology level "{island}" is not declared; the cluster has: {levels}'
        return Rejection(code="invalid", message=said, field="island")
    if asked[0].match is not None:
        return None
    for one in asked:
        refused = _request(types_of(state), one)
        if refused is not None:
            return refused
    provided = [one.type for one in asked if types_of(state)[one.type].provision]
    if provided and len(asked) > 1:
        said = f"{provided[0]} is made usable by a provider: it is claimed by itself"
        return Rejection(code="invalid", message=said, field="requests")
    return None


def _request(types: Mapping[str, ResourceType], one: ClaimRequest) -> Rejection | None:
    type_ = types.get(one.type)
    if type_ is None or type_.layer is Layer.ATTRIBUTE or not type_.consumable:
        known = [name for name, own in types.items() if own.consumable]
        near = "" if one.type in UNDECLARED else nearest(one.type, known)
        said = f"there is no resource type {one.type} that can be claimed"
        hint = f"did you mean {near}?" if near else f"there are {', '.join(sorted(known))}"
        return Rejection(code="invalid", message=said, field="type", hint=hint)
    counted = type_.layer is Layer.INSTANCE or type_.kind is Kind.INTERVAL
    if type_.stands_for:
        said = f"{one.type} stands for {type_.stands_for}: claim that"
        return Rejection(code="invalid", message=said, field="type")
    if counted and (one.amount or not 1 <= one.count <= CLAIM_COUNT_MAX):
        said = f"{one.type} is counted: --count from 1 to {CLAIM_COUNT_MAX}, and no amount"
        return Rejection(code="invalid", message=said, field="count")
    if not counted and (one.count != 1 or not 0 < one.amount <= AMOUNT_MAX):
        said = f"{one.type} is an amount: --amount above nothing, and no count"
        return Rejection(code="invalid", message=said, field="amount")
    return _select(one.select)


def _select(text: str) -> Rejection | None:
    if not text:
        return None
    try:
        parse_select(text)
    except ResreqError as error:
        return Rejection(
            code="bad_resreq", message=error.message, field="select", line=1,
            column=error.column, hint=error.hint, text=text,
        )  # fmt: skip
    return None


def lease(state: State, until_us: int, now_us: int) -> Rejection | None:
    """A lease ends in the future, and within the site's longest."""
    most_us = state.config.claims.lease_max_us
    if until_us and until_us <= now_us:
        said = f"a lease cannot be over at {format_moment(until_us)}: that has passed"
        return Rejection(code="invalid", message=said, field="until")
    if most_us and (not until_us or until_us > now_us + most_us):
        said = "a lease is over within"
        said = f"{said} {most_us // 1_000_000} s here ([claims] lease_max)"
        return Rejection(code="over_limit", message=said, field="until")
    return None


def renewal(state: State, claim: Claim, until_us: int) -> Rejection | None:
    """What is reserved for others from a moment on cannot be held beyond it."""
    mine = {one.instance for one in claim.holdings if one.instance}
    for _, other in sorted(reservations(state).items()):
        theirs = {key for share in other.shares for key in share.instances}
        if mine & theirs and other.from_us < until_us:
            said = f"{sorted(mine & theirs)[0]} is reserved from {format_moment(other.from_us)} on"
            return Rejection(code="conflict", message=said, field="until")
    return None


def words(on_expiry: str, reclaim: str) -> Rejection | None:
    """The words that a claim's end is described in."""
    for field, given, known in (
        ("on_expiry", on_expiry, ON_EXPIRY),
        ("reclaim", reclaim, RECLAIM),
    ):
        if given not in known:
            said = f"{field} is one of {', '.join(known)}, not {given[:40]!r}"
            return Rejection(code="invalid", message=said, field=field)
    return None

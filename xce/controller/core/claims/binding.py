"""Standalone claims that waited and got a place: bound by the plan that found it."""

from collections.abc import Mapping

from xce.controller.core.claims.counts import amounts_of
from xce.controller.core.claims.placing import holdings_of
from xce.controller.core.claims.quota import over_limit
from xce.controller.core.deciders.placing.attaching import parameters_of, provider_of
from xce.controller.core.deciders.placing.numbers import Numbers
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.model.placing import AttachmentPlan, BoundClaim, Holding
from xce.model.start import Claim
from xce.model.waiting.claim import RETAIN
from xce.scheduler.plan import Placement
from xce.scheduler.snapshot import HostTable


def still_waits(
    state: State, table: HostTable, placement: Placement, now_us: int, taken: Mapping[str, int]
) -> bool:
    """Whether a claim that was given a place still waits for one and may have it, behind what the
    same plan gives other claims of its owner."""
    claim = state.claims.get(placement.claim)
    if claim is None or claim.state != "PENDING" or 0 < claim.until_us <= now_us:
        return False
    if not state.index.ordering.dispatches(claim.queue):
        return False
    asked = amounts_of(holdings_of(state, placement))
    asked = {what: amount + taken.get(what, 0) for what, amount in asked.items()}
    return not over_limit(state, table, claim.owner, asked, leased=bool(claim.until_us))


def bound(state: State, numbers: Numbers, placement: Placement) -> BoundClaim:
    """What a placement comes to, numbered."""
    claim, holdings = state.claims[placement.claim], holdings_of(state, placement)
    attachments = attachments_of(state, numbers, claim, holdings)
    return BoundClaim(claim=claim.number, holdings=holdings, attachments=attachments)


def attachments_of(
    state: State, numbers: Numbers, claim: Claim, holdings: tuple[Holding, ...]
) -> tuple[AttachmentPlan, ...]:
    """One on each host of the claim, where its type has a provider."""
    provider = provider_of(state.config, claim.type)
    hosts = dict.fromkeys(one.host for one in holdings) if provider else {}
    request, kept = claim.requests[0], {"reclaim": RETAIN} if claim.reclaim == RETAIN else {}
    made = []
    for host in hosts:
        here = tuple(one for one in holdings if one.host == host)
        told = parameters_of(state, claim.name, claim.type, host, here)
        if request.amount:
            told["size_bytes"] = str(request.amount)
        made.append(
            AttachmentPlan(
                attachment=numbers.next("attachment"),
                claim=claim.number,
                host=host,
                provider=provider,
                parameters=tuple(sorted({**dict(request.parameters), **told, **kept}.items())),
            )
        )
    return tuple(made)


def bind(draft: Draft, one: BoundClaim) -> None:
    """The claim has it from the record in the making on."""
    draft.fire(
        "claim",
        one.claim,
        "bind",
        generation=draft.lsn,
        holdings=one.holdings,
        attachments=tuple(made.attachment for made in one.attachments),
    )

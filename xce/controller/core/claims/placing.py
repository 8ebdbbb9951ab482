"""A standalone claim as an ask of a session, and what a session's answer comes to.

A request for instances is a member of so many tasks that each need one instance and no slot, so
that it may lie on several hosts; an amount, and whatever a provider makes usable, lies on one. All
of a claim is one ask: it gets everything or nothing, in one domain of its island.
"""

from collections.abc import Container, Iterable, Mapping

from xce.controller.core.claims.quota import limit_of
from xce.controller.core.fold.state import State
from xce.controller.core.resources.pools import pooled_holding
from xce.model.ids import claim_key, claim_text
from xce.model.job import ClaimTemplate, Topology
from xce.model.need import InstanceNeed, Need
from xce.model.placing import Holding
from xce.model.resources import Kind, Layer, ResourceType, site_types
from xce.model.start import Claim
from xce.model.waiting.claim import ClaimRequest
from xce.scheduler.plan import Placement
from xce.scheduler.snapshot import Ask, HostTable, RoleAsk

NO_SLOT = (("slots", 0),)
_GONE = ResourceType(name="", layer=Layer.INSTANCE, kind=Kind.INSTANCE)


def waiting_asks(state: State, table: HostTable, now_us: int, known: Container[str]) -> list[Ask]:
    """What standalone claims that wait ask for, in order, but for those known not to fit and those
    whose owner has as much as he may."""
    waiting = (state.claims[one] for one in state.index.claims.waiting)
    mine = [one for one in waiting if claim_text(one.number) not in known]
    asks = [ask_of(state, one, now_us) for one in mine if not limit_of(state, table, one)]
    return sorted(asks, key=lambda ask: ask.order)


def ask_of(state: State, claim: Claim, now_us: int) -> Ask:
    """What a claim that waits asks of a session; its lease is how long it needs it."""
    place = state.index.ordering.of_claim(claim)
    types = site_types(state.config.types)
    return Ask(
        order=place.key,
        class_key=claim_text(claim.number),
        queue=claim.queue,
        owner=claim.owner,
        roles=tuple(
            _role(one, types, claim_key(claim.number), index)
            for index, one in enumerate(claim.requests)
        ),
        topology=Topology(required=claim.island),
        pending_us=claim.pending_us,
        length_us=max(0, claim.until_us - now_us) if claim.until_us else 0,
    )


def _role(
    request: ClaimRequest, types: Mapping[str, ResourceType], key: int, index: int
) -> RoleAsk:
    name = f"request {index + 1}" if index else ""
    # A type that went while it waited is one that no host has.
    type_ = types.get(request.type, _GONE)
    if type_.provision or type_.kind is Kind.INTERVAL:
        template = ClaimTemplate(
            name="", type=request.type, count=request.count, size_bytes=request.amount,
            select=request.select,
        )  # fmt: skip
        return RoleAsk(name=name, jobs=(key,), need=Need(per_task=NO_SLOT), claims=(template,))
    if type_.layer is Layer.INSTANCE:
        one = InstanceNeed(type=request.type, count_per_task=1, select=request.select)
        need = Need(per_task=NO_SLOT, instances=(one,))
        return RoleAsk(name=name, jobs=(key,), need=need, tasks=request.count)
    amounts = tuple(sorted({**dict(NO_SLOT), request.type: request.amount}.items()))
    return RoleAsk(name=name, jobs=(key,), need=Need(per_task=amounts, select=request.select))


def holdings_of(state: State, placement: Placement) -> tuple[Holding, ...]:
    """What a placement grants a claim, in order."""
    return tuple(pooled_holding(state.config.pools, one) for one in _granted(placement))


def _granted(placement: Placement) -> Iterable[Holding]:
    for member in placement.members:
        for share in member.shares:
            for key in share.instances:
                yield Holding(host=share.host, instance=key)
            for counter, amount in share.counters:
                yield Holding(host=share.host, counter=counter, amount=amount)
    for claim in placement.claims:
        yield from claim.holdings

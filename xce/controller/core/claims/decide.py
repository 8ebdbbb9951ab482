"""Making, renewing and ending standalone claims.

A claim that does not wait is BOUND in the record that makes it, or `lost` and not made; lost is an
answer, not a refusal, and so is what a holder hears whose right is over.
"""

from typing import Any

from xce.controller.core.asking import Rejection
from xce.controller.core.claims import wrong
from xce.controller.core.claims.asking import CreateClaim, EndClaim, RenewClaim
from xce.controller.core.claims.binding import attachments_of
from xce.controller.core.claims.islands import chosen
from xce.controller.core.claims.placing import ask_of, holdings_of
from xce.controller.core.claims.quota import asked_of, over_limit, too_many
from xce.controller.core.claims.using import consumers_of, is_over, live_launches
from xce.controller.core.deciders.asked.authority import not_yours, owner_of, queue_of
from xce.controller.core.deciders.placing.numbers import Numbers
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.view import viewer_of
from xce.model.ids import claim_text, job_text
from xce.model.placing import Holding
from xce.model.records import ClaimCreated, ClaimDeleted, ClaimReleased, ClaimRenewed
from xce.model.start import STANDALONE, Claim
from xce.model.waiting.claim import RELEASED
from xce.scheduler.reasons import PendReason
from xce.scheduler.session import dry_run

Answer = tuple[dict[str, Any], dict[str, bytes]]
WON, LOST, WAITING = "won", "lost", "waiting"


def create_claim(draft: Draft, command: CreateClaim) -> Rejection | Answer:
    """Make a claim: bound now, or waiting, or lost and not made."""
    asked = _asked(draft, command)
    if isinstance(asked, Rejection):
        return asked
    state = draft.state
    over = _over_limit(state, asked, waits=command.waits)
    if over:
        hint = "" if asked.until_us else "give it a lease with --until, or release another"
        return Rejection(code="over_limit", message=over, hint=hint)
    if command.waits:
        draft.open(_facts(asked), [claim_text(asked.number)])
        return {"claim": claim_text(asked.number), "outcome": WAITING, "state": "PENDING"}, {}
    holdings = _holdings(state, asked, draft.now_us)
    if isinstance(holdings, PendReason):
        never = holdings.cure == "never"
        return {"outcome": LOST, "reason": holdings.text(), "never": never}, {}
    lsn = state.lsn + 1
    attachments = attachments_of(state, Numbers(state), asked, holdings)
    facts = _facts(asked, bound=True, holdings=holdings, attachments=attachments)
    draft.open(facts, [claim_text(asked.number)])
    return {
        "claim": claim_text(asked.number),
        "outcome": WON,
        "state": "BOUND",
        "generation": lsn,
        "until_us": asked.until_us,
    }, {}


def _asked(draft: Draft, command: CreateClaim) -> Claim | Rejection:
    """The claim as it would wait, or what is wrong with what is asked."""
    state = draft.state
    queue = queue_of(state, command.queue)
    owner = owner_of(state, command.actor, command.owner)
    if isinstance(queue, Rejection):
        return queue
    if isinstance(owner, Rejection):
        return owner
    until_us = draft.now_us + command.lease_us if command.lease_us else command.until_us
    refused = (
        wrong.name(state, owner, command.name)
        or wrong.islands(command)
        or wrong.requests(state, command.requests, command.island)
        or wrong.lease(state, until_us, draft.now_us)
        or wrong.words(command.on_expiry, command.reclaim)
    )
    if refused is not None:
        return refused
    priority = command.priority if command.priority >= 0 else state.config.priority_default
    return Claim(
        number=state.last("claim") + 1, name=command.name, type=command.requests[0].type,
        scope=STANDALONE, owner=owner, state="PENDING", generation=0,
        count=command.requests[0].count, created_us=draft.now_us, requests=command.requests,
        island=command.island, queue=queue.name, priority=priority, pending_us=draft.now_us,
        until_us=until_us, on_expiry=command.on_expiry, reclaim=command.reclaim,
    )  # fmt: skip


def _over_limit(state: State, claim: Claim, *, waits: bool) -> str:
    """What waits is refused only what its owner could never have."""
    table, asked = viewer_of(state).table(), asked_of(state, claim)
    leased = bool(claim.until_us)
    return too_many(state, claim.owner) or over_limit(
        state, table, claim.owner, asked, leased=leased, alone=waits
    )


def _facts(claim: Claim, **more: Any) -> ClaimCreated:
    return ClaimCreated(
        claim=claim.number, name=claim.name, owner=claim.owner, queue=claim.queue,
        priority=claim.priority, requests=claim.requests, island=claim.island,
        until_us=claim.until_us, on_expiry=claim.on_expiry, reclaim=claim.reclaim, **more,
    )  # fmt: skip


def _holdings(state: State, claim: Claim, now_us: int) -> tuple[Holding, ...] | PendReason:
    """The first free islands where those are asked for; else what a session says to the claim if
    nothing else waited: what is reserved stays so."""
    if claim.requests[0].match is not None:
        return chosen(state, claim.requests[0])
    snapshot = viewer_of(state).snapshot(now_us, {}, limit=0)
    found = dry_run(snapshot, ask_of(state, claim, now_us))
    return found if isinstance(found, PendReason) else holdings_of(state, found)


# -- renewing and ending ---------------------------------------------------------------------------


def renew_claim(draft: Draft, command: RenewClaim) -> Rejection | Answer:
    """Another end of a lease; `lost` where the right is over already."""
    state = draft.state
    claim = _own(state, command)
    if isinstance(claim, Rejection):
        return claim
    lost = why_lost(claim, command.generation, draft.now_us)
    if lost:
        return _lost(claim, lost), {}
    until_us = draft.now_us + command.lease_us if command.lease_us else command.until_us
    refused = wrong.lease(state, until_us, draft.now_us) or wrong.renewal(state, claim, until_us)
    if refused is not None:
        return refused
    if not until_us:
        return Rejection(code="invalid", message="until when?", field="until")
    if until_us != claim.until_us:
        facts = ClaimRenewed(claim=claim.number, until_us=until_us, before_us=claim.until_us)
        draft.open(facts, [claim_text(claim.number)])
        draft.patch("claim", claim.number, until_us=until_us)
    return {
        "claim": claim_text(claim.number),
        "outcome": WON,
        "generation": claim.generation,
        "until_us": until_us,
    }, {}


def end_claim(draft: Draft, command: EndClaim) -> Rejection | Answer:
    """Give a claim back, or take it away; it goes once nobody uses it."""
    state = draft.state
    claim = _own(state, command)
    if isinstance(claim, Rejection):
        return claim
    lost = why_lost(claim, command.generation, draft.now_us) if command.how == RELEASED else ""
    if lost and claim.state != "PENDING":
        return _lost(claim, lost), {}
    if claim.state == "RELEASED":
        return _lost(claim, "is not there any more"), {}
    if not claim.asked:
        facts = ClaimReleased if command.how == RELEASED else ClaimDeleted
        draft.open(facts(claim=claim.number), [claim_text(claim.number)])
        draft.patch("claim", claim.number, asked=command.how)
        settle_claim(draft, claim.number)
    claim = state.claims[claim.number]
    waits_for = [job_text(key) for key in consumers_of(state, claim.number)]
    return {
        "claim": claim_text(claim.number),
        "outcome": RELEASED,
        "state": claim.state,
        "waits_for": waits_for,
    }, {}


def settle_claim(draft: Draft, number: int) -> None:
    """Release a claim whose right is over, once nobody uses it."""
    claim = draft.state.claims[number]
    if not is_over(claim) or live_launches(draft.state, number):
        return
    if claim.state == "PENDING":
        draft.fire("claim", number, "release", ended_us=draft.now_us)
    else:
        draft.fire("claim", number, "release")


def why_lost(claim: Claim, generation: int, now_us: int) -> str:
    """Why a holder's right is over, "" while it stands."""
    if generation and generation != claim.generation:
        return f"has generation {claim.generation}, not {generation}"
    if claim.state == "BOUND" and claim.asked:
        return "is being released"
    if claim.state == "BOUND" and 0 < claim.until_us <= now_us:
        return "its lease ran out"
    return "" if claim.state == "BOUND" else _ENDS.get(claim.state, f"is {claim.state}")


_ENDS = {"EXPIRED": "its lease ran out", "FAILED": "failed", "PENDING": "is not bound yet"}


def _lost(claim: Claim, why: str) -> dict[str, Any]:
    return {
        "claim": claim_text(claim.number),
        "outcome": LOST,
        "reason": f"{claim_text(claim.number)} {why}" if not why.startswith("its") else why,
        "state": claim.state,
        "generation": claim.generation,
    }


def _own(state: State, command: RenewClaim | EndClaim) -> Claim | Rejection:
    """The claim, for its owner or an operator."""
    claim = state.claims.get(command.claim)
    text = claim_text(command.claim)
    if claim is None:
        return Rejection(code="not_found", message=f"Claim <{text}>: No matching claim found")
    if not command.actor.may_change(claim.owner):
        return not_yours(command.actor, f"Claim <{text}>")
    if not claim.stands_alone:
        return Rejection(
            code="conflict",
            message=f"Claim <{text}> is of {_whose(claim)} and ends with that",
            hint="only claims made by `xcecli claim create` are renewed and released",
        )
    return claim


def _whose(claim: Claim) -> str:
    return f"g{claim.group}" if claim.group else f"job {job_text(claim.job)}"


__all__ = ["create_claim", "end_claim", "renew_claim", "settle_claim", "why_lost"]

"""What the clock brings to standalone claims: the end of a lease, and the time to leave."""

from xce.controller.core.claims.decide import settle_claim
from xce.controller.core.claims.using import consumers_of
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.ends import lose_claim
from xce.model.ids import claim_text, job_text
from xce.model.records import ClaimExpired, Retired
from xce.model.waiting.claim import STOP


def lease_due(draft: Draft, number: int) -> None:
    """A lease may be over. The right ends at its moment, whoever is dead by then; what is held is
    free once nobody uses it and its attachments are down."""
    claim = draft.state.claims.get(number)
    if claim is None or claim.state not in ("PENDING", "BOUND"):
        return
    if not 0 < claim.until_us <= draft.now_us:
        return
    consumers = tuple(consumers_of(draft.state, number))
    facts = ClaimExpired(
        claim=number, until_us=claim.until_us, on_expiry=claim.on_expiry, consumers=consumers
    )
    draft.open(facts, [claim_text(number), *map(job_text, consumers)])
    if claim.state == "PENDING":
        why = "its lease was over before it was bound"
        draft.fire("claim", number, "expire", ended_us=draft.now_us, why=why)
        return
    draft.fire("claim", number, "expire", why="its lease ran out")
    settle_claim(draft, number)
    if claim.on_expiry == STOP and consumers:
        lose_claim(draft, number)


def retire_claim(draft: Draft, number: int) -> None:
    """Take a claim out of the state that ended long enough ago."""
    state = draft.state
    claim = state.claims.get(number)
    if claim is None or claim.state != "RELEASED":
        return
    if not 0 < claim.ended_us <= draft.now_us - state.config.clean_period_us:
        return
    draft.open(Retired(ids=(claim_text(number),)), [claim_text(number)])
    for attachment in claim.attachments:
        draft.drop("attachment", attachment, "retired")
    draft.drop("claim", number, "retired")

"""How claims are shown that stand alone."""

from typing import Any

from xce.api.ports import StateView
from xce.controller.core.claims.using import consumers_of
from xce.model.ids import job_text
from xce.model.start import Claim


def standalone(state: StateView, claim: Claim) -> dict[str, Any]:
    """What only such claims have."""
    asked = [
        {
            "type": one.type,
            "count": one.count,
            "amount": one.amount or None,
            "select": one.select or None,
        }
        for one in claim.requests
    ]
    return {
        "requests": asked,
        "island": claim.island or None,
        "queue": claim.queue,
        "priority": claim.priority,
        "until_us": claim.until_us or None,
        "on_expiry": claim.on_expiry,
        "reclaim": claim.reclaim,
        "ending": claim.asked or None,
        "created_us": claim.created_us,
        "consumers": [job_text(key) for key in consumers_of(state, claim.number)],
    }

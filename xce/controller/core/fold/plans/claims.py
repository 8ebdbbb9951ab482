"""What records bring into being of standalone claims and of what makes them usable."""

from xce.controller.core.fold.plans.counters import count_up
from xce.controller.core.fold.state import State
from xce.model import records as r
from xce.model.host import Instance
from xce.model.ids import instance_key
from xce.model.placing import AttachmentPlan
from xce.model.start import STANDALONE, Attachment, Claim
from xce.model.waiting.claim import ISLAND
from xce.model.waiting.island import attributes_of


def fold_claim(state: State, record: r.Record, body: r.ClaimCreated) -> None:
    """A claim, bound with what it holds or waiting."""
    claim = Claim(
        number=body.claim, name=body.name, type=body.requests[0].type, scope=STANDALONE,
        owner=body.owner, state="BOUND" if body.bound else "PENDING",
        generation=record.lsn if body.bound else 0, count=body.requests[0].count,
        holdings=body.holdings,
        attachments=tuple(one.attachment for one in body.attachments),
        created_us=record.at_us, requests=body.requests, island=body.island, queue=body.queue,
        priority=body.priority, pending_us=record.at_us, until_us=body.until_us,
        on_expiry=body.on_expiry, reclaim=body.reclaim,
    )  # fmt: skip
    count_up(state, "claim", body.claim)
    state.put("claim", body.claim, claim)
    for one in body.attachments:
        attach(state, one, 0)


def fold_island(state: State, record: r.Record, body: r.IslandPublished) -> None:
    """An island as an instance on no host; what becomes of one that went is in `then`."""
    key = instance_key("", ISLAND, body.island)
    old = state.instances.get(key)
    made = Instance(
        key=key, host="", type=ISLAND, name=body.island, number=0,
        state=old.state if old else "PRESENT", attributes=attributes_of(body.facts),
    )  # fmt: skip
    state.put("instance", key, made)
    count_up(state, "publish_lsn", record.lsn)


def attach(state: State, planned: AttachmentPlan, start: int) -> None:
    """An attachment that its provider is to make."""
    count_up(state, "attachment", planned.attachment)
    made = Attachment(
        number=planned.attachment,
        claim=planned.claim,
        host=planned.host,
        start=start,
        state="PROVISIONING",
        provider=planned.provider,
        parameters=planned.parameters,
    )
    state.put("attachment", planned.attachment, made)

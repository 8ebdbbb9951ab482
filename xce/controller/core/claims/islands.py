"""Islands that are published: written down, matched, and claimed whole.

An island is an instance of the type `island` that is on no host. What may be claimed is PRESENT and
held by nobody; a claim takes the first such of the ranking, or as many as it asks for, or is lost.
"""

from typing import Any

from xce.controller.core.asking import Rejection
from xce.controller.core.claims.asking import PublishIsland
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.ends import lose_claim
from xce.model.actor import ADMIN, OPERATOR, PROVIDER
from xce.model.ids import instance_key
from xce.model.placing import Holding
from xce.model.records import IslandPublished
from xce.model.waiting.claim import ISLAND, ClaimRequest
from xce.model.waiting.island import BAND, LEAST_LOADED, LOWEST_ID, PACK, Criteria, facts_of
from xce.scheduler.islands.match import IslandTable
from xce.scheduler.reasons import Code, PendReason, reason

Answer = tuple[dict[str, Any], dict[str, bytes]]


def key_of(name: str) -> str:
    """The instance that an island is."""
    return instance_key("", ISLAND, name)


def table_of(state: State) -> IslandTable:
    """What is published and may be claimed, kept until something is published."""
    seen = (state.last("publish_lsn"), len(state.index.unfit))
    kept = state.memo.get("islands")
    if kept is None or kept[0] != seen:
        keys = state.index.host_instances.get("", {})
        found = [state.instances[key] for key in keys]
        table = IslandTable({one.name: facts_of(one) for one in found if one.state == "PRESENT"})
        kept = state.memo["islands"] = (seen, table)
    made: IslandTable = kept[1]
    return made


def chosen(state: State, request: ClaimRequest) -> tuple[Holding, ...] | PendReason:
    """The first free islands of the ranking, as many as are asked for; else why not."""
    assert request.match is not None
    table, holders = table_of(state), state.index.holders
    found: list[Holding] = []
    for row in table.ranked(request.match):
        key = key_of(table.names[row])
        if key not in holders:
            found.append(Holding(host="", instance=key))
            if len(found) == request.count:
                return tuple(found)
    return reason(Code.ISLANDS, needed=request.count, available=len(found))


def wrong_match(asked: Criteria) -> str:
    """What is wrong with criteria, "" where nothing is."""
    kind, mark, target = asked.selection.partition(":")
    if kind == BAND and mark and target.isascii() and target.isdigit() and len(target) < 10:
        return ""
    if asked.selection in (LEAST_LOADED, PACK, LOWEST_ID):
        return ""
    return f"selection is least_loaded, pack, lowest_id or load_band:N, not {asked.selection[:40]}"


def publish_island(draft: Draft, command: PublishIsland) -> Rejection | Answer:
    """An island is there, is otherwise, or is no more; who holds one that went loses it."""
    state, name = draft.state, command.island
    if command.actor.kind not in (OPERATOR, ADMIN, PROVIDER):
        return Rejection(code="not_allowed", message="islands are published by operators")
    key, old = key_of(name), state.instances.get(key_of(name))
    if command.facts is None and (old is None or old.state == "GONE"):
        return Rejection(code="not_found", message=f"Island <{name[:64]}>: No such island")
    gone = command.facts is None
    facts = command.facts or facts_of(old)  # type: ignore[arg-type]
    draft.open(IslandPublished(island=name, facts=facts, withdrawn=gone), [f"instance:{key}"])
    holder = state.index.holders.get(key)
    if gone and holder is not None:
        draft.fire("instance", key, "miss", why="withdrawn")
        lose_claim(draft, holder[1])
    elif gone:
        draft.fire("instance", key, "vanish", why="withdrawn")
    elif old is not None:
        draft.fire("instance", key, "report")
    return {"island": name, "state": state.instances[key].state}, {}

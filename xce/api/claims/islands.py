"""Islands over HTTP: published, listed, matched."""

from typing import Any

import msgspec
from fastapi import APIRouter, Query
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import LIMIT_MAX, answer, asked
from xce.api.asks import actor_of, decoded, request_of
from xce.api.ports import Engine
from xce.api.problem import Problem
from xce.controller.core.claims.islands import key_of, wrong_match
from xce.controller.core.commands import PublishIsland
from xce.model.ids import claim_text
from xce.model.waiting.claim import ISLAND
from xce.model.waiting.island import Criteria, IslandFacts, facts_of
from xce.scheduler.islands.match import IslandTable


class IslandBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of PUT /v1/islands/{island}; `load` is in thousandths."""

    tags: tuple[str, ...] = ()
    region: str = ""
    units: int = 0
    load: int = 0
    p50_latency_us: int = 0
    has: tuple[str, ...] = ()


_FACTS = msgspec.json.Decoder(IslandBody)
_CRITERIA = msgspec.json.Decoder(Criteria)
NUMBER_MAX = 1 << 50


class IslandRoutes:
    """The routes of published islands over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["claims"])
        add = router.add_api_route
        add("/v1/islands", self.listing, methods=["GET"])
        add("/v1/islands:match", self.match, methods=["POST"])
        add("/v1/islands/{island}", self.publish, methods=["PUT"])
        add("/v1/islands/{island}", self.withdraw, methods=["DELETE"])
        return router

    async def listing(self) -> Response:
        """All islands that are published, and who holds them."""
        await self._engine.settled()
        state = self._engine.state
        found = [one for one in state.instances.values() if one.type == ISLAND and not one.host]
        items = [
            {
                "name": one.name,
                "state": one.state,
                "holder": self._holder(one.name),
                **msgspec.to_builtins(facts_of(one)),
            }
            for one in sorted(found, key=lambda one: one.name)
            if one.state != "GONE"
        ]
        return answer({"items": items, "total": len(items), "lsn": state.lsn})

    def _holder(self, name: str) -> str | None:
        holder = self._engine.state.index.holders.get(key_of(name))
        return claim_text(holder[1]) if holder is not None else None

    async def publish(self, island: str, request: Request) -> Response:
        """An island is there, or is otherwise than it was."""
        raw = await request.body()
        said: IslandBody = decoded(_FACTS, raw)
        numbers = (said.units, said.load, said.p50_latency_us)
        if not all(0 <= one <= NUMBER_MAX for one in numbers):
            raise Problem("invalid", "units, load, p50_latency_us: from 0 on", pointer="/units")
        words = (*said.tags, *said.has, *([said.region] if said.region else []), island)
        if any(not _is_word(one) for one in words):
            raise Problem("invalid", "names, tags and regions are words without blanks or slashes")
        facts = IslandFacts(**msgspec.structs.asdict(said))
        return await self._ask(request, raw, island, facts)

    async def withdraw(self, island: str, request: Request) -> Response:
        """An island is no more; who holds it loses it."""
        return await self._ask(request, await request.body(), island, None)

    async def _ask(
        self, request: Request, raw: bytes, island: str, facts: IslandFacts | None
    ) -> Response:
        command = PublishIsland(
            actor=actor_of(request), island=island, facts=facts, request=request_of(request, raw)
        )
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})

    async def match(
        self,
        request: Request,
        *,
        explain: bool = Query(False, description="why the others do not match"),
        limit: int = Query(200, ge=1, le=LIMIT_MAX),
    ) -> Response:
        """The islands that match, best first; nothing is taken."""
        said: Criteria = decoded(_CRITERIA, await request.body())
        wrong = wrong_match(said)
        if wrong:
            raise Problem("invalid", wrong, pointer="/selection")
        await self._engine.settled()
        state = self._engine.state
        found = [one for one in state.instances.values() if one.type == ISLAND and not one.host]
        table = IslandTable({one.name: facts_of(one) for one in found if one.state == "PRESENT"})
        ranked = [table.names[row] for row in table.ranked(said)]
        items = [{"name": one, "holder": self._holder(one)} for one in ranked[:limit]]
        body: dict[str, Any] = {"items": items, "total": len(ranked), "lsn": state.lsn}
        if explain:
            body["why_not"] = table.why_not(said)
        return answer(body)


def _is_word(text: str) -> bool:
    return 0 < len(text) <= 128 and text.isprintable() and not set(text) & set(" /,\t")

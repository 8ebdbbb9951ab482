"""Claims: list, show, make, wait for, renew, verify, give back, delete."""

from typing import Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import LIMIT_MAX, answer, asked, cursor_of, page, until
from xce.api.asks import actor_of, request_of
from xce.api.claims import bodies
from xce.api.ports import Engine
from xce.api.problem import Problem
from xce.api.show import Shown, reason_body
from xce.controller.core.claims.decide import LOST, why_lost
from xce.controller.core.commands import EndClaim
from xce.model.ids import claim_text, parse_claim
from xce.model.start import Claim
from xce.model.waiting.claim import DELETED


class ClaimRoutes:
    """The routes of claims over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["claims"])
        add = router.add_api_route
        add("/v1/claims", self.listing, methods=["GET"])
        add("/v1/claims", self.create, methods=["POST"], status_code=201)
        add("/v1/claims/{claim}", self.show, methods=["GET"])
        add("/v1/claims/{claim}", self.delete, methods=["DELETE"])
        add("/v1/claims/{claim}/renew", self.renew, methods=["POST"])
        add("/v1/claims/{claim}/release", self.release, methods=["POST"])
        add("/v1/claims/{claim}/verify", self.verify, methods=["GET"])
        add("/v1/claims/{claim}/wait", self.wait, methods=["GET"])
        return router

    async def listing(
        self,
        *,
        all_: bool = Query(False, alias="all", description="released ones, too"),
        scope: str = Query("", description="standalone, group, role or member"),
        name: str = Query("", max_length=64),
        limit: int = Query(200, ge=1, le=LIMIT_MAX),
        cursor: str = "",
    ) -> Response:
        """Claims by their number."""
        after = cursor_of(cursor)
        await self._engine.settled()
        state = self._engine.state
        shown = Shown(state)
        found = [
            claim
            for number, claim in sorted(state.claims.items())
            if number > after
            and (all_ or claim.state != "RELEASED")
            and scope in ("", claim.scope)
            and name in ("", claim.name)
        ]
        cut, following = page(found, limit, lambda claim: claim.number)
        items = [shown.claim(claim) for claim in cut]
        return answer({"items": items, "next": following, "total": len(found), "lsn": state.lsn})

    async def create(self, request: Request) -> Response:
        """Make a standalone claim. `outcome` is won, waiting, or lost: then there is no claim."""
        command = bodies.create(request, await request.body())
        told = await asked(self._engine, command)
        status = 200 if told.body["outcome"] == LOST else 201
        return answer({**told.body, "lsn": told.lsn}, status)

    async def show(self, claim: str) -> Response:
        """One claim, and why it waits if it does."""
        return answer(self._body(await self._live(claim)))

    def _body(self, found: Claim) -> dict[str, Any]:
        body = Shown(self._engine.state).claim(found)
        if found.state == "PENDING":
            body["reason"] = reason_body(self._engine.reasons_for(claim_text(found.number)))
        return body

    async def renew(self, claim: str, request: Request) -> Response:
        """Another end of a lease; `outcome` is lost where the right is over."""
        command = bodies.renew(request, await request.body(), _number(claim))
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})

    async def release(self, claim: str, request: Request) -> Response:
        """Give a claim back; it goes once nobody uses it."""
        command = bodies.release(request, await request.body(), _number(claim))
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})

    async def delete(self, claim: str, request: Request) -> Response:
        """Take a claim away in whatever state it is; it goes once nobody uses it."""
        raw = await request.body()
        command = EndClaim(
            actor=actor_of(request), claim=_number(claim), how=DELETED,
            request=request_of(request, raw),
        )  # fmt: skip
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})

    async def verify(self, claim: str, generation: int = Query(0, ge=0)) -> Response:
        """Whether the right stands now, under that generation. Told only after this controller was
        seen to lead by a look that began when the question was there."""
        number = _number(claim)
        await self._engine.confirmed()
        state, now_us = self._engine.state, self._engine.now_us
        found = state.claims.get(number)
        if found is None:
            why = "is not there any more" if number <= state.last("claim") else "was never made"
            return answer({"claim": claim_text(number), "valid": False, "reason": why})
        why = why_lost(found, generation, now_us)
        return answer(
            {
                "claim": claim_text(number),
                "valid": not why,
                "reason": why or None,
                "state": found.state,
                "generation": found.generation,
                "until_us": found.until_us or None,
                "now_us": now_us,
                "lsn": state.lsn,
                "epoch": state.epoch,
            }
        )

    async def wait(
        self,
        claim: str,
        timeout: float = Query(30.0, ge=0, le=60),  # noqa: ASYNC109
    ) -> Response:
        """Answers when the claim can be used or never will be, or after `timeout` seconds."""
        number = _number(claim)
        await self._live(claim)

        def over() -> bool | None:
            found = self._engine.state.claims.get(number)
            if found is None or found.state not in ("PENDING", "BOUND"):
                return True
            return True if Shown(self._engine.state).claim(found)["ready"] else None

        done = await until(self._engine, over, timeout)
        return answer({**self._body(await self._live(claim)), "done": bool(done)})

    async def _live(self, text: str) -> Claim:
        number = _number(text)
        await self._engine.settled()
        found = self._engine.state.claims.get(number)
        if found is None:
            raise _unknown(text)
        return found


def _number(text: str) -> int:
    number = parse_claim(text)
    if number is None:
        raise _unknown(text)
    return number


def _unknown(text: str) -> Problem:
    return Problem("not_found", f"Claim <{text[:40]}>: No matching claim found")

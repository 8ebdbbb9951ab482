"""The routes of queues, shares, limits and users; a reload of the configuration."""

from typing import Any, cast

import msgspec
from fastapi import APIRouter
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import answer, asked
from xce.api.asks import actor_of, decoded
from xce.api.ports import Engine
from xce.api.problem import Problem
from xce.api.sharing import shown
from xce.controller.core.commands import ChangeQueue, LoadConfig
from xce.controller.core.deciders.asked.queues import EVENTS
from xce.controller.core.fold.state import State
from xce.model.config import Config
from xce.model.units import nearest


class Why(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of a POST about a queue: the reason, for people; it is written down."""

    why: str = ""


class Loaded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/config: a whole configuration and the digest of its canonical form."""

    config: Config
    digest: str


_WHY = msgspec.json.Decoder(Why)
_LOADED = msgspec.json.Decoder(Loaded)


class SharingRoutes:
    """The routes over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["sharing"])
        add = router.add_api_route
        add("/v1/queues", self.queues, methods=["GET"])
        add("/v1/queues/{queue}/{event}", self.change, methods=["POST"])
        add("/v1/shares", self.shares, methods=["GET"])
        add("/v1/limits", self.limits, methods=["GET"])
        add("/v1/users", self.users, methods=["GET"])
        add("/v1/config", self.load, methods=["POST"])
        return router

    async def _state(self) -> State:
        await self._engine.settled()
        return cast(State, self._engine.state)

    async def queues(self) -> Response:
        """Queues by priority, with the tasks in them as LSF counts them."""
        state = await self._state()
        return _listed(state, shown.queues(state))

    async def shares(self) -> Response:
        """The accounts of share trees: shares, what was used, priority now."""
        state = await self._state()
        return _listed(state, shown.shares(state, state.at_us))

    async def limits(self) -> Response:
        """Limits and how much of each is used."""
        state = await self._state()
        return _listed(state, shown.limits(state))

    async def users(self) -> Response:
        """Users with work, or with bounds of their own."""
        state = await self._state()
        return _listed(state, shown.users(state))

    async def change(self, queue: str, event: str, request: Request) -> Response:
        """Open, close, activate or inactivate a queue."""
        if event not in EVENTS:
            near = nearest(event, EVENTS)
            hint = f"did you mean {near}?" if near else f"known are {', '.join(EVENTS)}"
            raise Problem("not_found", f"queues cannot be asked to {event[:40]}", hint=hint)
        said: Why = decoded(_WHY, await request.body() or b"{}")
        command = ChangeQueue(actor=actor_of(request), queue=queue, event=event, why=said.why)
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})

    async def load(self, request: Request) -> Response:
        """Put a configuration in force; `kept` names what stays because it is in use."""
        said: Loaded = decoded(_LOADED, await request.body())
        command = LoadConfig(actor=actor_of(request), config=said.config, digest=said.digest)
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})


def _listed(state: State, items: list[dict[str, Any]]) -> Response:
    return answer({"items": items, "lsn": state.lsn})

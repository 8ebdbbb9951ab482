"""What operators ask of hosts: drain, open, close, lost, remove. Whether they may is decided."""

import msgspec
from fastapi import APIRouter
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import answer, asked
from xce.api.asks import actor_of, decoded
from xce.api.ports import Engine
from xce.api.problem import Problem
from xce.controller.core.commands import HostEvent
from xce.model.units import nearest

EVENTS = ("drain", "open", "close", "lost", "remove")


class Why(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of a POST about a host: the reason, for people; it is written down."""

    why: str = ""


_WHY = msgspec.json.Decoder(Why)


class OperatorRoutes:
    """The routes of operators over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["cluster"])
        router.add_api_route("/v1/hosts/{host}/{event}", self.change, methods=["POST"])
        return router

    async def change(self, host: str, event: str, request: Request) -> Response:
        """Drain, open or close a host; say that a silent one is lost; remove one without work."""
        if event not in EVENTS:
            near = nearest(event, EVENTS)
            hint = f"did you mean {near}?" if near else f"known are {', '.join(EVENTS)}"
            raise Problem("not_found", f"hosts cannot be asked to {event[:40]}", hint=hint)
        said: Why = decoded(_WHY, await request.body() or b"{}")
        command = HostEvent(actor=actor_of(request), host=host, event=event, why=said.why)
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})

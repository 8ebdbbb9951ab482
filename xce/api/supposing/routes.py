"""What would happen if: POST /v1/what-if; nothing of it is kept."""

from typing import Any

import msgspec
from fastapi import APIRouter
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import answer
from xce.api.asks import actor_of, decoded, submit_job
from xce.api.ports import Engine
from xce.api.problem import Problem, refused
from xce.api.routes.changes import key_of, modification, read_changes
from xce.api.show import expected_body, reason_body
from xce.controller.core.commands import HostEvent, Rejection
from xce.controller.core.whatif import Change, MoreHosts


class More(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """So many hosts more, each like one that is there."""

    like: str
    count: int = 1


class WhatIf(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/what-if, one of: `submit`, as POST /v1/jobs takes it; `change` of `job`, as
    PATCH takes it; `drain`, a host; `add`, hosts like one that is there."""

    submit: msgspec.Raw = msgspec.Raw()
    job: str = ""
    change: msgspec.Raw = msgspec.Raw()
    drain: str = ""
    add: More | None = None


_BODY = msgspec.json.Decoder(WhatIf)


class WhatIfRoutes:
    """The route of what would happen, over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["jobs"])
        router.add_api_route("/v1/what-if", self.look, methods=["POST"])
        return router

    async def look(self, request: Request) -> Response:
        """What would happen if a job were submitted or changed, or hosts were others."""
        said: WhatIf = decoded(_BODY, await request.body())
        change = _change(request, said)
        await self._engine.settled()
        told = await self._engine.dry_run(change)
        if isinstance(told, Rejection):
            raise refused(told)
        return answer(_shown(dict(told)))


def _change(request: Request, said: WhatIf) -> Change:
    given = [one for one in ("submit", "change") if bytes(getattr(said, one))]
    given += [one for one in ("drain", "add") if getattr(said, one)]
    if len(given) != 1 or bool(said.job) != (given == ["change"]):
        raise Problem("invalid", "say one of: submit, job with change, drain, add")
    if bytes(said.submit):
        return submit_job(request, bytes(said.submit))
    if bytes(said.change):
        body = bytes(said.change)
        return modification(request, key_of(said.job), read_changes(body), body)
    if said.add is not None:
        return MoreHosts(like=said.add.like, count=said.add.count)
    return HostEvent(actor=actor_of(request), host=said.drain, event="drain", why="what if")


def _shown(told: dict[str, Any]) -> dict[str, Any]:
    if "reason" in told:
        told["reason"] = reason_body(told["reason"])
        told["expected"] = expected_body(told["expected"])
    return told

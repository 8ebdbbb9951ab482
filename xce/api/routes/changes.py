"""What is asked of jobs that are there: requeue."""

import msgspec
from fastapi import APIRouter
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import answer, asked
from xce.api.asks import actor_of, decoded, request_of
from xce.api.ports import Engine
from xce.api.problem import Problem
from xce.controller.core.commands import RequeueJob
from xce.model.ids import parse_job

WAYS = ("running", "done", "exited")


class RequeueRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/jobs/{job}/requeue: which jobs it is for, and whether it then waits held."""

    which: tuple[str, ...] = ("running",)
    held: bool = False


_REQUEUE = msgspec.json.Decoder(RequeueRequest)


class ChangeRoutes:
    """The routes of changes over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["jobs"])
        add = router.add_api_route
        add("/v1/jobs/{job}/requeue", self.requeue, methods=["POST"], status_code=202)
        return router

    async def requeue(self, job: str, request: Request) -> Response:
        """Let a job run again, under its number."""
        body = await request.body()
        wanted: RequeueRequest = decoded(_REQUEUE, body or b"{}")
        if odd := [way for way in wanted.which if way not in WAYS]:
            said = f"which: {odd[0][:40]} is none of {', '.join(WAYS)}"
            raise Problem("invalid", said, pointer="/which")
        command = RequeueJob(
            actor=actor_of(request), job=key_of(job), which=wanted.which, held=wanted.held,
            request=request_of(request, body),
        )  # fmt: skip
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 202)


def key_of(text: str) -> int:
    """A job's key; a Problem for what names none."""
    key = parse_job(text)
    if key is None:
        raise Problem("not_found", f"Job <{text[:40]}>: No matching job found")
    return key

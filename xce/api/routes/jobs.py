"""Jobs: submit (one or many), list, show, kill, suspend, resume, wait, explain, history.

POST /v1/jobs is the hot one: the application dispatches it before FastAPI is asked. A batch is
one command per line, put to the controller together, so that they share a commit.
"""

import asyncio
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import LIMIT_MAX, answer, asked, cursor_of, page, until, words
from xce.api.asks import actor_of, request_of, submit_job, user_name
from xce.api.bodies import JobRequest
from xce.api.ports import Engine
from xce.api.problem import Problem, refused
from xce.api.routes.histories import story_of
from xce.api.show import Shown, ended, reason_body, retired
from xce.controller.core.commands import HoldJob, Kill, Rejection
from xce.model.ids import group_text, job_text, parse_job
from xce.model.job import Job

LINES_MAX = 10_000
_AT_ONCE = 1_000
_SCHEMA = {
    "requestBody": {
        "content": {
            "application/json": {
                "schema": msgspec.json.schema_components([JobRequest])[1]["JobRequest"]
            }
        }
    }
}


class JobRoutes:
    """The routes of jobs over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["jobs"])
        add = router.add_api_route
        add("/v1/jobs", self.submit, methods=["POST"], status_code=201, openapi_extra=_SCHEMA)
        add("/v1/jobs:batch", self.batch, methods=["POST"])
        add("/v1/jobs", self.listing, methods=["GET"])
        add("/v1/jobs/{job}", self.show, methods=["GET"])
        add("/v1/jobs/{job}/kill", self.kill, methods=["POST"], status_code=202)
        add("/v1/jobs/{job}/suspend", self.suspend, methods=["POST"], status_code=202)
        add("/v1/jobs/{job}/resume", self.resume, methods=["POST"], status_code=202)
        add("/v1/jobs/{job}/wait", self.wait, methods=["GET"])
        add("/v1/jobs/{job}/explain", self.explain, methods=["GET"])
        add("/v1/jobs/{job}/history", self.history, methods=["GET"])
        return router

    async def submit(self, request: Request) -> Response:
        """Run a command. The answer comes after the commit."""
        command = submit_job(request, await request.body())
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 201)

    async def batch(self, request: Request) -> Response:
        """Many jobs, one JSON object per line; one line of answer for each, in order."""
        lines = [line for line in (await request.body()).split(b"\n") if line.strip()]
        if len(lines) > LINES_MAX:
            raise Problem("too_large", f"more than {LINES_MAX} lines")
        told: list[bytes] = []
        for first in range(0, len(lines), _AT_ONCE):
            some = enumerate(lines[first : first + _AT_ONCE], first)
            told += await asyncio.gather(*(self._one(request, line, at) for at, line in some))
        return Response(b"\n".join([*told, b""]), 200, media_type="application/x-ndjson")

    async def _one(self, request: Request, line: bytes, at: int) -> bytes:
        try:
            result = await self._engine.ask(submit_job(request, line, f"/{at}"))
            if isinstance(result, Rejection):
                raise refused(result)
        except Problem as problem:
            return msgspec.json.encode(problem.body())
        return msgspec.json.encode({**result.body, "lsn": result.lsn})

    async def listing(
        self,
        *,
        stat: str = Query("", description="PEND, RUN, ... separated by commas"),
        user: str = "",
        queue: str = "",
        group: str = "",
        name: str = Query("", description="a name, * and ? stand for anything"),
        all_: bool = Query(False, alias="all", description="those that have ended, too"),
        limit: int = Query(200, ge=1, le=LIMIT_MAX),
        cursor: str = "",
    ) -> Response:
        """Jobs by their number; without `all` and `stat` those that have not ended."""
        after = cursor_of(cursor)
        await self._engine.settled()
        state = self._engine.state
        shown, stats = Shown(state), words(stat.upper())

        def fits(job: Job) -> bool:
            line_fits = (stats or all_ or not ended(job)) and (not queue or job.queue == queue)
            if not line_fits or (name and not fnmatchcase(job.name, name)):
                return False
            if group and (not job.group or group_text(job.group) != group):
                return False
            if user and user not in (user_name(job.owner), str(job.owner)):
                return False
            return not stats or shown.stat(job) in stats

        found = [job for _, job in sorted(state.jobs.items()) if fits(job)]
        cut, following = page([job for job in found if job.key > after], limit, lambda job: job.key)
        items = [shown.job_line(job) for job in cut]
        return answer({"items": items, "next": following, "total": len(found), "lsn": state.lsn})

    async def show(self, job: str) -> Response:
        """One job, also when it has left the state; with the reason while it waits."""
        body = await self._body(job)
        return answer({**body, "reason": self._why(body)})

    async def kill(self, job: str, request: Request) -> Response:
        """End a job; a member's kill ends its gang."""
        key = self._key(job)
        idempotent = request_of(request, await request.body())
        command = Kill(actor=actor_of(request), job=key, request=idempotent)
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 202)

    async def suspend(self, job: str, request: Request) -> Response:
        """Keep a pending job from being started."""
        return await self._hold(job, request, hold=True)

    async def resume(self, job: str, request: Request) -> Response:
        """Let a suspended job be started."""
        return await self._hold(job, request, hold=False)

    async def _hold(self, job: str, request: Request, *, hold: bool) -> Response:
        key, idempotent = self._key(job), request_of(request, await request.body())
        command = HoldJob(actor=actor_of(request), job=key, hold=hold, request=idempotent)
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 202)

    async def wait(
        self,
        job: str,
        timeout: float = Query(30.0, ge=0, le=60),  # noqa: ASYNC109
    ) -> Response:
        """Answers when the job has ended, or after `timeout` seconds as it is then."""
        key = self._key(job)

        def over() -> bool | None:
            found = self._engine.state.jobs.get(key)
            return True if found is None or ended(found) else None

        done = await until(self._engine, over, timeout)
        return answer({**await self._body(job), "ended": bool(done)})

    async def explain(self, job: str) -> Response:
        """Why it waits, or what it is doing."""
        body = await self._body(job)
        return answer({"job": body, "reason": self._why(body)})

    def _why(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Why it waits; sessions tell it of a class, in which others may run."""
        if body["state"] != "PENDING":
            return None
        return reason_body(self._engine.reasons_for(body["id"]))

    async def history(self, job: str) -> Response:
        """The records that name it."""
        return answer(await story_of(self._engine, job_text(self._key(job))))

    def _key(self, text: str) -> int:
        key = parse_job(text)
        if key is None:
            raise _unknown(text)
        return key

    async def _body(self, text: str) -> dict[str, Any]:
        key = self._key(text)
        await self._engine.settled()
        job = self._engine.state.jobs.get(key)
        if job is not None:
            return Shown(self._engine.state).job(job)
        kept = await self._engine.finished(job_text(key))
        if kept is None:
            raise _unknown(text)
        return retired(kept, self._engine.state)


def _unknown(text: str) -> Problem:
    return Problem("not_found", f"Job <{text[:40]}>: No matching job found")

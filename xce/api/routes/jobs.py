"""Jobs: submit (one or many), list, show, kill, suspend, resume, wait, explain, history.

POST /v1/jobs is the hot one: the application dispatches it before FastAPI is asked. A batch is
one command per line, put to the controller together, so that they share a commit.
"""

import asyncio
from typing import Any

import msgspec
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import LIMIT_MAX, answer, asked, cursor_of, stats_of, until
from xce.api.asks import (
    actor_of,
    named,
    request_of,
    runs_named,
    submit_job,
    unknown,
)
from xce.api.bodies import JobRequest
from xce.api.ports import Engine, StateView
from xce.api.problem import Problem, refused
from xce.api.routes.arrays import (
    array_body,
    is_asked,
    matching_of,
    page_of,
    retired_array,
    retired_element,
)
from xce.api.routes.histories import story_of
from xce.api.show import Shown, ended, expected_body, reason_body, retired
from xce.controller.core.arrays.elements import found_job, jobs_of_array
from xce.controller.core.commands import Kill, Rejection, Resume, Suspend
from xce.controller.core.fold.eligible import is_eligible
from xce.model.ids import group_text, job_index, job_number, job_text, parse_job
from xce.model.job import Job
from xce.model.waiting.array import Array
from xce.model.waiting.job_group import is_below

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
        """Jobs by their number, elements of arrays by their index; without `all` and `stat` those
        that have not ended."""
        after = cursor_of(cursor)
        await self._engine.settled()
        state = self._engine.state
        shown, stats = Shown(state), stats_of(stat)

        def fits(job: Job) -> bool:
            if not (stats or all_ or not ended(job)) or not is_asked(job, name, user, queue):
                return False
            if group and not _is_in(state, job, group):
                return False
            return not stats or shown.stat(job) in stats

        jobs = [job for job in state.jobs.values() if fits(job)]
        matching = [matching_of(array, fits) for array in state.arrays.values()]
        cut, following, total = page_of(jobs, matching, after, limit)
        items = [shown.job_line(job) for job in cut]
        return answer({"items": items, "next": following, "total": total, "lsn": state.lsn})

    async def show(
        self,
        job: str,
        *,
        elements: str = Query("", description="of an array: `all`, or indices like 1-50,60"),
        stat: str = Query("", description="PEND, RUN, ... separated by commas"),
        limit: int = Query(200, ge=1, le=LIMIT_MAX),
        cursor: str = "",
    ) -> Response:
        """One job, also when it has left the state; with the reason while it waits. An array is
        shown with its counts, or element by element."""
        key, runs = named(job)
        if not elements and not runs:
            body = await self._body(job)
            return answer({**body, **self._waits(body)})
        after, stats = cursor_of(cursor), stats_of(stat)
        await self._engine.settled()
        state = self._engine.state
        array = state.arrays.get(key)
        if array is None:
            raise unknown(job)
        runs, shown = runs or runs_named(elements), Shown(state)

        def fits(one: Job) -> bool:
            return not stats or shown.stat(one) in stats

        jobs = [one for one in jobs_of_array(state, key, runs) if fits(one)]
        cut, following, total = page_of(jobs, [matching_of(array, fits, runs)], after, limit)
        items = [shown.job_line(one) for one in cut]
        return answer({"items": items, "next": following, "total": total, "lsn": state.lsn})

    async def kill(self, job: str, request: Request) -> Response:
        """End a job; a member's kill ends its gang."""
        key, runs = named(job)
        idempotent = request_of(request, await request.body())
        actor = actor_of(request)
        command = Kill(actor=actor, job=key, elements=runs, request=idempotent)
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 202)

    async def suspend(self, job: str, request: Request) -> Response:
        """Stop a running job; keep a pending one from being started."""
        key, runs = named(job)
        idempotent = request_of(request, await request.body())
        actor = actor_of(request)
        command = Suspend(actor=actor, job=key, elements=runs, request=idempotent)
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 202)

    async def resume(self, job: str, request: Request) -> Response:
        """Let a suspended job go on, or be started."""
        key, runs = named(job)
        idempotent = request_of(request, await request.body())
        actor = actor_of(request)
        command = Resume(actor=actor, job=key, elements=runs, request=idempotent)
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
            state = self._engine.state
            array = state.arrays.get(key)
            if array is not None:
                return True if array.ended_us else None
            found = found_job(state, key)
            return True if found is None or ended(found) else None

        done = await until(self._engine, over, timeout)
        return answer({**await self._body(job), "ended": bool(done)})

    async def explain(self, job: str) -> Response:
        """Why it waits, or what it is doing."""
        body = await self._body(job)
        return answer({"job": body, **self._waits(body)})

    def _waits(self, body: dict[str, Any]) -> dict[str, Any]:
        """Why it waits and when it is expected to begin."""
        why = self._why(body)
        expected = self._engine.expected(body["id"]) if why is not None else None
        told = {"reason": why, "expected": expected_body(expected)}
        return {**told, "position": self._position(body) if why is not None else None}

    def _position(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Where it stands in the order: among the work of its account where its queue is shared."""
        index = self._engine.state.index
        job = self._engine.state.jobs.get(parse_job(body["id"]) or 0)
        if job is None or job.group or not is_eligible(job):
            return None
        place = index.ordering.of_job(job)
        ahead, of = index.pending.ahead(place)
        return {"ahead": ahead, "of": of, "account": place.account or None}

    def _why(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Why it waits; sessions tell it of a class, in which others may run."""
        waits = body["state"] == "PENDING" or body.get("states", {}).get("PENDING")
        if not waits and not body.get("resume_asked_us"):
            return None
        return reason_body(self._engine.reasons_for(body["id"]))

    async def history(self, job: str) -> Response:
        """The records that name it."""
        return answer(await story_of(self._engine, job_text(self._key(job))))

    def _key(self, text: str) -> int:
        key = parse_job(text)
        if key is None:
            raise unknown(text)
        return key

    async def _body(self, text: str) -> dict[str, Any]:
        key = self._key(text)
        await self._engine.settled()
        state = self._engine.state
        if key in state.jobs:
            return Shown(state).job(state.jobs[key])
        if key in state.arrays:
            return array_body(state, state.arrays[key])
        kept = await self._engine.finished(job_text(key))
        if kept is not None:
            state = self._engine.state
            return retired_array(kept, state) if "array" in kept else retired(kept, state)
        element = found_job(self._engine.state, key)
        if element is not None:
            return Shown(self._engine.state).job(element)
        return await self._of_array(key)

    async def _of_array(self, key: int) -> dict[str, Any]:
        """An element that ended before it ever was a job, of an array that has left."""
        kept = await self._engine.finished(job_text(job_number(key))) if job_index(key) else None
        found = retired_element(kept, job_index(key)) if kept and "array" in kept else None
        if found is None:
            raise unknown(job_text(key))
        job, spec = found
        return {**Shown(self._engine.state).job(job, spec), "retired": True}


def _is_in(state: StateView, one: Job | Array, group: str) -> bool:
    """Whether it is a member of a gang (`g7`), or in a job group (`/a`) or one below it."""
    if group.startswith("/"):
        own = state.specs[one.spec].job_group
        return bool(own) and is_below(own, group)
    return isinstance(one, Job) and bool(one.group) and group_text(one.group) == group

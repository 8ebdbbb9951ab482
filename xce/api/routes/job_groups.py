"""Job groups: listed with what is counted of them, made, changed, removed.

A path has slashes, so it stands in the query or the body. Groups that are there by their jobs
only are listed like those that were made; their owner is that of their first job.
"""

from typing import Any

import msgspec
from fastapi import APIRouter, Query
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import answer, asked
from xce.api.asks import actor_of, decoded, request_of, user_name
from xce.api.ports import Engine, StateView
from xce.api.problem import Problem
from xce.controller.core.commands import ChangeJobGroup
from xce.controller.core.job_groups.counts import SSUSP, USUSP
from xce.model.job import Job
from xce.model.waiting.array import Array
from xce.model.waiting.job_group import NO_LIMIT, ROOT, is_below, lineage

PENDING, RUNNING = ("PENDING", "HELD"), ("STARTING", "RUNNING", "ENDING")
FINISHED = ("DONE", "EXITED")


class GroupBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST and PATCH /v1/job-groups. `limit` is how many jobs may have started at once,
    null for no limit."""

    path: str
    limit: int | None = None


_BODY = msgspec.json.Decoder(GroupBody)


class JobGroupRoutes:
    """The routes of job groups over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["jobs"])
        add = router.add_api_route
        add("/v1/job-groups", self.listing, methods=["GET"])
        add("/v1/job-groups", self.make, methods=["POST"], status_code=201)
        add("/v1/job-groups", self.modify, methods=["PATCH"])
        add("/v1/job-groups", self.remove, methods=["DELETE"])
        return router

    async def listing(self, path: str = Query(ROOT, max_length=512)) -> Response:
        """A group and all below it, by their names."""
        await self._engine.settled()
        state = self._engine.state
        named = {one for own in state.index.job_groups.own for one in lineage(own)} - {ROOT}
        found = sorted(one for one in {*named, *state.job_groups} if is_below(one, path))
        if not found and path != ROOT:
            raise Problem("not_found", f"Job group <{path}>: No such job group")
        first = _first_owners(state)
        items = [_shown(state, one, first) for one in found]
        return answer({"items": items, "total": len(items), "lsn": state.lsn})

    async def make(self, request: Request) -> Response:
        """Make a group, perhaps with a limit."""
        return await self._change(request, "add", 201)

    async def modify(self, request: Request) -> Response:
        """Change a group's limit."""
        return await self._change(request, "modify", 200)

    async def _change(self, request: Request, event: str, status: int) -> Response:
        raw = await request.body()
        said: GroupBody = decoded(_BODY, raw)
        if said.limit is not None and said.limit < 0:
            raise Problem("invalid", "limit: a number from 0 on, or null", pointer="/limit")
        command = ChangeJobGroup(
            actor=actor_of(request),
            path=said.path,
            event=event,
            limit=NO_LIMIT if said.limit is None else said.limit,
            request=request_of(request, raw),
        )
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, status)

    async def remove(self, request: Request, path: str = Query(max_length=600)) -> Response:
        """Remove a group and those below it; none may have a job that has not ended."""
        raw = await request.body()
        command = ChangeJobGroup(
            actor=actor_of(request),
            path=path,
            event="remove",
            request=request_of(request, raw + path.encode()),
        )
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})


def _first_owners(state: StateView) -> dict[str, int]:
    """By group, the owner of the first job that is there."""
    found: dict[str, tuple[int, int]] = {}
    everything: list[Job | Array] = [*state.arrays.values(), *state.jobs.values()]
    for one in everything:
        path, seen = state.specs[one.spec].job_group, (one.submit_us, one.owner)
        for each in lineage(path):
            found[each] = min(found.get(each, seen), seen)
    return {path: owner for path, (_, owner) in found.items()}


def _shown(state: StateView, path: str, first: dict[str, int]) -> dict[str, Any]:
    """One group: its own jobs by state, and what counts toward its limit."""
    counts = state.index.job_groups.own.get(path, {})
    made = state.job_groups.get(path)
    owner = made.owner if made is not None else first.get(path, -1)
    return {
        "path": path,
        "jobs": sum(counts.values()),
        "pending": sum(counts.get(one, 0) for one in PENDING),
        "running": sum(counts.get(one, 0) for one in RUNNING),
        "ssusp": counts.get(SSUSP, 0),
        "ususp": counts.get(USUSP, 0),
        "finished": sum(counts.get(one, 0) for one in FINISHED),
        "started": state.index.job_groups.started.get(path, 0),
        "limit": None if made is None or made.limit == NO_LIMIT else made.limit,
        "made": made is not None,
        "owner": owner,
        "user": user_name(owner) if owner >= 0 else "",
    }

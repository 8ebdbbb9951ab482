"""Gang groups: submit, dry run, list, show, members, kill, wait, explain, history."""

import re
from typing import Any

import msgspec
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import LIMIT_MAX, answer, asked, cursor_of, page, until
from xce.api.asks import actor_of, request_of, submit_group, user_name
from xce.api.bodies import GroupRequest
from xce.api.ports import Engine
from xce.api.problem import Problem, refused
from xce.api.routes.histories import story_of
from xce.api.show import Shown, ended, expected_body, reason_body, retired
from xce.controller.core.commands import Kill, Rejection, Resume, SubmitGroup, Suspend
from xce.model.group import Group
from xce.model.ids import group_text, parse_group
from xce.model.manifest import schema

_SCHEMA = {
    "requestBody": {
        "content": {
            "application/json": {
                "schema": msgspec.json.schema_components([GroupRequest])[1]["GroupRequest"]
            }
        }
    }
}
_ROLE = re.compile(r"^roles\[([^\]]+)\]")


class GroupRoutes:
    """The routes of gangs over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["groups"])
        add = router.add_api_route
        add("/v1/groups", self.submit, methods=["POST"], status_code=201, openapi_extra=_SCHEMA)
        add("/v1/groups:dry-run", self.dry_run, methods=["POST"], openapi_extra=_SCHEMA)
        add("/v1/groups", self.listing, methods=["GET"])
        add("/v1/groups:schema", self.schema, methods=["GET"])
        add("/v1/groups/{group}", self.show, methods=["GET"])
        add("/v1/groups/{group}/members", self.members, methods=["GET"])
        add("/v1/groups/{group}/kill", self.kill, methods=["POST"], status_code=202)
        add("/v1/groups/{group}/suspend", self.suspend, methods=["POST"], status_code=202)
        add("/v1/groups/{group}/resume", self.resume, methods=["POST"], status_code=202)
        add("/v1/groups/{group}/wait", self.wait, methods=["GET"])
        add("/v1/groups/{group}/explain", self.explain, methods=["GET"])
        add("/v1/groups/{group}/history", self.history, methods=["GET"])
        return router

    async def submit(self, request: Request) -> Response:
        """Run a gang: its manifest as JSON. Refused with the pointer of the field at fault."""
        command = submit_group(request, await request.body(), self._engine.state.config)
        told = await self._asked(command)
        return answer({**told.body, "lsn": told.lsn}, 201)

    async def dry_run(self, request: Request) -> Response:
        """Where a session would place it now; nothing is kept."""
        command = submit_group(request, await request.body(), self._engine.state.config)
        await self._engine.settled()
        told = await self._engine.dry_run(command)
        if isinstance(told, Rejection):
            raise refused(_by_index(told, command))
        return answer(told)

    async def _asked(self, command: SubmitGroup) -> Any:
        result = await self._engine.ask(command)
        if isinstance(result, Rejection):
            raise refused(_by_index(result, command))
        return result

    async def listing(
        self,
        *,
        state: str = "",
        user: str = "",
        all_: bool = Query(False, alias="all", description="those that have ended, too"),
        limit: int = Query(200, ge=1, le=LIMIT_MAX),
        cursor: str = "",
    ) -> Response:
        """Gangs by their number; without `all` and `state` those that have not ended."""
        after = cursor_of(cursor)
        await self._engine.settled()
        view = self._engine.state
        shown = Shown(view)
        found = [
            group
            for _, group in sorted(view.groups.items())
            if (group.state == state.upper() if state else all_ or not ended(group))
            and (not user or user in (user_name(group.owner), str(group.owner)))
        ]
        later = [group for group in found if group.number > after]
        cut, following = page(later, limit, lambda group: group.number)
        items = [shown.group_line(group) for group in cut]
        return answer({"items": items, "next": following, "total": len(found), "lsn": view.lsn})

    async def schema(self) -> Response:
        """The JSON Schema of a manifest."""
        return answer(schema())

    async def show(self, group: str) -> Response:
        """One gang, also when it has left the state."""
        return answer(await self._body(group))

    async def members(self, group: str) -> Response:
        """Its members with launches and claims, and its newest start."""
        found = await self._live(group)
        shown = Shown(self._engine.state)
        return answer({"group": shown.group(found), "members": shown.members(found)})

    async def kill(self, group: str, request: Request) -> Response:
        """End a gang."""
        number = self._number(group)
        idempotent = request_of(request, await request.body())
        command = Kill(actor=actor_of(request), group=number, request=idempotent)
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 202)

    async def suspend(self, group: str, request: Request) -> Response:
        """Stop a running gang, all of it; keep a pending one from being started."""
        number, idempotent = self._number(group), request_of(request, await request.body())
        command = Suspend(actor=actor_of(request), group=number, request=idempotent)
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 202)

    async def resume(self, group: str, request: Request) -> Response:
        """Let a suspended gang go on, or be started."""
        number, idempotent = self._number(group), request_of(request, await request.body())
        command = Resume(actor=actor_of(request), group=number, request=idempotent)
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 202)

    async def wait(
        self,
        group: str,
        timeout: float = Query(30.0, ge=0, le=60),  # noqa: ASYNC109
    ) -> Response:
        """Answers when the gang has ended, or after `timeout` seconds as it is then."""
        number = self._number(group)

        def over() -> bool | None:
            found = self._engine.state.groups.get(number)
            return True if found is None or ended(found) else None

        done = await until(self._engine, over, timeout)
        return answer({**await self._body(group), "ended": bool(done)})

    async def explain(self, group: str) -> Response:
        """Why it waits, what its start still misses, or what it is doing."""
        body = await self._body(group)
        reason = expected = None
        if body["state"] == "PENDING" or body.get("resume_asked_us"):
            expected = expected_body(self._engine.expected(body["id"]))
            # What a session said stays until something is freed; who runs has no use for it.
            reason = reason_body(self._engine.reasons_for(body["id"]))
        told = {"reason": reason, "expected": expected, "missing": self._missing(group)}
        return answer({"group": body, **told})

    async def history(self, group: str) -> Response:
        """The records that name it."""
        return answer(await story_of(self._engine, group_text(self._number(group))))

    def _missing(self, text: str) -> list[str]:
        """What an open start still waits for, by name."""
        state = self._engine.state
        group = state.groups.get(self._number(text))
        start = state.starts.get(group.start) if group else None
        if start is None or start.state != "OPEN":
            return []
        launches = [state.launches[n] for n in start.launches if n in state.launches]
        attachments = [state.attachments[n] for n in start.attachments if n in state.attachments]
        unarmed = [
            f"{state.jobs[one.job].name} on {one.host}: {one.state}"
            for one in launches
            if one.state != "ARMED"
        ]
        unready = [
            f"claim {state.claims[one.claim].name} on {one.host}: {one.state}"
            for one in attachments
            if one.state != "READY"
        ]
        return [*unready, *unarmed]

    def _number(self, text: str) -> int:
        number = parse_group(text)
        if number is None:
            raise _unknown(text)
        return number

    async def _live(self, text: str) -> Group:
        number = self._number(text)
        await self._engine.settled()
        group = self._engine.state.groups.get(number)
        if group is None:
            raise _unknown(text)
        return group

    async def _body(self, text: str) -> dict[str, Any]:
        number = self._number(text)
        await self._engine.settled()
        group = self._engine.state.groups.get(number)
        if group is not None:
            return Shown(self._engine.state).group(group)
        kept = await self._engine.finished(group_text(number))
        if kept is None:
            raise _unknown(text)
        return retired(kept, self._engine.state)


def _by_index(rejection: Rejection, command: SubmitGroup) -> Rejection:
    """Decisions name a role by its name; whoever has the manifest looks for its index."""
    found = _ROLE.match(rejection.field)
    names = [role.name for role in command.spec.roles]
    if found is None or found[1] not in names:
        return rejection
    rest = rejection.field[found.end() :]
    field = f"roles[{names.index(found[1])}]{rest}"
    return msgspec.structs.replace(rejection, field=field)


def _unknown(text: str) -> Problem:
    return Problem("not_found", f"Group <{text[:40]}>: No matching group found")

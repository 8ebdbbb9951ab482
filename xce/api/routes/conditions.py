"""Conditions: wait until a dependency expression holds, without a job that waits for it.

Names mean the asker's own jobs, as in a submission. What holds at the moment of looking counts;
nothing of it is written down.
"""

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import answer, until
from xce.api.asks import actor_of
from xce.api.ports import Engine
from xce.api.problem import refused
from xce.controller.core.commands import Rejection
from xce.controller.core.depending.judge import Judged, judge, told
from xce.controller.core.depending.names import past_of, resolve
from xce.controller.core.depending.past import past_from
from xce.controller.core.depending.terms import named_in
from xce.model.job import Past
from xce.resreq.options.dependency import Verdict


class ConditionRoutes:
    """The routes of conditions over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["jobs"])
        router.add_api_route("/v1/wait", self.wait, methods=["GET"])
        return router

    async def wait(
        self,
        request: Request,
        condition: str = Query(max_length=8_192),
        timeout: float = Query(30.0, ge=0, le=60),  # noqa: ASYNC109
    ) -> Response:
        """Answers when the condition holds or can never hold, or after `timeout` seconds."""
        past = await self._past(condition)
        await self._engine.settled()
        found = resolve(self._engine.state, actor_of(request).uid, condition, past)
        if isinstance(found, Rejection):
            raise refused(found)
        known = past_of(past)
        last: list[Judged] = [found.judged]

        def sure() -> Judged | None:
            last[0] = judge(self._engine.state, found.ids, (), known)
            return None if last[0].verdict is Verdict.WAITS else last[0]

        await until(self._engine, sure, timeout)
        return answer({**told(found.text, last[0]), "lsn": self._engine.state.lsn})

    async def _past(self, condition: str) -> tuple[Past, ...]:
        """How what it names by id ended, where that has left the state."""
        found = []
        for name in named_in(condition):
            kept = await self._engine.finished(name)
            if kept is not None:
                found.append(past_from(name, kept))
        return tuple(found)

"""The application: gate, hot routes, documented routes, problems.

Three layers, outermost first: the gate (identity, body cap), a dispatcher for the few routes that
are hot (job submission, agents), and FastAPI for everything, the hot ones included, so that
OpenAPI describes them all. The dispatcher calls the very same handlers.
"""

import re
from collections.abc import Awaitable, Callable, Mapping

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from xce import __version__
from xce.api.claims.islands import IslandRoutes
from xce.api.claims.routes import ClaimRoutes
from xce.api.gate import Doors, Gate
from xce.api.ports import Engine
from xce.api.problem import Problem, broken
from xce.api.routes.agents import AgentRoutes
from xce.api.routes.arrays import ArrayRoutes
from xce.api.routes.changes import ChangeRoutes
from xce.api.routes.cluster import ClusterRoutes
from xce.api.routes.conditions import ConditionRoutes
from xce.api.routes.groups import GroupRoutes
from xce.api.routes.health import HealthRoutes
from xce.api.routes.histories import EventRoutes
from xce.api.routes.job_groups import JobGroupRoutes
from xce.api.routes.jobs import JobRoutes
from xce.api.routes.operators import OperatorRoutes, ReservationRoutes
from xce.api.routes.resources import ResourceRoutes
from xce.api.sharing.routes import SharingRoutes
from xce.api.supposing.routes import WhatIfRoutes

Handler = Callable[[Request], Awaitable[Response]]

_AGENT = re.compile(r"/v1/agents/([A-Za-z0-9_.-]{1,255})/(register|poll|reports)\Z")


def make_app(engine: Engine, doors: Doors) -> ASGIApp:
    """The whole application over one engine."""
    jobs, agents = JobRoutes(engine), AgentRoutes(engine)
    api = FastAPI(
        title="XCE", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    for router in (
        jobs.router(),
        ChangeRoutes(engine).router(),
        WhatIfRoutes(engine).router(),
        ArrayRoutes(engine).router(),
        GroupRoutes(engine).router(),
        ConditionRoutes(engine).router(),
        JobGroupRoutes(engine).router(),
        ReservationRoutes(engine).router(),
        ClusterRoutes(engine).router(),
        ClaimRoutes(engine).router(),
        IslandRoutes(engine).router(),
        OperatorRoutes(engine).router(),
        SharingRoutes(engine).router(),
        ResourceRoutes(engine).router(),
        EventRoutes(engine).router(),
        agents.router(),
        HealthRoutes(engine).router(),
    ):
        api.include_router(router)
    api.add_exception_handler(Problem, _problem)
    api.add_exception_handler(RequestValidationError, _misfit)
    api.add_exception_handler(HTTPException, _http)
    api.add_exception_handler(Exception, _broken)
    hot = {"register": agents.register, "poll": agents.poll, "reports": agents.reports}
    return Gate(Hot(api, jobs.submit, hot), doors)


class Hot:
    """Dispatches what is asked thousands of times per second without a framework between."""

    def __init__(self, rest: ASGIApp, submit: Handler, agents: Mapping[str, Handler]) -> None:
        self._rest = rest
        self._submit = submit
        self._agents = agents

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Find the handler and send its answer; problems are the gate's."""
        if scope["type"] == "http" and scope["method"] == "POST":
            path = scope["path"]
            handler = self._submit if path == "/v1/jobs" else None
            found = _AGENT.match(path) if handler is None else None
            if found is not None:
                scope["path_params"] = {"host": found[1]}
                handler = self._agents[found[2]]
            if handler is not None:
                response = await handler(Request(scope, receive))
                await response(scope, receive, send)
                return
        await self._rest(scope, receive, send)


async def _problem(_: Request, error: Exception) -> Response:
    if not isinstance(error, Problem):
        raise error
    return error.response()


async def _misfit(_: Request, error: Exception) -> Response:
    """A query or path parameter that does not fit."""
    if not isinstance(error, RequestValidationError):
        raise error
    first = error.errors()[0]
    name = str(first["loc"][-1])
    return Problem("bad_request", f"{name}: {first['msg']}", pointer=f"/{name}").response()


async def _http(request: Request, error: Exception) -> Response:
    """No such place or verb. The path is the one that was routed, never one made from `Host`."""
    if not isinstance(error, HTTPException):
        raise error
    path = request.scope["path"]
    if error.status_code == 404:
        return Problem("not_found", f"there is nothing at {path}").response()
    code = "method_not_allowed" if error.status_code == 405 else "bad_request"
    return Problem(code, f"{request.method} {path}: {error.detail}").response()


async def _broken(_: Request, error: Exception) -> Response:
    """A fault of ours: the gate writes it down, the asker hears that it was one."""
    return broken(error).response()

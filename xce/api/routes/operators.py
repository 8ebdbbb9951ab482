"""What operators ask of hosts (drain, open, close, lost, remove) and keep in advance; whether they
may is decided. Everybody may see what is reserved."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import answer, asked
from xce.api.asks import actor_of, decoded, request_of, user_name
from xce.api.bodies import TIME_US_MAX
from xce.api.ports import Engine
from xce.api.problem import Problem
from xce.controller.core.commands import AddReservation, HostEvent, RemoveReservation
from xce.controller.core.time.reservations import holder_text
from xce.model.job import TASKS_MAX
from xce.model.manifest.process import REQUIREMENT_CHARACTERS_MAX
from xce.model.units import nearest
from xce.model.waiting.reservation import Reservation
from xce.scheduler.time.terms import FOREVER_US

UID_MAX, HOSTS_MAX = 1 << 32, 10_000
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


# -- reservations ----------------------------------------------------------------------------------


class ReservationBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/reservations: hosts whole, or room for `tasks`, for `users` (uids)."""

    name: str = ""
    users: Annotated[list[Annotated[int, Meta(ge=0, lt=UID_MAX)]], Meta(max_length=HOSTS_MAX)]
    hosts: Annotated[list[str], Meta(max_length=HOSTS_MAX)] = []
    tasks: Annotated[int, Meta(ge=0, le=TASKS_MAX)] = 0
    resreq: Annotated[str, Meta(max_length=REQUIREMENT_CHARACTERS_MAX)] = ""
    from_us: Annotated[int, Meta(ge=0, le=TIME_US_MAX)]
    until_us: Annotated[int, Meta(ge=0, le=TIME_US_MAX)]


_BODY = msgspec.json.Decoder(ReservationBody)


class ReservationRoutes:
    """The routes of reservations over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["cluster"])
        add = router.add_api_route
        add("/v1/reservations", self.listing, methods=["GET"])
        add("/v1/reservations", self.make, methods=["POST"], status_code=201)
        add("/v1/reservations/{name}", self.remove, methods=["DELETE"])
        return router

    async def listing(self) -> Response:
        """All that is reserved, soonest first."""
        await self._engine.settled()
        state = self._engine.state
        found = sorted(state.reservations.values(), key=lambda one: (one.from_us, one.number))
        items = [_shown(one) for one in found]
        return answer({"items": items, "total": len(items), "lsn": state.lsn})

    async def make(self, request: Request) -> Response:
        """Keep something for somebody from one moment to another."""
        raw = await request.body()
        said: ReservationBody = decoded(_BODY, raw)
        command = AddReservation(
            actor=actor_of(request),
            name=said.name,
            users=tuple(said.users),
            hosts=tuple(said.hosts),
            tasks=said.tasks,
            resreq=said.resreq,
            from_us=said.from_us,
            until_us=said.until_us,
            request=request_of(request, raw),
        )
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 201)

    async def remove(self, request: Request, name: str) -> Response:
        """Take an advance reservation away; what uses it runs on."""
        raw = await request.body()
        command = RemoveReservation(
            actor=actor_of(request), name=name, request=request_of(request, raw + name.encode())
        )
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})


def _shown(one: Reservation) -> dict[str, Any]:
    hosts: dict[str, int] = {}
    for share in one.shares:
        hosts[share.host] = hosts.get(share.host, 0) + dict(share.counters).get("slots", 0)
    return {
        "id": one.number,
        "kind": one.kind,
        "for": holder_text(one),
        "users": [user_name(uid) for uid in one.users],
        "hosts": [{"host": name, "slots": slots} for name, slots in hosts.items()],
        "from_us": one.from_us,
        "until_us": one.until_us,
        "end_us": one.end_us if one.end_us < FOREVER_US else None,
        "cause": one.cause or None,
        "slips": one.slips,
    }

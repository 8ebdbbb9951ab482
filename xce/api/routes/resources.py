"""Resource types and pools: what there is, and for administrators what there is to be.

A type is shown with its pools; of a reported type the values that ticks carried are shown with
it. Bodies spell their fields as `xce.toml` does (`interval: 30s`, `amount: 2GB`); whether a type
is good, and whether it may be taken away, is decided by the controller.
"""

from typing import Any

import msgspec
from fastapi import APIRouter
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import answer, asked
from xce.api.asks import actor_of, decoded, request_of
from xce.api.ports import Engine, StateView
from xce.api.problem import Problem
from xce.api.usage import Usage
from xce.controller.core.commands import AddPool, AddType, RemoveResource
from xce.controller.core.resources.pools import name_of, pools_of, total_in
from xce.model.config import PoolConfig, TypeConfig
from xce.model.resources import BUILT_IN, ResourceType, site_types
from xce.model.units import UnitError, nearest, parse_duration, parse_size

BUILT_IN_ORIGIN = "built_in"


class TypeRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/resources: a type, as a `[[types]]` table has it."""

    name: str
    layer: str = "counter"
    kind: str = ""
    unit: str = ""
    scale: int = 0
    direction: str = ""
    scope: str = "host"
    hosts: tuple[str, ...] = ()
    consumable: bool = True
    release_on_suspend: bool = True
    interval: str = ""
    ttl: str = ""
    provider: str = ""
    provision: bool = False
    sharing: int = 1
    level: str = ""
    draws_on: str = ""
    description: str = ""


class PoolRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/resources/NAME/pools: a pool, as a `[[pools]]` table has it."""

    label: str = ""
    hosts: tuple[str, ...] = ("all",)
    amount: int | str = 0
    reported: bool = False


_TYPE = msgspec.json.Decoder(TypeRequest)
_POOL = msgspec.json.Decoder(PoolRequest)


class ResourceRoutes:
    """The routes of resource types over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["cluster"])
        add = router.add_api_route
        add("/v1/resources", self.resources, methods=["GET"])
        add("/v1/resources", self.declare, methods=["POST"])
        add("/v1/resources/{name}", self.resource, methods=["GET"])
        add("/v1/resources/{name}", self.remove, methods=["DELETE"])
        add("/v1/resources/{name}/pools", self.declare_pool, methods=["POST"])
        return router

    async def resources(self, own: bool = False) -> Response:
        """All types by name; with `own` only those that the site declared."""
        await self._engine.settled()
        state = self._engine.state
        usage = Usage(state)
        types = site_types(state.config.types)
        declared = {one.name: one for one in state.config.types}
        items = [
            _shown(state, usage, types[name], declared.get(name))
            for name in sorted(types)
            if not own or name in declared
        ]
        return answer({"items": items, "total": len(items), "lsn": state.lsn})

    async def resource(self, name: str) -> Response:
        """One type, its pools, what is reported of it, and what is held of it by host."""
        await self._engine.settled()
        state = self._engine.state
        types = site_types(state.config.types)
        type_ = types.get(name)
        if type_ is None:
            near = nearest(name, types)
            hint = f"did you mean '{near}'?" if near else ""
            raise Problem("not_found", f"{name[:80]}: No such resource type", hint=hint)
        declared = next((one for one in state.config.types if one.name == name), None)
        usage = Usage(state)
        body = _shown(state, usage, type_, declared)
        held = {host: n for host, one in usage.counters.items() if (n := one.get(name, 0))}
        told = {"observed": _observed(state, name), "held": dict(sorted(held.items()))}
        return answer({**body, **told, "lsn": state.lsn})

    async def declare(self, request: Request) -> Response:
        """Declare a type, or change one. For administrators."""
        raw = await request.body()
        said: TypeRequest = decoded(_TYPE, raw)
        fields = msgspec.structs.asdict(said)
        fields["interval_us"] = _duration("interval", fields.pop("interval"))
        fields["ttl_us"] = _duration("ttl", fields.pop("ttl"))
        fields["kind"] = said.kind or ("instance" if said.layer == "instance" else "number")
        command = AddType(
            actor=actor_of(request), type=TypeConfig(**fields), request=request_of(request, raw)
        )
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 201 if told.body["changed"] else 200)

    async def declare_pool(self, name: str, request: Request) -> Response:
        """Declare a pool of a shared type, or change one. For administrators."""
        raw = await request.body()
        said: PoolRequest = decoded(_POOL, raw)
        pool = PoolConfig(
            type=name,
            label=said.label,
            hosts=said.hosts,
            amount=_amount(said.amount),
            reported=said.reported,
        )
        command = AddPool(actor=actor_of(request), pool=pool, request=request_of(request, raw))
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 201 if told.body["changed"] else 200)

    async def remove(self, name: str, request: Request) -> Response:
        """Take a type, or a pool (`NAME@LABEL`), away; one in use is refused with who uses it."""
        raw = await request.body()
        command = RemoveResource(
            actor=actor_of(request), name=name, request=request_of(request, raw)
        )
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})


def _duration(field: str, text: str) -> int:
    if not text:
        return 0
    try:
        return parse_duration(text)
    except UnitError as error:
        raise Problem("invalid", f"{field}: {error}", pointer=f"/{field}") from None


def _amount(told: int | str) -> int:
    try:
        amount = parse_size(told) if isinstance(told, str) else told
    except UnitError as error:
        raise Problem("invalid", f"amount: {error}", pointer="/amount") from None
    if amount < 0:
        raise Problem("invalid", "amount: a number from 0 on", pointer="/amount")
    return amount


def _shown(
    state: StateView, usage: Usage, type_: ResourceType, declared: TypeConfig | None
) -> dict[str, Any]:
    body = msgspec.to_builtins(type_)
    origin = declared.origin if declared is not None else BUILT_IN_ORIGIN
    assert origin != BUILT_IN_ORIGIN or type_.name in BUILT_IN
    pools = [one for one in state.config.pools if one.type == type_.name]
    return {
        **body,
        "origin": origin,
        "version": declared.version if declared is not None else 0,
        "pools": [_pool(state, usage, one) for one in pools],
    }


def _pool(state: StateView, usage: Usage, pool: PoolConfig) -> dict[str, Any]:
    name = name_of(pool)
    total = total_in(state.observed, pool)
    used = sum(counters.get(name, 0) for counters in usage.counters.values())
    seeing = (
        host
        for host in sorted(state.hosts)
        if pools_of(state.config.pools, host).get(pool.type) == pool
    )
    return {
        "name": name,
        "label": pool.label,
        "hosts": list(pool.hosts),
        "seen_by": list(seeing),
        "reported": pool.reported,
        "total": total,
        "used": used,
        "free": None if total is None else max(0, total - used),
        "origin": pool.origin,
    }


def _observed(state: StateView, name: str) -> dict[str, int | str]:
    found = ((of, dict(one.values).get(name)) for of, one in sorted(state.observed.items()))
    return {of: value for of, value in found if value is not None}

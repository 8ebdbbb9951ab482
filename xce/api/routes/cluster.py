"""What there is: hosts, instances, application profiles. Reading only."""

from typing import Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from xce.api.answers import answer
from xce.api.ports import Engine
from xce.api.usage import Usage
from xce.model.host import Host, Instance, Observed

_LIVENESS = {"JOINING": "unavail", "SUSPECT": "unreach", "DOWN": "unavail", "GONE": "unavail"}


class ClusterRoutes:
    """The routes of hosts, instances, queues and applications over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["cluster"])
        add = router.add_api_route
        add("/v1/hosts", self.hosts, methods=["GET"])
        add("/v1/instances", self.instances, methods=["GET"])
        add("/v1/applications", self.applications, methods=["GET"])
        return router

    async def hosts(self) -> Response:
        """Hosts by name with what is taken of them. `refused` says why a host is not let in;
        `strangers` are refused ones that the log does not know."""
        await self._engine.settled()
        state = self._engine.state
        usage = Usage(state)
        refused = self._engine.refused_hosts
        items = [
            {**_host(host, usage, state.observed.get(name)), "refused": refused.get(name)}
            for name, host in sorted(state.hosts.items())
        ]
        strangers = [
            {"name": name, "refused": why}
            for name, why in sorted(refused.items())
            if name not in state.hosts
        ]
        return answer({"items": items, "strangers": strangers, "lsn": state.lsn})

    async def instances(self, host: str = "", type_: str = Query("", alias="type")) -> Response:
        """Instances with their holders."""
        await self._engine.settled()
        state = self._engine.state
        usage = Usage(state)
        items = [
            _instance(one, usage)
            for one in sorted(state.instances.values(), key=_place)
            if (not host or one.host == host) and (not type_ or one.type == type_)
        ]
        return answer({"items": items, "lsn": state.lsn})

    async def applications(self) -> Response:
        """Application profiles by name, with what they ask for."""
        await self._engine.settled()
        state = self._engine.state
        profiles = sorted(state.config.applications, key=lambda one: one.name)
        items = [
            {"name": one.name, "description": one.description, "resreq": one.resreq}
            for one in profiles
        ]
        return answer({"items": items, "lsn": state.lsn})


def _place(instance: Instance) -> tuple[str, str, int]:
    return instance.host, instance.type, instance.number


def _host(host: Host, usage: Usage, told: Observed | None) -> dict[str, Any]:
    totals = dict(host.facts.counters)
    used = usage.counters.get(host.name, {})
    tasks = usage.tasks.get(host.name, 0)
    held = [key for key in usage.holders if key.startswith(f"{host.name}/")]
    return {
        "name": host.name,
        "status": _status(host, totals, tasks - usage.lent.get(host.name, 0)),
        "liveness": host.liveness,
        "admin": host.admin,
        "incarnation": host.incarnation,
        "address": host.facts.address,
        "slots": totals.get("slots", 0),
        "tasks": tasks,
        "suspended": usage.suspended.get(host.name, {}),
        "jobs": usage.jobs.get(host.name, []),
        "counters": {
            name: {"total": total, "used": used.get(name, 0)} for name, total in totals.items()
        },
        "instances": len(host.facts.instances),
        "instances_held": len(held),
        "attributes": dict(host.facts.attributes),
        "domains": dict(host.facts.domains),
        "observed": dict(told.values) if told is not None else {},
        "why": host.why or None,
        "closed_why": host.admin_why or None,
    }


def _status(host: Host, totals: dict[str, int], tasks: int) -> str:
    if host.liveness != "UP":
        return _LIVENESS[host.liveness]
    if host.admin != "OPEN":
        return "closed_Adm"
    full = "slots" in totals and tasks >= totals["slots"]
    return "closed_Full" if full else "ok"


def _instance(instance: Instance, usage: Usage) -> dict[str, Any]:
    return {
        "key": instance.key,
        "host": instance.host,
        "type": instance.type,
        "name": instance.name,
        "state": instance.state,
        "holder": usage.holders.get(instance.key),
        "attributes": dict(instance.attributes),
        "domains": dict(instance.domains),
        "why": instance.why or None,
    }

"""Agents: register, the long poll for orders, batches of reports.

Messages are the structs of `dispatch/protocol.py`, decoded and encoded by msgspec without
anything between. A report is one command; a batch is put to the controller together and the
answer lists the numbers that are committed, or recorded as refused. What was sent in another
epoch or incarnation is not taken and not acknowledged: the agent keeps it and sends it again.
"""

import asyncio

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import JSON, asked
from xce.api.asks import decoded
from xce.api.ports import Engine
from xce.api.problem import Problem
from xce.controller.core.commands import RegisterHost, Rejection, TakeReport
from xce.dispatch.protocol import (
    PROTOCOL,
    UNKILLABLE,
    Poll,
    Register,
    Registered,
    Reports,
    ReportsTaken,
)
from xce.model.actor import HOST, Actor

WAIT_MS_MAX = 30_000
_BEATS_PER_SILENCE = 3

_REGISTER = msgspec.json.Decoder(Register)
_POLL = msgspec.json.Decoder(Poll)
_REPORTS = msgspec.json.Decoder(Reports)
_ENCODER = msgspec.json.Encoder()


class AgentRoutes:
    """The routes of hosts' agents over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["agents"])
        add = router.add_api_route
        add("/v1/agents/{host}/register", self.register, methods=["POST"])
        add("/v1/agents/{host}/poll", self.poll, methods=["POST"])
        add("/v1/agents/{host}/reports", self.reports, methods=["POST"])
        return router

    async def register(self, request: Request) -> Response:
        """A host joins or comes back; it gets its incarnation and reconciles next."""
        said: Register = decoded(_REGISTER, await request.body())
        _check(request, said.host, said.protocol)
        if said.log_id == self._engine.log_id:
            await self._engine.witness(said.host, said.anchor_lsn, said.anchor_hash)
        command = RegisterHost(
            actor=Actor(kind=HOST, name=said.host),
            host=said.host,
            boot_id=said.boot_id,
            facts=said.facts,
            agent=said.agent,
            log_id=said.log_id,
            epoch=said.epoch,
            anchor_lsn=said.anchor_lsn,
            anchor_hash=said.anchor_hash,
            can=said.can,
        )
        told = await asked(self._engine, command)
        await self._engine.settled()
        state = self._engine.state
        return _said(
            Registered(
                protocol=PROTOCOL,
                epoch=state.epoch,
                incarnation=told.body["incarnation"],
                heartbeat_us=state.config.suspect_after_us // _BEATS_PER_SILENCE,
                log_id=told.body["log"],
                can=(UNKILLABLE,),
            )
        )

    async def poll(self, request: Request) -> Response:
        """Orders newer than the agent's stamp; the call is also the host's sign of life."""
        said: Poll = decoded(_POLL, await request.body())
        _check(request, said.host, said.protocol)
        if not 0 <= said.wait_ms <= WAIT_MS_MAX:
            said = msgspec.structs.replace(said, wait_ms=WAIT_MS_MAX)
        return _said(await self._engine.poll(said))

    async def reports(self, request: Request) -> Response:
        """Reports of a host, in its order."""
        said: Reports = decoded(_REPORTS, await request.body())
        _check(request, said.host, said.protocol)
        await self._engine.settled()
        state = self._engine.state
        known = state.hosts.get(said.host)
        stale = known is None or known.incarnation != said.incarnation
        if stale or said.epoch != state.epoch:
            return self._taken((), 0 if known is None else known.incarnation, stale)
        actor = Actor(kind=HOST, name=said.host)
        commands = [
            TakeReport(actor=actor, host=said.host, incarnation=said.incarnation, report=report)
            for report in said.reports
        ]
        results = await asyncio.gather(*map(self._engine.ask, commands))
        # A rejection says that the report changed nothing and never will: it is done with, too.
        refused = [not isinstance(one, Rejection) and one.body.get("register") for one in results]
        seqs = tuple(one.seq for one, no in zip(said.reports, refused, strict=True) if not no)
        return self._taken(seqs, said.incarnation, any(refused))

    def _taken(self, seqs: tuple[int, ...], incarnation: int, register: bool) -> Response:
        lsn, digest = self._engine.anchor
        return _said(
            ReportsTaken(
                epoch=self._engine.state.epoch,
                incarnation=incarnation,
                taken=seqs,
                register=register,
                anchor_lsn=lsn,
                anchor_hash=digest,
            )
        )


def _check(request: Request, host: str, protocol: int) -> None:
    if protocol != PROTOCOL:
        raise Problem("invalid", f"protocol {protocol} is not spoken here, only {PROTOCOL}")
    if request.path_params.get("host") != host:
        raise Problem("invalid", f"the message is of host {host[:80]}", pointer="/host")


def _said(message: msgspec.Struct) -> Response:
    return Response(_ENCODER.encode(message), media_type=JSON)

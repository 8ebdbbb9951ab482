"""Histories: the record chain of one thing, and the log itself by lsn.

A story is what happened to an entity: for each record that names it lsn, time, kind, cause and
actor, and the changes that are about it. `/v1/events` gives whole records in order and can wait
for the next one. Bodies hold no environments and scripts: records name those by hash.
"""

from typing import Any

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from xce.api.answers import LIMIT_MAX, answer, cursor_of
from xce.api.ports import Engine
from xce.api.problem import Problem
from xce.controller.core.fold.apply import ELEMENT
from xce.model.ids import (
    job_index,
    job_number,
    job_text,
    parse_claim,
    parse_group,
    parse_job,
)
from xce.model.records import Change, Record
from xce.model.waiting.array import STATE_OF, has_index

_FACT_CHARACTERS_MAX = 4_096


async def story_of(engine: Engine, entity: str) -> dict[str, Any]:
    """The story of one entity; a Problem when no record names it."""
    await engine.settled()
    records = await _records_of(engine, entity)
    if not records:
        raise Problem("not_found", f"no record names {entity}")
    return {"entity": entity, "records": [_step(record, entity) for record in records]}


async def _records_of(engine: Engine, entity: str) -> list[Record]:
    """The records that name an entity; of an element those of its array that are about it, too."""
    records = list(await engine.story(entity))
    key = parse_job(entity)
    index = job_index(key) if key else 0
    if not key or not index:
        return records
    whole = await engine.story(job_text(job_number(key)))
    known = {record.lsn for record in records}
    about = [one for one in whole if one.lsn not in known and _is_about(one, index)]
    created = any(one.kind == "JobSubmitted" for one in about)
    return sorted([*records, *about], key=lambda one: one.lsn) if records or created else []


def _is_about(record: Record, index: int) -> bool:
    """Whether a record of an array is about one of its elements: all, or runs with the index."""
    runs = getattr(record.body, "elements", ()) or getattr(record.body, "indices", ())
    return not runs or has_index(runs, index)


def _place(entity: str) -> tuple[str, int | str]:
    """Table and key of what a text names."""
    for table, parse in (("job", parse_job), ("group", parse_group), ("claim", parse_claim)):
        key = parse(entity)
        if key is not None:
            return table, key
    table, _, name = entity.partition(":")
    return table, name


def _step(record: Record, entity: str) -> dict[str, Any]:
    place = _place(entity)
    return {
        "lsn": record.lsn,
        "epoch": record.epoch,
        "at_us": record.at_us,
        "kind": record.kind,
        "cause": record.cause,
        "actor": record.actor,
        "changes": [
            _change(change, entity)
            for change in record.body.then
            if (change.what, change.key) == place or _moves(change, place)
        ],
        "facts": _facts(record),
    }


def _moves(change: Change, place: tuple[str, int | str]) -> bool:
    """Whether a change moves elements of an array, and this very one where it is about one."""
    what, key = place
    if what != "job" or not isinstance(key, int) or change.key != job_number(key):
        return False
    if change.what == "array":
        return not job_index(key)
    if change.what != ELEMENT or change.set is None:
        return False
    return not job_index(key) or has_index(change.set["indices"], job_index(key))


def _change(change: Change, entity: str) -> dict[str, Any]:
    fields = change.set or {}
    state = fields.get("state") or STATE_OF.get(fields.get("to", ""))
    return {"event": change.event, "state": state, "entity": entity}


def _facts(record: Record) -> dict[str, Any]:
    """The body without what follows; a long one is cut to its scalars."""
    body: dict[str, Any] = msgspec.to_builtins(record.body)
    body.pop("then", None)
    if len(msgspec.json.encode(body)) > _FACT_CHARACTERS_MAX:
        body = {k: v for k, v in body.items() if not isinstance(v, list | dict)}
    return body


class EventRoutes:
    """The log by lsn."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["events"])
        router.add_api_route("/v1/events", self.listing, methods=["GET"])
        router.add_api_route("/v1/history/{entity:path}", self.history, methods=["GET"])
        return router

    async def history(self, entity: str) -> Response:
        """The records that name a thing: `12`, `g7`, `c7`, `host:n1`, `instance:n1/gpu/0`."""
        return answer(await story_of(self._engine, entity))

    async def listing(
        self,
        *,
        after: str = Query("", description="the lsn of the last record that is known"),
        limit: int = Query(200, ge=1, le=LIMIT_MAX),
        wait: float = Query(0.0, ge=0, le=60, description="seconds to wait for a record"),
    ) -> Response:
        """Records after an lsn, oldest first; `next` is what to ask with."""
        lsn = cursor_of(after)
        await self._engine.settled()
        if wait and self._engine.state.lsn <= lsn:
            await self._engine.changed(lsn, wait)
            await self._engine.settled()
        records = await self._engine.records(lsn, limit)
        items = [msgspec.to_builtins(record) for record in records]
        return answer({"items": items, "next": str(records[-1].lsn if records else lsn)})

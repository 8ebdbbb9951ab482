"""What is asked of jobs that are there: modify, switch, top, bottom, requeue.

A change names fields of the body that submits a job; null puts one back to what it is when nothing
is said. Whatever a submission may say can be changed, but for where and as whom it runs.
"""

from typing import Any

import msgspec
from fastapi import APIRouter
from msgspec import UNSET, Struct, UnsetType, defstruct
from starlette.requests import Request
from starlette.responses import Response

from xce.api.answers import answer, asked
from xce.api.asks import actor_of, decoded, request_of, spec_of
from xce.api.bodies import JobRequest, judge_job
from xce.api.ports import Engine
from xce.api.problem import Problem
from xce.controller.core.commands import LimitArray, ModifyJob, MoveJob, RequeueJob, SwitchJob
from xce.model.ids import parse_job
from xce.resreq.options.arrays import is_array

WAYS = ("running", "done", "exited")
LIMIT_CHARACTERS_MAX = 11


class RequeueRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/jobs/{job}/requeue: which jobs it is for, and whether it then waits held."""

    which: tuple[str, ...] = ("running",)
    held: bool = False


class SwitchRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/jobs/{job}/switch."""

    queue: str


class MoveRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/jobs/{job}/top and .../bottom: the position from there, from 1 on."""

    position: int = 1


FIXED = frozenset({"script", "env", "cwd", "umask", "run", "held"})
"""What of a submission cannot be changed."""
OF_JOB = ("queue", "priority", "after")
"""What is the job's own, and not its spec's."""
_SPEC_FIELD = {"stop_after": "stop_after_us"}
_FIELDS = {one.name: one for one in msgspec.structs.fields(JobRequest) if one.name not in FIXED}
ModifyRequest = defstruct(
    "ModifyRequest",
    [(name, one.type | None | UnsetType, UNSET) for name, one in _FIELDS.items()],
    kw_only=True,
    forbid_unknown_fields=True,
)

_REQUEUE = msgspec.json.Decoder(RequeueRequest)
_SWITCH = msgspec.json.Decoder(SwitchRequest)
_MOVE = msgspec.json.Decoder(MoveRequest)
_MODIFY = msgspec.json.Decoder(ModifyRequest)


class ChangeRoutes:
    """The routes of changes over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def router(self) -> APIRouter:
        """The routes, documented."""
        router = APIRouter(tags=["jobs"])
        add = router.add_api_route
        add("/v1/jobs/{job}", self.modify, methods=["PATCH"])
        add("/v1/jobs/{job}/requeue", self.requeue, methods=["POST"], status_code=202)
        add("/v1/jobs/{job}/switch", self.switch, methods=["POST"])
        add("/v1/jobs/{job}/top", self.top, methods=["POST"])
        add("/v1/jobs/{job}/bottom", self.bottom, methods=["POST"])
        return router

    async def modify(self, job: str, request: Request) -> Response:
        """Change what a job asked for; null puts a field back to its default."""
        body = await request.body()
        changes = read_changes(body)
        limit = slot_limit(changes)
        if limit is None:
            command: ModifyJob | LimitArray = modification(request, key_of(job), changes, body)
        else:
            idempotent = request_of(request, body)
            command = LimitArray(
                actor=actor_of(request), job=key_of(job), limit=limit, request=idempotent
            )
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})

    async def switch(self, job: str, request: Request) -> Response:
        """Put a job into another queue."""
        body = await request.body()
        wanted: SwitchRequest = decoded(_SWITCH, body)
        command = SwitchJob(
            actor=actor_of(request), job=key_of(job), queue=wanted.queue,
            request=request_of(request, body),
        )  # fmt: skip
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})

    async def top(self, job: str, request: Request) -> Response:
        """Move a job that waits to the top."""
        return await self._move(job, request, "top")

    async def bottom(self, job: str, request: Request) -> Response:
        """Move a job that waits to the bottom."""
        return await self._move(job, request, "bottom")

    async def _move(self, job: str, request: Request, to: str) -> Response:
        body = await request.body()
        wanted: MoveRequest = decoded(_MOVE, body or b"{}")
        if wanted.position < 1:
            raise Problem("invalid", "position: a number from 1 on", pointer="/position")
        command = MoveJob(
            actor=actor_of(request), job=key_of(job), to=to, position=wanted.position,
            request=request_of(request, body),
        )  # fmt: skip
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn})

    async def requeue(self, job: str, request: Request) -> Response:
        """Let a job run again, under its number."""
        body = await request.body()
        wanted: RequeueRequest = decoded(_REQUEUE, body or b"{}")
        if odd := [way for way in wanted.which if way not in WAYS]:
            said = f"which: {odd[0][:40]} is none of {', '.join(WAYS)}"
            raise Problem("invalid", said, pointer="/which")
        command = RequeueJob(
            actor=actor_of(request), job=key_of(job), which=wanted.which, held=wanted.held,
            request=request_of(request, body),
        )  # fmt: skip
        told = await asked(self._engine, command)
        return answer({**told.body, "lsn": told.lsn}, 202)


def read_changes(body: bytes) -> dict[str, Any]:
    """The fields that a change names; a Problem where it names none."""
    given = msgspec.structs.asdict(decoded(_MODIFY, body or b"{}"))
    changes = {name: value for name, value in given.items() if value is not UNSET}
    if not changes:
        raise Problem("invalid", "nothing is to be changed: name the fields that are")
    return changes


def slot_limit(changes: dict[str, Any]) -> int | None:
    """The slot limit that a name such as `%5` stands for, as in LSF; None where there is none. An
    array's indices stay as they were submitted."""
    name = changes.get("name")
    if not isinstance(name, str):
        return None
    if is_array(name):
        said = "the indices of a job array cannot be changed"
        raise Problem("invalid", said, pointer="/name", hint="its slot limit can: -J '%5'")
    if not name.startswith("%"):
        return None
    if not (name[1:].isascii() and name[1:].isdigit()) or len(name) > LIMIT_CHARACTERS_MAX:
        said = "Job array index error: the slot limit is a whole number behind the %"
        raise Problem("bad_array", said, pointer="/name", text=name, line=1, column=2)
    if len(changes) > 1:
        raise Problem("invalid", "the slot limit of an array is changed alone", pointer="/name")
    return int(name[1:])


def key_of(text: str) -> int:
    """A job's key; a Problem for what names none."""
    key = parse_job(text)
    if key is None:
        raise Problem("not_found", f"Job <{text[:40]}>: No matching job found")
    return key


def modification(http: Request, key: int, changes: dict[str, Any], body: bytes) -> ModifyJob:
    """The command that a change asks for; a Problem where no job could ask for that. A number of
    tasks alone is exactly that many."""
    if "tasks" in changes:
        changes = {"tasks_max": None, **changes}
    said = {name: value for name, value in changes.items() if value is not None}
    if "[" in said.get("name", ""):
        raise Problem("invalid", "the indices of an array cannot be changed", pointer="/name")
    if changes.get("command", ()) is None or changes.get("command", ("x",)) == ():
        raise Problem("invalid", "No command is specified", pointer="/command")
    whole = JobRequest(**{"command": ("x",), **said})
    judge_job(whole)
    blobs: dict[str, bytes] = {}
    spec = spec_of(http, whole, whole.name, blobs)
    fields = {
        _SPEC_FIELD.get(name, name): getattr(spec, _SPEC_FIELD.get(name, name))
        for name in changes
        if name not in OF_JOB
    }
    return ModifyJob(
        actor=actor_of(http), job=key, spec=fields, blobs=blobs, request=request_of(http, body),
        **{name: getattr(whole, name) for name in OF_JOB if name in changes},
    )  # fmt: skip

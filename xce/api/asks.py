"""From bodies of requests to commands: shapes, defaults, blobs and idempotency.

A body is judged here only as far as its shape goes; whether a queue exists or a requirement can
be met is decided by the controller. Environments and scripts become blobs, named by the hash of
their bytes, so that a thousand jobs of one shell share one.
"""

import pwd
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request as HttpRequest

from xce.api.gate import ACTOR, PEER_GID
from xce.api.problem import Problem, faulty
from xce.controller.core.commands import Request, SubmitGroup, SubmitJob
from xce.model.actor import Actor
from xce.model.config import Config
from xce.model.job import ONCE, PER_HOST, PER_TASK, Spec
from xce.model.manifest import Fault, ManifestError, Origin, resolve
from xce.model.manifest.rules import claims_of
from xce.resreq import ResreqError, parse_select
from xce.wal.codec import blob_name

KEY_CHARACTERS_MAX = 200
TASKS_MAX = 65_536
PRIORITY_MAX = 1_000
NAME_CHARACTERS_MAX = 4_094


class JobRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/jobs. `command` is an argument vector, or `script` a shell script.
    `env` is the whole environment of the job; None is an empty one."""

    command: tuple[str, ...] = ()
    script: str = ""
    name: str = ""
    queue: str = ""
    priority: int = -1
    tasks: int = 1
    resreq: str = ""
    run: str = ONCE
    cwd: str = "/"
    env: dict[str, str] | None = None
    umask: int = 0o022
    stdin: str = ""
    stdout: str = ""
    stderr: str = ""
    held: bool = False


class GroupRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/groups: a manifest (contract: The gang manifest) and its origin."""

    manifest: Any
    cwd: str = "/"
    env: dict[str, str] | None = None
    umask: int = 0o022


_JOB = msgspec.json.Decoder(JobRequest)
_GROUP = msgspec.json.Decoder(GroupRequest)


def actor_of(request: HttpRequest) -> Actor:
    """Who asks; the gate put it there."""
    actor: Actor = request.scope["state"][ACTOR]
    return actor


def decoded(decoder: "msgspec.json.Decoder[Any]", body: bytes) -> Any:
    """The body as its type; a Problem with the field's pointer when it does not fit."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `")
        place = where.rstrip("`").removeprefix("$").replace("[", "/").replace("]", "")
        raise Problem("invalid", what, pointer=place.replace(".", "/")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem("bad_request", f"the body is not JSON: {error}") from None


def request_of(http: HttpRequest, body: bytes, part: str = "") -> Request:
    """The idempotency of a request; without a key there is none."""
    key = http.headers.get("idempotency-key", "")
    if not key:
        return Request()
    if len(key) > KEY_CHARACTERS_MAX or not key.isascii() or not key.isprintable():
        raise Problem("bad_request", "Idempotency-Key: up to 200 printable ASCII characters")
    digest = blake2b(f"{http.method} {http.url.path}\n".encode() + body, digest_size=16)
    return Request(key=f"{key}{part}", digest=digest.hexdigest())


def submit_job(http: HttpRequest, body: bytes, part: str = "") -> SubmitJob:
    """The command that a POST /v1/jobs asks for."""
    asked: JobRequest = decoded(_JOB, body)
    actor = actor_of(http)
    _judge(asked)
    blobs: dict[str, bytes] = {}
    spec = Spec(
        command=asked.command,
        name=asked.name or _short(asked),
        cwd=asked.cwd,
        script=_blob(blobs, asked.script.encode()) if asked.script else "",
        environment=environment(blobs, asked.env),
        stdin=asked.stdin,
        stdout=_file(asked.stdout),
        stderr=_file(asked.stderr),
        tasks=asked.tasks,
        run=asked.run,
        resreq=asked.resreq,
        user=user_name(actor.uid),
        gid=http.scope["state"].get(PEER_GID, -1),
        umask=asked.umask,
    )
    return SubmitJob(
        actor=actor,
        spec=spec,
        queue=asked.queue,
        priority=asked.priority,
        held=asked.held,
        owner=actor.uid,
        blobs=blobs,
        request=request_of(http, body, part),
    )


def submit_group(http: HttpRequest, body: bytes, config: Config) -> SubmitGroup:
    """The command that a POST /v1/groups asks for."""
    asked: GroupRequest = decoded(_GROUP, body)
    actor = actor_of(http)
    _judge_origin(asked)
    blobs: dict[str, bytes] = {}
    origin = Origin(
        cwd=asked.cwd,
        environment=environment(blobs, asked.env),
        user=user_name(actor.uid),
        gid=http.scope["state"].get(PEER_GID, -1),
        umask=asked.umask,
    )
    try:
        group, members = resolve(asked.manifest, origin, config=config)
        _judge_selects(asked.manifest)
    except ManifestError as error:
        raise faulty(error.faults) from None
    return SubmitGroup(
        actor=actor,
        spec=group,
        member_specs=members,
        owner=actor.uid,
        blobs=blobs,
        request=request_of(http, body),
    )


def environment(blobs: dict[str, bytes], env: dict[str, str] | None) -> str:
    """The hash of an environment, which becomes a blob of `NAME=VALUE` parts, each ended by a
    NUL; "" for none."""
    if not env:
        return ""
    for name, value in env.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise Problem("invalid", f"{name[:40]!r} is no variable", pointer="/env")
    text = "".join(f"{name}={value}\0" for name, value in sorted(env.items()))
    return _blob(blobs, text.encode())


@lru_cache(maxsize=4096)
def user_name(uid: int) -> str:
    """The user's name, or the number where the machine knows none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _blob(blobs: dict[str, bytes], body: bytes) -> str:
    name = blob_name(body)
    blobs[name] = body
    return name


def _file(path: str) -> str:
    """A path that ends in `/` is a directory for the file of the default name."""
    return f"{path}xce-%J.out" if path.endswith("/") else path


def _short(asked: JobRequest) -> str:
    """What a job without a name is called: its command."""
    if asked.command:
        return " ".join(asked.command)[:NAME_CHARACTERS_MAX]
    lines = (line.strip() for line in asked.script.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "script")[:80]


def _judge(asked: JobRequest) -> None:
    _judge_origin(asked)
    if not asked.command and not asked.script.strip():
        raise Problem("invalid", "No command is specified", pointer="/command")
    if asked.command and asked.script:
        raise Problem("invalid", "a command or a script, not both", pointer="/script")
    if any("\0" in word for word in asked.command):
        raise Problem("invalid", "a word of the command holds a NUL", pointer="/command")
    if not 1 <= asked.tasks <= TASKS_MAX:
        raise Problem("invalid", f"tasks: a number from 1 to {TASKS_MAX}", pointer="/tasks")
    if asked.run not in (ONCE, PER_HOST, PER_TASK):
        raise Problem("invalid", "run: once, host or task", pointer="/run")
    if not -1 <= asked.priority <= PRIORITY_MAX:
        raise Problem("invalid", f"priority: from 0 to {PRIORITY_MAX}", pointer="/priority")
    if len(asked.name) > NAME_CHARACTERS_MAX or not asked.name.isprintable():
        raise Problem("invalid", "Bad job name", pointer="/name")
    if "[" in asked.name:
        raise Problem(
            "unsupported",
            "job arrays are not supported by this version",
            pointer="/name",
            hint="submit one job per index",
        )
    for field in ("stdin", "stdout", "stderr"):
        if "\0" in getattr(asked, field):
            raise Problem("invalid", f"{field} holds a NUL", pointer=f"/{field}")


def _judge_selects(manifest: dict[str, Any]) -> None:
    """The select expressions of claims must be readable; the manifest already fits its schema."""
    for path, claim in claims_of(manifest):
        text = claim.get("select", "a")
        try:
            parse_select(text)
        except ResreqError as error:
            fault = Fault(
                code="bad_value",
                path=(*path, "select"),
                message=error.message,
                hint=error.hint,
                text=text,
                column=error.column,
            )
            raise faulty((fault,)) from None


def _judge_origin(asked: JobRequest | GroupRequest) -> None:
    if not asked.cwd.startswith("/") or "\0" in asked.cwd:
        raise Problem("invalid", "cwd: an absolute path", pointer="/cwd")
    if not 0 <= asked.umask <= 0o777:
        raise Problem("invalid", "umask: from 0 to 0o777", pointer="/umask")

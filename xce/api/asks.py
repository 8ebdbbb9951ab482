"""From bodies of requests to commands: shapes, defaults, blobs and idempotency.

Environments and scripts become blobs, named by the hash of
their bytes, so that a thousand jobs of one shell share one.
"""

import pwd
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec
from starlette.requests import Request as HttpRequest

from xce.api.bodies import (
    NAME_CHARACTERS_MAX,
    GroupRequest,
    JobRequest,
    duration_us,
    judge_job,
    judge_origin,
)
from xce.api.gate import ACTOR, PEER_GID
from xce.api.problem import Problem, faulty
from xce.controller.core.commands import Request, SubmitGroup, SubmitJob
from xce.model.actor import Actor
from xce.model.config import Config
from xce.model.ids import parse_job
from xce.model.job import ClaimTemplate, Spec
from xce.model.manifest import Fault, ManifestError, Origin, resolve
from xce.model.manifest.rules import claims_of
from xce.model.waiting.array import Runs
from xce.resreq import ResreqError, parse_select
from xce.resreq.options.arrays import ArrayName, canonical_array, is_array, parse_array
from xce.wal.codec import blob_name

KEY_CHARACTERS_MAX = 200


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
        field = place.replace("/", ".").strip(".")
        said = f"{field}: {what[0].lower()}{what[1:]}" if field else what
        raise Problem("invalid", said, pointer=place.replace(".", "/")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem("bad_request", f"the body is not JSON: {error}") from None
    except RecursionError:
        raise Problem("bad_request", "the body is nested too deep") from None


def request_of(http: HttpRequest, body: bytes, part: str = "") -> Request:
    """The idempotency of a request; without a key there is none."""
    key = http.headers.get("idempotency-key", "")
    if not key:
        return Request()
    if len(key) > KEY_CHARACTERS_MAX or not key.isascii() or not key.isprintable():
        raise Problem("bad_request", "Idempotency-Key: up to 200 printable ASCII characters")
    digest = blake2b(f"{http.method} {http.scope['path']}\n".encode() + body, digest_size=16)
    return Request(key=f"{key}{part}", digest=digest.hexdigest())


def submit_job(http: HttpRequest, body: bytes, part: str = "") -> SubmitJob:
    """The command that a POST /v1/jobs asks for."""
    asked: JobRequest = decoded(_JOB, body)
    actor = actor_of(http)
    judge_job(asked)
    array = array_of(asked.name) if is_array(asked.name) else None
    blobs: dict[str, bytes] = {}
    name = array.name if array is not None else asked.name or _short(asked)
    spec = spec_of(http, asked, name, blobs)
    return SubmitJob(
        actor=actor,
        spec=spec,
        queue=asked.queue,
        priority=asked.priority,
        held=asked.held,
        array=canonical_array(array).removeprefix(array.name) if array is not None else "",
        indices=runs_of_name(array) if array is not None else (),
        array_limit=array.limit if array is not None else 0,
        owner=actor.uid,
        after=asked.after,
        blobs=blobs,
        request=request_of(http, body, part),
    )


def spec_of(http: HttpRequest, asked: JobRequest, name: str, blobs: dict[str, bytes]) -> Spec:
    """The spec that a body asks for; texts that it names go into `blobs`."""
    return Spec(
        command=asked.command,
        name=name,
        cwd=asked.cwd,
        script=_blob(blobs, asked.script.encode()) if asked.script else "",
        environment=environment(blobs, asked.env),
        stdin=asked.stdin,
        stdout=_file(asked.stdout),
        stderr=_file(asked.stderr),
        tasks=asked.tasks or 0,
        tasks_max=asked.tasks_max,
        exclusive=asked.exclusive,
        run=asked.run,
        resreq=asked.resreq,
        user=user_name(actor_of(http).uid),
        gid=http.scope["state"].get(PEER_GID, -1),
        umask=asked.umask,
        application=asked.application,
        run_limit_us=asked.run_limit_us,
        run_estimate_us=asked.run_estimate_us,
        begin_us=asked.begin_us,
        terminate_us=asked.terminate_us,
        project=asked.project,
        user_group=asked.user_group,
        reservation=asked.reservation,
        description=asked.description,
        stop_after_us=duration_us(asked.stop_after, "stop_after"),
        end_if_impossible=asked.end_if_impossible,
        job_group=asked.job_group,
        rerunnable=asked.rerunnable,
        requeue_exits=asked.requeue_exits,
        mem_limit_bytes=asked.mem_limit_bytes,
        anew=asked.anew,
        claims=tuple(ClaimTemplate(name=name, use=use) for name, use in asked.claims.items()),
    )


def array_of(name: str) -> ArrayName:
    """The array that a job's name asks for; a Problem with the column of what is wrong."""
    try:
        return parse_array(name)
    except ResreqError as error:
        raise Problem(
            "bad_array", f"{error.lsf_text}: {error.message}", pointer="/name", line=1,
            column=error.column, text=name, hint=error.hint,
        ) from None  # fmt: skip


def runs_of_name(made: ArrayName) -> Runs:
    """An array's ranges as runs."""
    return tuple((one.first, one.last, one.step) for one in made.ranges)


def named(text: str) -> tuple[int, Runs]:
    """The key and the elements that `12`, `12[3]` or `12[1-50,60]` names; a Problem for what is
    no job."""
    key = parse_job(text)
    if key is not None:
        return key, ()
    if text.endswith("]") and len(text) <= NAME_CHARACTERS_MAX:
        number = parse_job(text.partition("[")[0])
        if number is not None:
            made = array_of(text)
            if not made.limit and made.name == str(number):
                return number, runs_of_name(made)
    raise unknown(text)


def runs_named(text: str) -> Runs:
    """The runs of `?elements=`: `all` is none."""
    if text in ("", "all"):
        return ()
    return runs_of_name(array_of(f"e[{text}]"))


def unknown(text: str) -> Problem:
    """There is no such job."""
    return Problem("not_found", f"Job <{text[:40]}>: No matching job found")


def submit_group(http: HttpRequest, body: bytes, config: Config) -> SubmitGroup:
    """The command that a POST /v1/groups asks for."""
    asked: GroupRequest = decoded(_GROUP, body)
    actor = actor_of(http)
    judge_origin(asked)
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
    text = "".join(f"{name}={value}\0" for name, value in sorted(env.items()))
    return _blob(blobs, text.encode())


@lru_cache(maxsize=4096)
def user_name(uid: int) -> str:
    """The user's name, or the number where the machine knows none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
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
        return _printable(" ".join(asked.command)[:NAME_CHARACTERS_MAX])
    lines = (line.strip() for line in asked.script.splitlines())
    line = next((line for line in lines if line and not line.startswith("#")), "script")
    return _printable(line[:80])


def _printable(text: str) -> str:
    """A name is one line for people: what would move a terminal's cursor becomes a blank."""
    return "".join(char if char.isprintable() else " " for char in text)


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

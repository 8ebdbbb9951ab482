"""Bodies of requests: their shapes, and what is wrong with them before anybody decides.

Judged is what a process could never be given and what would only cost time. Whether a queue
exists or a requirement can be met is the controller's to say.
"""

from typing import Any

from msgspec import Struct

from xce.api.problem import Problem
from xce.model.job import ONCE, PER_HOST, PER_TASK, TASKS_MAX
from xce.model.manifest.process import (
    REQUIREMENT_CHARACTERS_MAX,
    wrong_command,
    wrong_environment,
    wrong_path,
)
from xce.model.units import UnitError, parse_duration

PRIORITY_MAX = 1_000
NAME_CHARACTERS_MAX = 4_094
TIME_US_MAX = 1 << 60


class JobRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/jobs. `command` is an argument vector, or `script` a shell script.
    With `tasks_max` it starts with as many tasks as fit, from `tasks` on.
    `env` is the whole environment of the job; None is an empty one. `after` is a dependency;
    with `end_if_impossible` the job ends when that can never be met. `claims` has the standalone
    claims that it uses (id or name), by the names that it has for them."""

    command: tuple[str, ...] = ()
    script: str = ""
    name: str = ""
    queue: str = ""
    priority: int = -1
    tasks: int | None = None
    tasks_max: int = 0
    exclusive: bool = False
    resreq: str = ""
    run: str = ONCE
    cwd: str = "/"
    env: dict[str, str] | None = None
    umask: int = 0o022
    stdin: str = ""
    stdout: str = ""
    stderr: str = ""
    held: bool = False
    application: str = ""
    run_limit_us: int = 0
    run_estimate_us: int = 0
    begin_us: int = 0
    terminate_us: int = 0
    project: str = ""
    user_group: str = ""
    reservation: str = ""
    description: str = ""
    stop_after: str = ""
    after: str = ""
    end_if_impossible: bool = False
    job_group: str = ""
    rerunnable: bool | None = None
    requeue_exits: str = ""
    mem_limit_bytes: int = 0
    claims: dict[str, str] = {}
    anew: tuple[str, ...] = ()


class GroupRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Body of POST /v1/groups: a manifest (contract: The gang manifest) and its origin."""

    manifest: Any
    cwd: str = "/"
    env: dict[str, str] | None = None
    umask: int = 0o022


def judge_job(asked: JobRequest) -> None:
    """A Problem when no such job can be."""
    judge_origin(asked)
    _judge_what(asked)
    if asked.tasks is not None and not 1 <= asked.tasks <= TASKS_MAX:
        raise Problem("invalid", f"tasks: a number from 1 to {TASKS_MAX}", pointer="/tasks")
    if asked.tasks_max and not (asked.tasks or 0) <= asked.tasks_max <= TASKS_MAX:
        said = f"tasks_max: a number from tasks ({asked.tasks}) to {TASKS_MAX}, as in -n 2,4"
        raise Problem("invalid", said, pointer="/tasks_max")
    if asked.run not in (ONCE, PER_HOST, PER_TASK):
        raise Problem("invalid", "run: once, host or task", pointer="/run")
    if not -1 <= asked.priority <= PRIORITY_MAX:
        raise Problem("invalid", f"priority: from 0 to {PRIORITY_MAX}", pointer="/priority")
    if len(asked.resreq) > REQUIREMENT_CHARACTERS_MAX:
        most = f"at most {REQUIREMENT_CHARACTERS_MAX} characters"
        raise Problem("invalid", f"Bad resource requirement: {most}", pointer="/resreq")
    duration_us(asked.stop_after, "stop_after")
    if len(asked.after) > REQUIREMENT_CHARACTERS_MAX:
        most = f"at most {REQUIREMENT_CHARACTERS_MAX} characters"
        raise Problem("invalid", f"Dependency condition: {most}", pointer="/after")
    for field in ("stdin", "stdout", "stderr"):
        _refuse(wrong_path(getattr(asked, field)), field)
    _judge_life(asked)


def _judge_life(asked: JobRequest) -> None:
    for field in ("run_limit_us", "run_estimate_us", "begin_us", "terminate_us"):
        if not 0 <= getattr(asked, field) <= TIME_US_MAX:
            raise Problem("invalid", f"{field}: microseconds, 0 for none", pointer=f"/{field}")
    if not set(asked.anew) <= {"stdout", "stderr"}:
        raise Problem("invalid", "anew: stdout, stderr or both", pointer="/anew")
    if not 0 <= asked.mem_limit_bytes <= TIME_US_MAX:
        raise Problem("invalid", "mem_limit_bytes: bytes, 0 for none", pointer="/mem_limit_bytes")
    for field in ("project", "description"):
        text = getattr(asked, field)
        if len(text) > NAME_CHARACTERS_MAX or not text.isprintable():
            raise Problem("invalid", f"{field}: one line of text", pointer=f"/{field}")


def duration_us(text: str, field: str) -> int:
    """A duration of a request, 0 where none is given."""
    try:
        return parse_duration(text) if text else 0
    except UnitError as error:
        raise Problem(
            "invalid", f"{field}: {error}", pointer=f"/{field}", hint="say 90s, 5m or 2h"
        ) from None


def _judge_what(asked: JobRequest) -> None:
    if not asked.command and not asked.script.strip():
        raise Problem("invalid", "No command is specified", pointer="/command")
    if asked.command and asked.script:
        raise Problem("invalid", "a command or a script, not both", pointer="/script")
    _refuse(wrong_command(asked.command), "command")
    if len(asked.name) > NAME_CHARACTERS_MAX or not asked.name.isprintable():
        raise Problem("invalid", "Bad job name", pointer="/name")


def judge_origin(asked: JobRequest | GroupRequest) -> None:
    """A Problem when nothing could be started from there."""
    if not asked.cwd.startswith("/"):
        raise Problem("invalid", "cwd: an absolute path", pointer="/cwd")
    _refuse(wrong_path(asked.cwd), "cwd")
    if not 0 <= asked.umask <= 0o777:
        raise Problem("invalid", "umask: from 0 to 0o777", pointer="/umask")
    _refuse(wrong_environment((asked.env or {}).items()), "env")


def _refuse(why: str, field: str) -> None:
    if why:
        raise Problem("invalid", f"{field}: {why}", pointer=f"/{field}")

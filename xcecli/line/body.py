"""What a submission's line says, as the body of a request. Standard library only."""

from __future__ import annotations

import os
import time

from xcecli import say
from xcecli.say import Failure
from xcecli.wire import working_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_GIVEN = (
    "name", "tasks", "queue", "application", "priority", "stdin", "stdout", "stderr", "held",
    "run_limit_us", "run_estimate_us", "project", "description", "rerunnable", "requeue_exits",
    "user_group", "reservation", "exclusive",
    "mem_limit_bytes", "anew",
    "stop_after",
    "after", "end_if_impossible", "job_group",
)  # fmt: skip


def refuse_bytes(values: dict[str, Any], words: list[str]) -> None:
    """What is no text cannot travel."""
    if not all(map(_is_text, words)):
        what = "a word of the command"
    elif odd := next((name for name, value in values.items() if not _is_text(_plain(value))), ""):
        what = f"--{odd}"
    else:
        return
    raise Failure(f"{what} is not UTF-8. Job not submitted.", say.REFUSED)


def _plain(value: object) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


def body_of(values: dict[str, Any], words: list[str], script: str) -> dict[str, Any]:
    """The body of POST /v1/jobs."""
    cwd = os.path.join(working_directory(), values.get("cwd") or "")
    cwd = os.path.abspath(cwd)
    umask = os.umask(0o077)
    os.umask(umask)
    body = {"cwd": cwd, "umask": umask, "env": environment(values.get("env") or "all")}
    if script:
        body["script"] = script
        body["name"] = values.get("name") or os.path.basename(values.get("script") or "")
    else:
        body["command"] = words
    return {**body, **said(values)}


def said(values: dict[str, Any]) -> dict[str, Any]:
    """What the options of a submission or a change say, as fields of a body."""
    body = {field: values[field] for field in _GIVEN if values.get(field) not in (None, "")}
    if texts := values.get("resreq"):
        body["resreq"] = texts[0] if len(texts) == 1 else _joined(texts)
    if isinstance(tasks := body.get("tasks"), str):
        least, _, most = tasks.partition(",")
        body["tasks"], body["tasks_max"] = int(least), int(most)
    if pairs := values.get("claims"):
        body["claims"] = _claims(pairs)
    return {**body, **moments(values)}


def _claims(pairs: list[str]) -> dict[str, str]:
    """`NAME=CLAIM` pairs: which claim is meant by which name."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, mark, use = pair.partition("=")
        if not mark or not name or not use or name in found:
            hint = "like --claim data=c7: XCE_CLAIM_DATA_VALUE is then what c7 gives"
            raise Failure(f"--claim {pair}: NAME=CLAIM, each name once", say.USAGE, hint)
        found[name] = use
    return found


def moments(values: dict[str, Any]) -> dict[str, int]:
    """Begin and termination time, by the clock of this machine and the user's local time."""
    if not values.get("begin") and not values.get("terminate"):
        return {}
    from xcecli.line.moments import resolved

    return resolved(values, time.time_ns() // 1_000)


def _joined(texts: list[str]) -> str:
    from xcecli.line.requirements import joined

    return joined(texts)


def environment(text: str) -> dict[str, str]:
    """What `--env` says of this environment: `none`, or `all` or single names, `~NAME` without,
    `NAME=VALUE` instead. What is no text cannot travel and is left out."""
    parts = [part for part in text.split(",") if part]
    everything = "all" in parts
    env = dict(os.environ) if everything else {}
    for part in parts:
        name, mark, value = part.partition("=")
        if part in ("all", "none"):
            continue
        if name.startswith("~"):
            env.pop(name[1:], None)
        elif mark:
            env[name] = value
        elif name in os.environ:
            env[name] = os.environ[name]
    odd = [name for name, value in env.items() if not _is_text(name + value)]
    for name in odd:
        say.tell(f"warning: the variable {name!a} is not UTF-8 and is left out")
        del env[name]
    return env


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

"""Submit, list, kill and wait: what the commands do once their line is read.

Called by the fast path and by click alike, with the same fields. Standard library only; what is
rarely needed (scripts) is imported when it is.
"""

from __future__ import annotations

import json
import os
import sys
import time

from xcecli import say
from xcecli.say import Failure
from xcecli.wire import Place, call, working_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

POLL_S = 50
RECONNECT_S = 60.0
FORMATS = ("table", "wide", "json")
_GIVEN = (
    "name", "tasks", "queue", "application", "priority", "stdin", "stdout", "stderr", "held",
    "run_limit_us", "run_estimate_us", "project", "description", "rerunnable", "requeue_exits",
    "stop_after",
    "after", "end_if_impossible", "job_group",
)  # fmt: skip


def place_of(values: dict[str, Any]) -> Place:
    """Where the controller is, by the common options."""
    return Place(values.get("home") or "", values.get("url") or "")


def format_of(values: dict[str, Any]) -> str:
    """table, wide or json."""
    if values.get("json"):
        return "json"
    if values.get("wide"):
        return "wide"
    chosen = values.get("format") or "table"
    if chosen not in FORMATS:
        raise Failure(f"--format {chosen}: it is one of {', '.join(FORMATS)}", say.USAGE)
    return str(chosen)


def new_key() -> str:
    """An idempotency key: kept over all repeats of one request."""
    return os.urandom(16).hex()


# -- submit -------------------------------------------------------------------------------------


def submit(values: dict[str, Any], words: list[str]) -> int:
    """Submit a command or a script."""
    values, script = _with_script(values, words)
    _refuse_bytes(values, words)
    place = place_of(values)
    key = new_key()
    unsure = (
        "whether the job was submitted is not known. Look with `xcecli jobs -a`; "
        f"the idempotency key of this request is {key}"
    )
    body = body_of(values, words, script)
    status, told = call(place, "POST", "/v1/jobs", body, key=key, unsure=unsure)
    if status >= 300:
        raise say.failure_of(status, told, "Job not submitted.")
    if values.get("json"):
        print(json.dumps(told))
    elif values.get("id"):
        print(told["job"])
    else:
        which = "default queue" if told.get("default_queue") else "queue"
        out = sys.stderr if values.get("wait") else sys.stdout
        print(f"Job <{told['job']}> is submitted to {which} <{told['queue']}>.", file=out)
        for field, text in (("begin_us", "scheduled after"), ("terminate_us", "terminated by")):
            if body.get(field):
                print(f"Job will be {text} {say.exactly(body[field])[:19]}", file=out)
    return wait_for(place, "jobs", told["job"]) if values.get("wait") else say.OK


def _refuse_bytes(values: dict[str, Any], words: list[str]) -> None:
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


def _with_script(values: dict[str, Any], words: list[str]) -> tuple[dict[str, Any], str]:
    """The fields with those of a script's #BSUB lines under them, and the script's text."""
    if words and not values.get("script"):
        if not os.path.isfile(words[0]):
            return values, ""
        from xcecli.script import read_file

        text, embedded = read_file(words)
        name = {"name": os.path.basename(words[0])} if text else {}
        return {**name, **embedded, **values}, text
    if not values.get("script") and sys.stdin.isatty():
        raise Failure(
            "No command is specified. Job not submitted.",
            say.USAGE,
            "give a command, or a script on the standard input: xcecli submit < job.sh",
        )
    from xcecli.script import read_script

    text, embedded = read_script(values.get("script") or "-")
    return {**embedded, **values}, text


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
    if values.get("resreq"):
        texts = values["resreq"]
        body["resreq"] = texts[0] if len(texts) == 1 else _joined(texts)
    for field in _GIVEN:
        if values.get(field) not in (None, ""):
            body[field] = values[field]
    return {**body, **moments(values)}


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


def named(word: str) -> str:
    """An id as part of a URL; an empty one would name the whole list."""
    if not word:
        raise Failure("an id is empty", say.USAGE, "a job is like 12, a gang like g7")
    return quoted(word)


def quoted(text: str) -> str:
    """A word as part of a URL."""
    plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
    return "".join(
        char
        if char in plain
        else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))
        for char in text
    )


def titled(name: str) -> str:
    """`Job <12>` or `Group <g7>`."""
    return f"{'Group' if name.startswith('g') else 'Job'} <{name}>"


def hosts_text(hosts: list[dict[str, Any]]) -> str:
    """`n1` or `4*n1:2*n2`."""
    return ":".join(
        host["host"] if host["tasks"] == 1 else f"{host['tasks']}*{host['host']}" for host in hosts
    )


# -- kill and hold ------------------------------------------------------------------------------


def kill(values: dict[str, Any], words: list[str]) -> int:
    """End jobs and gangs."""
    if values.get("job_group"):
        words = jobs_of_group(values, words)
    elif not words:
        raise Failure("which job? give one or more ids", say.USAGE, "xcecli kill 12")
    return ask_each(values, words, "kill", "is being terminated")


def jobs_of_group(values: dict[str, Any], words: list[str]) -> list[str]:
    """Your jobs of a job group and of those below it that have not ended; of those the ones that
    are named, where some are (0 names all)."""
    path, found, cursor = str(values["job_group"]), [], ""
    place = place_of(values)
    while True:
        query = f"group={quoted(path)}&user={os.getuid()}&limit=1000{cursor}"
        status, told = call(place, "GET", f"/v1/jobs?{query}")
        if status >= 300:
            raise say.failure_of(status, told)
        found += [item["id"] for item in told["items"]]
        if told["next"] is None:
            break
        cursor = f"&cursor={quoted(str(told['next']))}"
    wanted = [word for word in words if word != "0"]
    chosen = [one for one in found if not wanted or one in wanted or one.split("[")[0] in wanted]
    if not chosen:
        raise Failure(f"No job of yours in job group <{path}>", say.NOT_FOUND)
    return chosen


def ask_each(
    values: dict[str, Any],
    words: list[str],
    verb: str,
    said: str,
    body: dict[str, Any] | None = None,
) -> int:
    """Ask something of jobs and gangs; all are tried, the first failure gives the exit code.
    `said` may name fields of the answer in braces."""
    place, code = place_of(values), say.OK
    as_json = format_of(values) == "json"
    told_all = []
    for word in words:
        kind = "groups" if word.startswith("g") else "jobs"
        path = f"/v1/{kind}/{named(word)}/{verb}"
        unsure = f"whether {word} {said} is not known; look with `xcecli jobs -a`"
        status, told = call(place, "POST", path, body, key=new_key(), unsure=unsure)
        if status >= 300:
            say.tell_failure(say.failure_of(status, told))
            code = code or say.exit_code_of(status)
        elif as_json:
            told_all.append(told)
        else:
            print(f"{titled(word)} {said.format(**told)}")
    if as_json:
        print(json.dumps(told_all))
    return code


# -- wait ---------------------------------------------------------------------------------------


def wait_for(place: Place, kind: str, name: str) -> int:
    """The exit code of a job or gang once it has ended; 125 where there is none to give."""
    return code_of(await_end(place, kind, name), name)


def await_end(place: Place, kind: str, name: str, limit_s: float = 0.0) -> dict[str, Any]:
    """A job or gang once it has ended; a Failure with 125 says why it cannot be known."""
    end = time.monotonic() + limit_s if limit_s else None
    lost_since = 0.0
    while True:
        left = POLL_S if end is None else max(0.0, min(POLL_S, end - time.monotonic()))
        told: dict[str, Any]
        try:
            status, told = call(place, "GET", f"/v1/{kind}/{named(name)}/wait?timeout={left:.3f}")
        except Failure as failure:
            now = time.monotonic()
            lost_since = lost_since or now
            if failure.code != say.UNREACHABLE or now - lost_since > RECONNECT_S:
                raise Failure(failure.message, say.OWN_FAILURE, failure.hint) from None
            time.sleep(1.0)
            continue
        lost_since = 0.0
        if status >= 300:
            raise Failure(say.failure_of(status, told).message, say.OWN_FAILURE)
        if told["ended"]:
            return told
        if end is not None and time.monotonic() >= end:
            raise Failure(f"{titled(name)} has not ended in time", say.OWN_FAILURE)


def code_of(told: dict[str, Any], name: str) -> int:
    """What to exit with for a job or gang that has ended."""
    code = told.get("exit_code")
    if isinstance(code, int):
        return code
    if told.get("state") == "DONE":
        return say.OK
    ended = told.get("exit") or {}
    say.tell(f"{titled(name)} ended without an exit code: {ended.get('reason') or 'not known'}")
    if told.get("last_failure"):
        say.tell(f"last failed start: {told['last_failure']}")
    return say.OWN_FAILURE

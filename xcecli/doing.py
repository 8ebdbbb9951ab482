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
from xcecli.wire import Place, call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

POLL_S = 50
RECONNECT_S = 60.0
FORMATS = ("table", "wide", "json")


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
    from xcecli.line.body import body_of, refuse_bytes

    values, script = _with_script(values, words)
    refuse_bytes(values, words)
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
    said: str | Callable[[dict[str, Any]], str],
    body: dict[str, Any] | None = None,
) -> int:
    """Ask something of jobs and gangs; all are tried, the first failure gives the exit code.
    `said` may name fields of the answer in braces, or be a whole sentence made from it."""
    place, code = place_of(values), say.OK
    as_json = format_of(values) == "json"
    told_all = []
    for word in words:
        kind = "groups" if word.startswith("g") else "jobs"
        path = f"/v1/{kind}/{named(word)}{'/' if verb else ''}{verb}"
        what = said if isinstance(said, str) else "is changed"
        unsure = f"whether {word} {what} is not known; look with `xcecli jobs -a`"
        method = "POST" if verb else "PATCH"
        status, told = call(place, method, path, body, key=new_key(), unsure=unsure)
        if status >= 300:
            say.tell_failure(say.failure_of(status, told))
            code = code or say.exit_code_of(status)
        elif as_json:
            told_all.append(told)
        else:
            print(_sentence(word, said, told))
    if as_json:
        print(json.dumps(told_all))
    return code


def _sentence(word: str, said: str | Callable[[dict[str, Any]], str], told: dict[str, Any]) -> str:
    if isinstance(said, str):
        return f"{titled(word)} {said.format(**told)}"
    return said(told).format(**told)


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

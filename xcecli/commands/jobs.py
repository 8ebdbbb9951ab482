"""One job (or gang) at a time: show, wait, suspend, resume, logs, explain, history."""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Any, BinaryIO

import click

from xcecli import say
from xcecli.commands.looking.conditions import await_condition
from xcecli.commands.shape import command, fetch
from xcecli.doing import (
    ask_each,
    await_end,
    code_of,
    format_of,
    hosts_text,
    jobs_of_group,
    named,
    place_of,
)
from xcecli.long import ended_lines, job_lines, suspended_text, waiting_lines
from xcecli.say import Failure

FOLLOW_S = 0.2
_ASK_EVERY_S = 1.0
_FACTS_SHOWN, _FACT_CHARACTERS = 5, 24
_ENDED = ("DONE", "EXITED")
# Smaller values are durations: no log is older than this.
_MOMENT_US = 10**15
_TIME = click.FloatRange(min=0)


def kind_of(name: str) -> str:
    """The noun that an id is of."""
    return "groups" if name.startswith("g") else "jobs"


@command("job", "  xcecli job 12\n  xcecli job --json 12")
@click.argument("job")
def job(values: dict[str, Any], job: str) -> int:
    """Show one job, whole."""
    if kind_of(job) == "groups":
        said = f"Job <{say.line(job)}>: No matching job found"
        raise Failure(
            said, say.NOT_FOUND, f"a gang is shown by `xcecli group show {say.line(job)}`"
        )
    told = fetch(values, f"/v1/jobs/{named(job)}")
    if format_of(values) == "json":
        print(json.dumps(told))
        return say.OK
    print("\n".join(map(say.line, job_lines(told))))
    return say.OK


@command(
    "wait",
    "  xcecli wait 12\n  xcecli wait --timeout 60 12 g7\n  xcecli wait --json 12\n"
    "  xcecli wait -w 'done(12) || exit(prep)' -t 5",
)
@click.argument("names", nargs=-1, metavar="[JOB]...")
@click.option("-w", "--condition", metavar="EXPR", help="wait until this holds, see submit -w")
@click.option("-t", "for_", type=_TIME, metavar="N", help="give up after N s; with -w minutes")
@click.option("--timeout", type=_TIME, metavar="S", help="give up after S seconds")
def wait(
    values: dict[str, Any],
    names: tuple[str, ...],
    condition: str | None,
    for_: float | None,
    timeout: float | None,
) -> int:
    """Wait until jobs or gangs have ended, or until a condition holds.

    Exits with the first code that is not 0, in the order of the ids; 125 for failures of the
    waiting itself. A gang that ended badly gives its first failed member's code. As JSON it is a
    list of what has ended. With -w it exits with 0 when the condition holds, with 1 when it can
    never hold, and with 125 when the time is over.
    """
    if bool(names) == (condition is not None):
        raise Failure("wait for jobs, or for -w EXPR", say.USAGE)
    if condition is not None:
        minutes = None if for_ is None else for_ * 60
        return await_condition(values, condition, minutes if timeout is None else timeout)
    timeout = for_ if timeout is None else timeout
    if timeout is not None and not math.isfinite(timeout):
        raise Failure("--timeout: a number of seconds", say.USAGE)
    place = place_of(values)
    end = None if timeout is None else time.monotonic() + timeout
    code, ended = 0, []
    try:
        for name in names:
            left = 0.0 if end is None else max(end - time.monotonic(), 0.001)
            told = await_end(place, kind_of(name), name, left)
            ended.append(told)
            code = code or code_of(told, name)
    finally:
        if format_of(values) == "json":
            print(json.dumps(ended))
    return code


# -- suspend and resume ---------------------------------------------------------------------------


@command("suspend", "  xcecli suspend 12\n  xcecli suspend 12 13\n  xcecli suspend g7")
@click.argument("names", nargs=-1, metavar="[JOB]...")
@click.option("-g", "--job-group", metavar="PATH", help="your jobs of this job group")
def suspend(values: dict[str, Any], names: tuple[str, ...], job_group: str | None) -> int:
    """Stop running jobs or gangs, and keep pending ones from being started.

    Once its hosts have frozen it, others may have its slots and whatever else its resource types
    release; it keeps its memory. A gang is suspended whole.
    """
    return ask_each(values, _named(values, names, job_group), "suspend", "is being stopped")


@command("resume", "  xcecli resume 12\n  xcecli resume 12 13\n  xcecli resume g7")
@click.argument("names", nargs=-1, metavar="[JOB]...")
@click.option("-g", "--job-group", metavar="PATH", help="your jobs of this job group")
def resume(values: dict[str, Any], names: tuple[str, ...], job_group: str | None) -> int:
    """Let suspended jobs or gangs go on, and those submitted with -H be started.

    What was lent meanwhile is given back first, on the same hosts; `xcecli explain` says what a
    job waits for until then.
    """
    return ask_each(values, _named(values, names, job_group), "resume", "is being resumed")


def _named(values: dict[str, Any], names: tuple[str, ...], job_group: str | None) -> list[str]:
    """The jobs that a line is about."""
    if job_group is not None:
        return jobs_of_group({**values, "job_group": job_group}, list(names))
    if not names:
        raise Failure("which job? give one or more ids", say.USAGE)
    return list(names)


# -- logs ---------------------------------------------------------------------------------------


@command("logs", "  xcecli logs 12\n  xcecli logs -f 12\n  xcecli logs g7\n  xcecli logs --json 12")
@click.argument("name", metavar="JOB")
@click.option("-f", "--follow", is_flag=True, help="go on until the job has ended")
@click.option("-e", "--error", is_flag=True, help="the file of errors, where there is one")
def logs(values: dict[str, Any], name: str, follow: bool, error: bool) -> int:
    """Print a job's output, or that of all members of a gang.

    The file is read as you, where you are; when it is on a host that this machine is not, the
    host and the path are told. As JSON it is a list with path and text of each job.
    """
    if format_of(values) == "json":
        return _logs_json(values, name, follow, error)
    if kind_of(name) == "groups":
        if follow:
            raise Failure("a gang's output can be followed member by member", say.USAGE)
        members = fetch(values, f"/v1/groups/{named(name)}/members")["members"]
        code = say.OK
        for member in members:
            print(f"==> {member['role']} {member['rank']} (job {member['id']}) <==", flush=True)
            code = _print(member, error) or code
        return code
    told = _one(values, name)
    return _follow(values, told, error) if follow else _print(told, error)


def _logs_json(values: dict[str, Any], name: str, follow: bool, error: bool) -> int:
    """What there is now of each output; `text` is null where there is no file here."""
    if follow:
        raise Failure("--follow goes on; --json is one document", say.USAGE)
    if kind_of(name) == "groups":
        jobs = fetch(values, f"/v1/groups/{named(name)}/members")["members"]
    else:
        jobs = [_one(values, name)]
    items = []
    for told in jobs:
        path = told["stderr" if error else "stdout"]
        file = _opened(path)
        text = None
        if file is not None:
            with file:
                text = file.read().decode("utf-8", "replace")
        items.append({"job": told["id"], "state": told["state"], "path": path, "text": text})
    print(json.dumps(items))
    return say.OK


def _one(values: dict[str, Any], name: str) -> dict[str, Any]:
    """One job that has an output of its own."""
    told: dict[str, Any] = fetch(values, f"/v1/jobs/{named(name)}")
    if "stdout" not in told or "array" in told:
        said = f"Job <{say.line(name)}> is an array: each element has its own output"
        raise Failure(said, say.USAGE, f"name one: xcecli logs '{name.partition('[')[0]}[1]'")
    return told


def _print(told: dict[str, Any], error: bool) -> int:
    path = told["stderr" if error else "stdout"]
    try:
        with open(path, "rb") as file:
            _copy(file)
    except FileNotFoundError:
        if told["state"] in ("PENDING", "HELD", "STARTING"):
            say.tell(f"Job <{told['id']}>: Not yet started.")
            return say.OK
        say.tell(_elsewhere(told, path))
        return say.FAILED
    except OSError as problem:
        raise Failure(f"{path}: {problem.strerror}", say.FAILED) from None
    return say.OK


def _opened(path: str) -> BinaryIO | None:
    """The file, None as long as there is none."""
    try:
        return open(path, "rb")
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise Failure(f"{path}: {problem.strerror}", say.FAILED) from None


def _elsewhere(told: dict[str, Any], path: str) -> str:
    hosts = hosts_text(told["hosts"])
    where = f"on {hosts}" if hosts else "not here"
    return f"Job <{told['id']}>: the output is {where}: {path}"


def _copy(file: BinaryIO) -> bool:
    """Everything that can be read now; whether there was anything."""
    found = False
    while part := file.read(1 << 16):
        found = True
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()
    return found


def _follow(values: dict[str, Any], told: dict[str, Any], error: bool) -> int:
    """Print what is added until the job has ended and all of it is read."""
    path = told["stderr" if error else "stdout"]
    name = told["id"]
    asked = time.monotonic()
    file: BinaryIO | None = None
    while True:
        over = told["state"] in _ENDED
        if file is None:
            file = _opened(path)
        more = _copy(file) if file is not None else False
        if over and not more:
            break
        time.sleep(0 if over else FOLLOW_S)
        if time.monotonic() - asked >= _ASK_EVERY_S:
            told, asked = fetch(values, f"/v1/jobs/{named(name)}"), time.monotonic()
    if file is None:
        say.tell(_elsewhere(told, path))
        return say.FAILED
    file.close()
    return say.OK


# -- explain and history ------------------------------------------------------------------------


@command("explain", "  xcecli explain 12\n  xcecli explain g7")
@click.argument("name", metavar="JOB")
def explain(values: dict[str, Any], name: str) -> int:
    """Say why a job or gang waits, or what it is doing."""
    told = fetch(values, f"/v1/{kind_of(name)}/{named(name)}/explain")
    if format_of(values) == "json":
        print(json.dumps(told))
        return say.OK
    about = told.get("job") or told["group"]
    word = "Job" if "job" in told else "Group"
    lines = [f"{word} <{about['id']}> is {about.get('stat') or about['state']}"]
    if about["state"] == "RUNNING" and (about.get("suspended_since_us") or about.get("suspended")):
        lines.append(f"  {suspended_text(about)}")
    lines += waiting_lines(about, told["reason"], told.get("expected"), told.get("position"))
    if about["state"] in _ENDED:
        lines += ended_lines(about)
    lines += [f"  still missing: {line}" for line in told.get("missing", ())]
    if about.get("last_failure"):
        lines.append(f"  last failed start: {about['last_failure']}")
    if not told["reason"] and (about.get("stat") == "PEND" or about["state"] == "PENDING"):
        lines.append(f"  {_not_yet(about)}")
    print("\n".join(map(say.line, lines)))
    return say.OK


def _not_yet(about: dict[str, Any]) -> str:
    """What a thing without a reason waits for: its back-off, or the next session."""
    left_s = ((about.get("not_before_us") or 0) - time.time_ns() // 1000) / 1_000_000
    if left_s > 0:
        return f"it is tried again in {left_s:.0f} s"
    return "no session has looked at it yet"


@command("history", "  xcecli history 12\n  xcecli history g7\n  xcecli history --json host:n1")
@click.argument("name", metavar="THING")
def history(values: dict[str, Any], name: str) -> int:
    """The records that name a thing: lsn, time, cause, what changed.

    A thing is a job (12), a gang (g7), a claim (c7) or a host (host:n1).
    """
    told = fetch(values, f"/v1/history/{named(name)}")
    how = format_of(values)
    if how == "json":
        print(json.dumps(told))
        return say.OK
    columns = (
        ("LSN", 7),
        ("TIME", 23),
        ("KIND", 18),
        ("ACTOR", 12),
        ("CAUSE", 8),
        ("CHANGE", 20),
        ("FACTS", 0),
    )
    rows = [
        [
            str(step["lsn"]),
            say.exactly(step["at_us"]),
            step["kind"],
            step["actor"],
            step["cause"],
            ", ".join(_change(one) for one in step["changes"] if one["state"]) or "-",
            _facts(step["facts"]),
        ]
        for step in told["records"]
    ]
    print(say.table(columns, rows, wide=how == "wide", fit=True))
    return say.OK


def _change(change: dict[str, Any]) -> str:
    return f"{change['event']}>{change['state']}"


def _facts(facts: dict[str, Any]) -> str:
    """The first plain facts of a record."""
    plain = [fact_text(name, value) for name, value in facts.items() if value and _is_plain(value)]
    return " ".join(plain[:_FACTS_SHOWN])


def fact_text(name: str, value: object) -> str:
    """`job=3`; a moment as a time of day: `started=01:11:17.867`."""
    if name.endswith("_us") and isinstance(value, int) and value >= _MOMENT_US:
        return f"{name.removesuffix('_us')}={say.exactly(value)[11:]}"
    return f"{name}={value}"


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int) and len(str(value)) <= _FACT_CHARACTERS

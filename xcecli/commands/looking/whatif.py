"""What would happen if a job were submitted or changed, or hosts were others."""

from __future__ import annotations

import json
from typing import Any

import click

from xcecli import say
from xcecli.commands.shape import command
from xcecli.doing import format_of, hosts_text, place_of
from xcecli.line.body import body_of, refuse_bytes, said
from xcecli.line.bsub import read_changes, read_line
from xcecli.long import expected_line
from xcecli.options import SUBMIT, parse
from xcecli.say import Failure
from xcecli.wire import call


@command(
    "what-if",
    "  xcecli what-if -n 64 -W 60 ./train.sh\n"
    "  xcecli what-if 12 -n 4 -W 30\n"
    "  xcecli what-if --drain n1\n"
    "  xcecli what-if --add 4xn1",
)
@click.option("--drain", default="", metavar="HOST", help="if this host took no new work")
@click.option("--add", "add", default="", metavar="NxHOST", help="if there were N more like HOST")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[JOB] [OPTIONS] [COMMAND]")
def what_if(values: dict[str, Any], words: tuple[str, ...], drain: str, add: str) -> int:
    """Say what would happen; nothing is kept.

    With the options of a submission and a command: whether it would start now, where and at whose
    cost, else why not and when. With a job that waits and options: the same for the changed job.
    With --drain or --add: what of the pending work would start now with these hosts, and without.
    """
    told = _ask(values, _body(list(words), drain, add))
    if format_of(values) == "json":
        print(json.dumps(told))
    else:
        lines = _of_job(told) if "starts_now" in told else _of_hosts(told)
        print("\n".join(map(say.line, lines)))
    return say.OK


what_if.context_settings = {
    **what_if.context_settings, "ignore_unknown_options": True, "allow_interspersed_args": False,
    "help_option_names": ["--help"],
}  # fmt: skip


def _body(words: list[str], drain: str, add: str) -> dict[str, Any]:
    if bool(words) + bool(drain) + bool(add) != 1:
        raise Failure("say a job, a submission, --drain or --add", say.USAGE)
    if drain:
        return {"drain": drain}
    if add:
        count, mark, like = add.partition("x")
        if not (mark and like and count.isascii() and count.isdigit()):
            raise Failure(f"--add {add}: say it as 4xn1", say.USAGE)
        return {"add": {"count": int(count), "like": like}}
    if words[0][:1].isdigit():
        fields, _, names = read_changes(words)
        return {"job": names[0], "change": said(fields)}
    found = parse(SUBMIT, words) or read_line(words)
    if found is None or not found[1]:
        raise Failure("that is no submission: options of submit and a command", say.USAGE)
    fields, rest = found
    refuse_bytes(fields, rest)
    return {"submit": body_of(fields, rest, "")}


def _ask(values: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    status, told = call(place_of(values), "POST", "/v1/what-if", body)
    if status >= 300:
        raise say.failure_of(status, told)
    found: dict[str, Any] = told
    return found


def _of_job(told: dict[str, Any]) -> list[str]:
    if told["starts_now"]:
        lines = [f"It would start now on {hosts_text(told['hosts'])}"]
    else:
        lines = ["It would not start now"]
        if told["reason"]:
            lines.append(f"  {told['reason']['text']}")
            if told["reason"]["hosts_text"]:
                lines.append(f"  hosts: {told['reason']['hosts_text']}")
        elif told.get("not_before_us"):
            lines.append(f"  not before {say.exactly(told['not_before_us'])}")
        if told["expected"]:
            lines.append(f"  {expected_line(told['expected'])}")
    if told["evicts"]:
        lines.append(f"  these would give way: {' '.join(told['evicts'])}")
    return [*lines, f"  looked at behind {told['ahead']} that wait before it"]


def _of_hosts(told: dict[str, Any]) -> list[str]:
    lines = [f"{told['start_after']} would start now; as it is, {told['start_before']} would"]
    if told["begin"]:
        lines.append(f"  would start: {' '.join(told['begin'])}")
    if told["wait"]:
        lines.append(f"  would wait: {' '.join(told['wait'])}")
    lines.append(f"  waiting: {told['waiting_after']} instead of {told['waiting_before']}")
    if told["never_before"] or told["never_after"]:
        lines.append(f"  never: {told['never_after']} instead of {told['never_before']}")
    return lines

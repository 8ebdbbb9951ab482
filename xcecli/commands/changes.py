"""Changes of jobs that are there: modify, switch, top, bottom, requeue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from xcecli import say
from xcecli.commands.shape import command
from xcecli.doing import ask_each
from xcecli.line.body import said
from xcecli.say import Failure

_NAMES = click.argument("names", nargs=-1, required=True, metavar="JOB...")


def plain(names: Iterable[str], what: str) -> list[str]:
    """Names of jobs; a gang is refused."""
    names = list(names)
    gang = next((name for name in names if name.startswith("g")), "")
    if gang:
        raise Failure(f"Group <{say.line(gang)}>: {what} is for jobs, not for gangs", say.REFUSED)
    return names


@command("requeue", "  xcecli requeue 12\n  xcecli requeue -e 12 13\n  xcecli requeue -a -H 12")
@_NAMES
@click.option("-r", "running", is_flag=True, help="jobs that run [the default]")
@click.option("-d", "done", is_flag=True, help="jobs that are done")
@click.option("-e", "exited", is_flag=True, help="jobs that ended otherwise")
@click.option("-a", "any_", is_flag=True, help="all of these")
@click.option("-H", "--hold", "held", is_flag=True, help="then hold it until it is resumed")
def requeue(values: dict[str, Any], names: tuple[str, ...], **ways: bool) -> int:
    """Stop jobs and let them run again; or let run again what has ended.

    A job keeps its number and its time of submission; what ran is an attempt of its own.
    """
    held, everything = ways.pop("held"), ways.pop("any_")
    which = [way for way in ("running", "done", "exited") if ways[way] or everything]
    body = {"which": which or ["running"], "held": held}
    return ask_each(values, plain(names, "requeue"), "requeue", "is being requeued", body)


@command(
    "modify",
    "  xcecli modify -W 2:00 12\n"
    "  xcecli modify -R 'rusage[mem=4GB]' -n 8 12 13\n"
    "  xcecli modify -Wn -Rn 12",
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="OPTIONS JOB...")
def modify(values: dict[str, Any], words: tuple[str, ...]) -> int:
    """Change what jobs asked for, with the options of a submission.

    `-J %5` changes how many elements of an array may run at once.
    An option with an n behind it (-Wn, -Rn, -bn) puts that back to what it is when nothing is
    said. Of a job that has started only -W, -We, -t, -r, -Q and -Jd can be changed.
    """
    from xcecli.line.bsub import read_changes

    fields, back, names = read_changes(list(words))
    if not names:
        raise Failure("which job? give one or more ids", say.USAGE, "xcecli modify -W 60 12")
    body = {**{_BACK.get(field, field): None for field in back}, **said(fields)}
    if not body:
        raise Failure("nothing is to be changed: give an option", say.USAGE)
    what = "Parameters of job <{job}> are being changed"
    same = "Parameters of job <{job}> are as asked already"
    return ask_each(
        values,
        plain(names, "modify"),
        "",
        lambda told: what if told.get("changed", True) else same,
        body,
    )


_BACK = {"begin": "begin_us", "terminate": "terminate_us"}


@command("switch", "  xcecli switch night 12\n  xcecli switch night 12 13")
@click.argument("queue")
@_NAMES
def switch(values: dict[str, Any], queue: str, names: tuple[str, ...]) -> int:
    """Put jobs into another queue. What runs goes on."""
    said_ = "is switched to queue <{queue}>"
    return ask_each(values, plain(names, "switch"), "switch", said_, {"queue": queue})


def _move(values: dict[str, Any], names: tuple[str, ...], to: str) -> int:
    """`JOB [POSITION]`."""
    if len(names) > 2 or (len(names) == 2 and not names[1].isdigit()):
        raise Failure(f"give one job, and perhaps a position from the {to}", say.USAGE)
    body = {"position": int(names[1])} if len(names) == 2 else {}
    moved = "has been moved to position {position} from {to}."
    return ask_each(values, plain(names[:1], to), to, moved, body)


@command("top", "  xcecli top 12\n  xcecli top 12 3")
@click.argument("names", nargs=-1, required=True, metavar="JOB [POSITION]")
def top(values: dict[str, Any], names: tuple[str, ...]) -> int:
    """Move a job that waits to the top: users among their own of the same queue and priority,
    operators before all of the queue."""
    return _move(values, names, "top")


@command("bottom", "  xcecli bottom 12\n  xcecli bottom 12 3")
@click.argument("names", nargs=-1, required=True, metavar="JOB [POSITION]")
def bottom(values: dict[str, Any], names: tuple[str, ...]) -> int:
    """Move a job that waits to the bottom: users among their own of the same queue and priority,
    operators behind all of the queue."""
    return _move(values, names, "bottom")


modify.context_settings = {
    **modify.context_settings, "ignore_unknown_options": True, "help_option_names": ["--help"],
}  # fmt: skip

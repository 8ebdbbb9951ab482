"""Changes of jobs that are there: requeue."""

from __future__ import annotations

from typing import Any

import click

from xcecli import say
from xcecli.commands.shape import command
from xcecli.doing import ask_each
from xcecli.say import Failure

_NAMES = click.argument("names", nargs=-1, required=True, metavar="JOB...")


def plain(names: tuple[str, ...], what: str) -> list[str]:
    """Names of jobs; a gang is refused."""
    gang = next((name for name in names if name.startswith("g")), "")
    if gang:
        raise Failure(f"Group <{say.line(gang)}>: {what} is for jobs, not for gangs", say.REFUSED)
    return list(names)


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

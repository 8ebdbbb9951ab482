"""Job groups: shown, made, changed, removed, as bjgroup, bgadd, bgmod and bgdel do it."""

from __future__ import annotations

import json
from typing import Any

import click

from xcecli import say
from xcecli.commands.shape import CONTEXT, Family, command, epilog, fetch, show
from xcecli.doing import format_of, new_key, place_of, quoted
from xcecli.say import Failure
from xcecli.wire import call

_COLUMNS = (
    ("GROUP_NAME", 30),
    ("NJOBS", 6),
    ("PEND", 6),
    ("RUN", 6),
    ("SSUSP", 6),
    ("USUSP", 6),
    ("FINISH", 6),
    ("SLA", 3),
    ("JLIMIT", 8),
    ("OWNER", 8),
)
_LIMIT = click.option("-L", "--limit", metavar="N", help="jobs that may have started at once")


class Showing(Family):
    """A family of which no command at all means `show`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The line, with `show` where it names no command."""
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(
    "jobgroup",
    cls=Showing,
    context_settings=CONTEXT,
    epilog=epilog("  xcecli jobgroup\n  xcecli jobgroup add -L 10 /nightly"),
)
def jobgroup() -> None:
    """Job groups and their limits; without a command, show them."""


@command("show", "  xcecli jobgroup show\n  xcecli jobgroup show --json /nightly")
@click.argument("path", default="/")
def jobgroup_show(values: dict[str, Any], path: str) -> int:
    """Show a group and those below it, with the jobs of each.

    JLIMIT has how many jobs of it and of all groups below it have started, and how many may.
    """
    told = fetch(values, f"/v1/job-groups?path={quoted(path)}")
    if not told["items"] and format_of(values) != "json":
        say.tell("No job group found")
        return say.OK
    return show(told, format_of(values), _COLUMNS, _row)


def _row(one: dict[str, Any]) -> list[str]:
    limit = "-" if one["limit"] is None else one["limit"]
    names = ("jobs", "pending", "running", "ssusp", "ususp", "finished")
    counts = [str(one[name]) for name in names]
    return [one["path"], *counts, "()", f"{one['started']}/{limit}", one["user"] or "-"]


@command("add", "  xcecli jobgroup add /nightly\n  xcecli jobgroup add -L 10 /nightly/build")
@_LIMIT
@click.argument("path")
def jobgroup_add(values: dict[str, Any], path: str, limit: str | None) -> int:
    """Make a job group, perhaps with a limit; it stays until it is removed."""
    return _ask(values, "POST", path, limit, "was added")


@command(
    "modify",
    "  xcecli jobgroup modify -L 20 /nightly\n  xcecli jobgroup modify --no-limit /nightly",
)
@_LIMIT
@click.option("-Ln", "--no-limit", is_flag=True, help="take the limit away")
@click.argument("path")
def jobgroup_modify(values: dict[str, Any], path: str, limit: str | None, no_limit: bool) -> int:
    """Change the limit of a job group. What has started runs on."""
    if (limit is None) != no_limit:
        raise Failure("give -L N or --no-limit", say.USAGE)
    return _ask(values, "PATCH", path, limit, "is modified")


@command("remove", "  xcecli jobgroup remove /nightly")
@click.argument("path")
def jobgroup_remove(values: dict[str, Any], path: str) -> int:
    """Remove a job group and those below it; none may have a job that has not ended."""
    unsure = f"whether {path} was removed is not known; look with `xcecli jobgroup`"
    status, told = call(
        place_of(values),
        "DELETE",
        f"/v1/job-groups?path={quoted(path)}",
        key=new_key(),
        unsure=unsure,
    )
    return _told(values, status, told, f"Job group <{path}> is deleted.")


def _ask(values: dict[str, Any], method: str, path: str, limit: str | None, said: str) -> int:
    if limit is not None and not (limit.isascii() and limit.isdigit()):
        raise Failure(f"-L {limit}: a number from 0 on", say.USAGE)
    body = {"path": path, "limit": None if limit is None else int(limit)}
    unsure = f"whether {path} {said} is not known; look with `xcecli jobgroup`"
    status, told = call(
        place_of(values), method, "/v1/job-groups", body, key=new_key(), unsure=unsure
    )
    return _told(values, status, told, f"Job group <{path}> {said}.")


def _told(values: dict[str, Any], status: int, told: Any, said: str) -> int:
    if status >= 300:
        raise say.failure_of(status, told)
    print(json.dumps(told) if format_of(values) == "json" else said)
    return say.OK


for _command in (jobgroup_show, jobgroup_add, jobgroup_modify, jobgroup_remove):
    jobgroup.add_command(_command)

"""Reservations: listed, made, removed, as brsvs, brsvadd and brsvdel do it."""

from __future__ import annotations

import json
import pwd
import time
from typing import Any

import click

from xcecli import say
from xcecli.commands.shape import CONTEXT, Family, command, epilog, fetch, show
from xcecli.doing import format_of, new_key, place_of, quoted
from xcecli.line.moments import stamp
from xcecli.say import Failure
from xcecli.wire import call

_COLUMNS = (
    ("RSVID", 12),
    ("TYPE", 9),
    ("FOR", 10),
    ("USER", 12),
    ("HOSTS", 24),
    ("FROM", 23),
    ("UNTIL", 23),
)


class Listing(Family):
    """A family of which no command at all means `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The line, with `list` where it names no command."""
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(
    "reservations",
    cls=Listing,
    context_settings=CONTEXT,
    epilog=epilog(
        "  xcecli reservations\n  xcecli reservations add -N course -u anna -m n1 -b 14:00 -e 16:00"
    ),
)
def reservations() -> None:
    """What is kept for whom, and from when; without a command, list it."""


@command("list", "  xcecli reservations list\n  xcecli reservations list --json")
def reservations_list(values: dict[str, Any]) -> int:
    """List all that is reserved: for blocked work, for what somebody gave way to, in advance."""
    told = fetch(values, "/v1/reservations")
    if not told["items"] and format_of(values) != "json":
        say.tell("No reservation found")
        return say.OK
    return show(told, format_of(values), _COLUMNS, _row)


def _row(one: dict[str, Any]) -> list[str]:
    hosts = " ".join(f"{each['slots']}*{each['host']}" for each in one["hosts"])
    advance = one["kind"] == "advance"
    users = " ".join(one["users"]) or "-"
    until = say.exactly(one["until_us"])
    name = one["for"] if advance else str(one["id"])
    whom = "-" if advance else one["for"]
    return [name, one["kind"], whom, users, hosts, say.exactly(one["from_us"]), until]


@command("add", "  xcecli reservations add -N course -u anna -n 8 -b 14:00 -e 16:00")
@click.option("-N", "--name", default="", metavar="NAME", help="what jobs join it by [made up]")
@click.option("-u", "--users", required=True, metavar="USERS", help="who may join: 'anna bert'")
@click.option("-m", "--hosts", default="", metavar="HOSTS", help="these hosts; whole without -n")
@click.option("-n", "--tasks", type=int, default=0, metavar="N", help="room for so many tasks")
@click.option("-R", "--resreq", default="", metavar="REQ", help="where, and what each task needs")
@click.option(
    "-b", "--begin", required=True, metavar="TIME", help="[[[YEAR:]MONTH:]DAY:]HOUR:MINUTE"
)
@click.option("-e", "--end", required=True, metavar="TIME", help="the same, later")
def reservations_add(values: dict[str, Any], **given: Any) -> int:
    """Keep hosts, or room for tasks, for users from one time to another.

    Others may use it only while they end in time. It is refused where something without an end in
    time is in the way.
    """
    from_us, until_us = _moments(given["begin"], given["end"])
    body = {
        "name": given["name"],
        "users": [_uid(name) for name in given["users"].split()],
        "hosts": given["hosts"].split(),
        "tasks": given["tasks"],
        "resreq": given["resreq"],
        "from_us": from_us,
        "until_us": until_us,
    }
    unsure = "whether it was made is not known; look with `xcecli reservations`"
    status, told = call(
        place_of(values), "POST", "/v1/reservations", body, key=new_key(), unsure=unsure
    )
    name = told["reservation"] if status < 300 else ""
    return _told(values, status, told, f"Reservation {name} is created")


@command("remove", "  xcecli reservations remove course")
@click.argument("name")
def reservations_remove(values: dict[str, Any], name: str) -> int:
    """Remove an advance reservation; jobs that use it run on."""
    unsure = "whether it was removed is not known; look with `xcecli reservations`"
    path = f"/v1/reservations/{quoted(name)}"
    status, told = call(place_of(values), "DELETE", path, key=new_key(), unsure=unsure)
    return _told(values, status, told, f"Reservation {name} is being removed")


def _moments(begin: str, end: str) -> tuple[int, int]:
    from xce.resreq import ResreqError
    from xce.resreq.options.times import moment_us

    now_us = time.time_ns() // 1_000
    now = time.localtime(now_us // 1_000_000)
    local = (now.tm_year, now.tm_mon, now.tm_mday, now.tm_hour, now.tm_min)
    try:
        from_us = moment_us(begin, local, now_us, stamp, "-b")
        return from_us, moment_us(end, local, now_us, stamp, "-t")
    except ResreqError as error:
        raise Failure(error.message, say.USAGE, error.hint) from None


def _uid(name: str) -> int:
    if name.isascii() and name.isdigit():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise Failure(f"{name}: No such user", say.USAGE) from None


def _told(values: dict[str, Any], status: int, told: Any, said: str) -> int:
    if status >= 300:
        raise say.failure_of(status, told)
    print(json.dumps(told) if format_of(values) == "json" else said)
    return say.OK


for _command in (reservations_list, reservations_add, reservations_remove):
    reservations.add_command(_command)

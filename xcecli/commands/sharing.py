"""Who goes first and how much anybody may have: queues, shares, limits, users."""

from __future__ import annotations

from typing import Any

import click

from xce.model.units import format_size
from xcecli import say
from xcecli.commands.shape import command, fetch, show
from xcecli.doing import format_of


@command("queues", "  xcecli queues\n  xcecli queues -l normal\n  xcecli queues --json")
@click.option("-l", "--long", "long_", is_flag=True, help="everything of each queue")
@click.argument("names", nargs=-1, metavar="[QUEUE]...")
def queues(values: dict[str, Any], long_: bool, names: tuple[str, ...]) -> int:
    """List the queues.

    NJOBS, PEND, RUN and SUSP count tasks, as LSF does.
    """
    columns = (
        ("QUEUE_NAME", 15),
        ("PRIO", 5),
        ("STATUS", 16),
        ("MAX", 5),
        ("JL/U", 5),
        ("JL/P", 5),
        ("JL/H", 5),
        ("NJOBS", 6),
        ("PEND", 6),
        ("RUN", 6),
        ("SUSP", 6),
    )
    answer = fetch(values, "/v1/queues")
    known = [one["name"] for one in answer["items"]]
    unknown = [name for name in names if name not in known]
    answer["items"] = [one for one in answer["items"] if not names or one["name"] in names]
    for name in unknown:
        say.tell(f"{name}: No such queue.")
    if not answer["items"]:
        return say.NOT_FOUND
    if long_ and format_of(values) != "json":
        shares = fetch(values, "/v1/shares")["items"]
        print("\n\n".join(_long(one, shares) for one in answer["items"]))
    else:
        show(answer, format_of(values), columns, _queue)
    return say.NOT_FOUND if unknown else say.OK


def _queue(queue: dict[str, Any]) -> list[str]:
    stats = queue["stats"]
    pending = stats.get("PEND", 0) + stats.get("PSUSP", 0)
    suspended = stats.get("USUSP", 0) + stats.get("SSUSP", 0)
    running = queue["tasks"] - pending - suspended
    bounds = (queue[f"{one}job_limit"] for one in ("", "user_", "processor_", "host_"))
    counts = [queue["tasks"], pending, running, suspended]
    words = [_bound(one) for one in bounds]
    # Why it is inactive (_Adm, _Win) is told by -l only.
    status = queue["status"].partition("_")[0]
    return [queue["name"], str(queue["priority"]), status, *words, *map(str, counts)]


def _bound(number: float | None) -> str:
    return "-" if number is None else f"{number:g}"


def _long(queue: dict[str, Any], shares: list[dict[str, Any]]) -> str:
    """A queue as `bqueues -l` tells it."""
    head = ("PRIO", "STATUS", "MAX", "JL/U", "JL/P", "JL/H", "NJOBS", "PEND", "RUN", "SUSP")
    row = _queue(queue)[1:]
    row[1] = queue["status"]
    widths = [max(len(one), len(two)) for one, two in zip(head, row, strict=True)]
    lines = [
        f"QUEUE: {queue['name']}",
        f"  -- {queue['description'] or 'no description'}"
        + ("  This is the default queue." if queue["default"] else ""),
        "",
        "PARAMETERS/STATISTICS",
        "  ".join(word.rjust(width) for word, width in zip(head, widths, strict=True)),
        "  ".join(word.rjust(width) for word, width in zip(row, widths, strict=True)),
    ]
    if queue["why"]:
        lines.append(f"REASON: {queue['why']}")
    lines += [
        "",
        f"SCHEDULING POLICIES:  {' '.join(queue['order'])}",
        f"USERS:  {' '.join(queue['users']) or 'all'}",
        f"HOSTS:  {' '.join(queue['hosts']) or 'all'}",
    ]
    for field, word in (("dispatch_window", "DISPATCH_WINDOW"), ("run_window", "RUN_WINDOW")):
        if queue[field]:
            lines.append(f"{word}:  {' '.join(queue[field])}")
    lines += [f"NICE:  {queue['nice']}"] if queue["nice"] else []
    lines += [f"EXCLUSIVE:  {queue['exclusive']}"] if queue["exclusive"] != "N" else []
    if queue["resreq"]:
        lines.append(f"RES_REQ:  {queue['resreq']}")
    if queue["shares"]:
        mine = [one for one in shares if one["tree"] == queue["shares"]]
        lines += [
            "",
            f"SHARE_INFO_FOR: {queue['shares']}",
            say.table(SHARES, [*map(_share, mine)], wide=True),
        ]
    return "\n".join(lines)


SHARES = (
    ("USER/GROUP", 20),
    ("SHARES", 7),
    ("PRIORITY", 10),
    ("STARTED", 8),
    ("CPU_TIME", 10),
    ("RUN_TIME", 10),
    ("GPU_RUN_TIME", 12),
)


@command("shares", "  xcecli shares\n  xcecli shares --json")
def shares(values: dict[str, Any]) -> int:
    """List the accounts of share trees: shares, priority now, what was used (in seconds)."""
    answer = fetch(values, "/v1/shares")
    if not answer["items"] and format_of(values) != "json":
        say.tell("No queue is shared")
        return say.OK
    return show(answer, format_of(values), (("TREE", 10), *SHARES), _with_tree)


def _with_tree(one: dict[str, Any]) -> list[str]:
    return [one["tree"], *_share(one)]


def _share(one: dict[str, Any]) -> list[str]:
    return [
        "  " * one["depth"] + one["name"],
        str(one["shares"]),
        f"{one['priority']:.3f}",
        str(one["slots"]),
        str(one["cpu_time_s"]),
        str(one["run_time_s"]),
        str(one["gpu_run_time_s"]),
    ]


@command("limits", "  xcecli limits\n  xcecli limits --json")
def limits(values: dict[str, Any]) -> int:
    """List the limits and how much of each is in use."""
    columns = (("NAME", 24), ("WHOSE", 24), ("HOST", 12), ("WHAT", 8), ("USED/MAX", 16))
    answer = fetch(values, "/v1/limits")
    if not answer["items"] and format_of(values) != "json":
        say.tell("No limit found")
        return say.OK
    return show(answer, format_of(values), columns, _limit)


def _limit(one: dict[str, Any]) -> list[str]:
    amounts = [one["used"], one["allowed"]]
    words = ["-" if each is None else str(each) for each in amounts]
    if one["what"] == "mem":
        words = ["-" if each is None else format_size(each) for each in amounts]
    where = one["host"] or " ".join(one["hosts"]) or "-"
    return [one["name"], one["whose"] or "-", where, one["what"], "/".join(words)]


@command("users", "  xcecli users\n  xcecli users --json")
def users(values: dict[str, Any]) -> int:
    """List users with work, and what they may have.

    MAX counts slots, as LSF's MAX_JOBS does.
    """
    columns = (
        ("USER", 14),
        ("MAX", 6),
        ("SLOTS", 6),
        ("RUN", 6),
        ("PEND", 6),
        ("MPEND", 6),
        ("GROUPS", 0),
    )
    answer = fetch(values, "/v1/users")
    if not answer["items"] and format_of(values) != "json":
        say.tell("No user has work")
        return say.OK
    return show(answer, format_of(values), columns, _user)


def _user(one: dict[str, Any]) -> list[str]:
    return [
        one["name"],
        _bound(one["max_slots"]),
        str(one["slots"]),
        str(one["running_jobs"]),
        str(one["pending_jobs"]),
        _bound(one["max_pending_jobs"]),
        " ".join(one["groups"]) or "-",
    ]

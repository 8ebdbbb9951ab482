"""The click tree: every command, with help, suggestions and completion.

The options of the fast commands are made from the tables of `options.py`; the others are declared
beside what they do, in `commands/`. Every command has examples in its help (a test looks).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from xcecli import __version__, doing, say
from xcecli.commands.changes import bottom, modify, requeue, switch, top
from xcecli.commands.checks import array, dependency, resreq, script
from xcecli.commands.claims import claim, islands
from xcecli.commands.cluster import applications, hosts, instances
from xcecli.commands.groups import group
from xcecli.commands.job_groups import jobgroup
from xcecli.commands.jobs import explain, history, job, logs, resume, suspend, wait
from xcecli.commands.looking.whatif import what_if
from xcecli.commands.reservations import reservations
from xcecli.commands.resources import resources
from xcecli.commands.shape import CONTEXT, Family, epilog
from xcecli.commands.sharing import limits, queues, shares, users
from xcecli.line import listing
from xcecli.options import DIGITS_MAX, JOBS, KILL, SUBMIT, Command

Act = Callable[[dict[str, Any], list[str]], int]


def _number(text: str) -> int:
    """A whole number as the fast commands take it."""
    if not text.isascii() or not text.isdigit() or len(text) > DIGITS_MAX:
        raise click.BadParameter(f"{text!r} is not a whole number of 0 or more.")
    return int(text)


def _count(text: str) -> int | str:
    """A number of tasks, or `4,16`."""
    least, mark, most = text.partition(",")
    return f"{_number(least)},{_number(most)}" if mark else _number(text)


_KINDS: dict[str, dict[str, Any]] = {
    "flag": {"is_flag": True},
    "int": {"type": _number},
    "count": {"type": _count},
    "list": {"multiple": True},
    "text": {},
    "bsub": {},
    "apart": {},
}


def from_table(name: str, table: Command, act: Act) -> click.Command:
    """A click command made from an option table."""
    params: list[click.Parameter] = []
    for option in table.options:
        meta = option.meta or None
        params.append(
            click.Option(
                [*option.names, f"_{option.field}"],
                help=option.about,
                metavar=meta,
                **_KINDS[option.kind],
            )
        )
    params.append(click.Argument(["words"], nargs=-1, type=click.UNPROCESSED, metavar=table.words))

    def run(words: tuple[str, ...], **given: Any) -> int:
        values = {
            key.removeprefix("_"): list(value) if isinstance(value, tuple) else value
            for key, value in given.items()
            if value is not None and value is not False and value != ()
        }
        return act(values, list(words))

    return click.Command(
        name,
        params=params,
        callback=run,
        help=table.about,
        epilog=epilog(table.examples),
        context_settings={**CONTEXT, "allow_interspersed_args": not table.stops},
    )


@click.group(
    cls=Family,
    context_settings=CONTEXT,
    epilog=epilog(
        """\
  xcecli submit -n 4 ./train.sh
  xcecli jobs
  xcecli group submit pretrain.yaml
  xcecli explain 12"""
    ),
)
@click.version_option(__version__, "--version", message="xcecli %(version)s")
def root() -> None:
    """Submit jobs and gangs to an XCE controller, and look after them.

    The controller is found by --home or --url of each command, else by XCE_HOME or XCE_URL, else
    in ./.xce, else in ~/.xce. Results go to stdout, talk to stderr. Exit codes: 0 ok, 1 failed,
    2 usage, 3 refused, 4 not found, 5 conflict, 6 unreachable, 7 not allowed; `wait` and
    `submit --wait` exit with the job's code, 125 for their own failures.
    """


for _name, _table, _act in (
    ("submit", SUBMIT, doing.submit),
    ("jobs", JOBS, listing.jobs),
    ("kill", KILL, doing.kill),
):
    root.add_command(from_table(_name, _table, _act))
for _command in (
    job,
    suspend,
    resume,
    requeue,
    modify,
    switch,
    top,
    bottom,
    wait,
    logs,
    explain,
    what_if,
    history,
    group,
    jobgroup,
    claim,
    islands,
    hosts,
    queues,
    shares,
    limits,
    users,
    applications,
    instances,
    reservations,
    resources,
    resreq,
    array,
    dependency,
    script,
):
    root.add_command(_command)


def run(argv: list[str]) -> int:
    """Run one command line with click; its exit code."""
    try:
        code = root.main(args=argv, prog_name="xcecli", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return say.INTERRUPTED
    return code if isinstance(code, int) else say.OK

"""What commands have in common: their options, the form of their help, how they answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from xce.model.units import nearest
from xcecli import say
from xcecli.doing import FORMATS, place_of
from xcecli.options import COMMON
from xcecli.wire import call

CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Columns = tuple[tuple[str, int], ...]


class Family(click.Group):
    """A command that has commands; a misspelt one is answered with the nearest."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            meant = nearest(args[0], self.list_commands(ctx))
            hint = f" Did you mean '{meant}'?" if meant else ""
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


def epilog(examples: str) -> str:
    """Examples that click does not wrap."""
    return f"\b\nExamples:\n{examples}"


def command(name: str, examples: str) -> Callable[[Any], click.Command]:
    """A command with the common options, collected into one mapping `values`."""

    def decorate(run: Callable[..., int]) -> click.Command:
        def gathered(**given: Any) -> int:
            names = ("home", "url", "format", "json")
            values = {key: given.pop(key) for key in names if key in given}
            return run(values, **given)

        gathered.__doc__ = run.__doc__
        params = getattr(run, "__click_params__", [])[::-1]
        return click.Command(
            name,
            params=[*params, *_common()],
            callback=gathered,
            help=run.__doc__,
            epilog=epilog(examples),
            context_settings=CONTEXT,
        )

    return decorate


def _common() -> list[click.Parameter]:
    params: list[click.Parameter] = [
        click.Option(["--format"], type=click.Choice(FORMATS), help="how the answer is shown"),
        click.Option(["--json"], is_flag=True, help="short for --format json"),
    ]
    params.extend(
        click.Option([*option.names], help=option.about, metavar=option.meta) for option in COMMON
    )
    return params


def fetch(values: dict[str, Any], path: str) -> Any:
    """The answer to a GET; a problem ends the command."""
    status, told = call(place_of(values), "GET", path)
    if status >= 300:
        raise say.failure_of(status, told)
    return told


def show(
    answer: Any, how: str, columns: Columns, rows: Callable[[dict[str, Any]], list[str]]
) -> int:
    """A list's answer as a table or as JSON, and how much of it is shown."""
    if how == "json":
        print(json.dumps(answer))
        return say.OK
    items = answer["items"]
    print(say.table(columns, [rows(item) for item in items], wide=how == "wide", fit=True))
    total = answer.get("total", len(items))
    if len(items) < total:
        say.tell(f"{len(items)} of {total} are shown")
    return say.OK


def bytes_text(amount: int) -> str:
    """`64GB`, `1.5GB`."""
    for unit, size in (("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20)):
        if amount >= size:
            return f"{amount / size:.4g}{unit}"
    return f"{amount}B"

"""Resource types and their pools: listed for everybody, declared and removed by administrators."""

from __future__ import annotations

import json
from typing import Any

import click

from xcecli import say
from xcecli.commands.shape import CONTEXT, Family, bytes_text, command, epilog, fetch, show
from xcecli.doing import format_of, new_key, place_of, quoted
from xcecli.say import Failure
from xcecli.wire import call

BYTES = "bytes"


class Listing(Family):
    """A family of which no command at all means `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The line, with `list` where it names no command."""
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(
    "resources",
    cls=Listing,
    context_settings=CONTEXT,
    epilog=epilog("  xcecli resources\n  xcecli resources show mem"),
)
def resources() -> None:
    """Resource types and shared pools; without a command, list them."""


@command("list", "  xcecli resources list\n  xcecli resources list --own")
@click.option("--own", is_flag=True, help="only those that the site declared")
def resource_list(values: dict[str, Any], own: bool) -> int:
    """List the resource types."""
    columns = (
        ("RESOURCE_NAME", 20),
        ("LAYER", 9),
        ("KIND", 8),
        ("ORDER", 5),
        ("SCOPE", 6),
        ("INTERVAL", 8),
        ("CONSUMABLE", 10),
        ("ORIGIN", 8),
        ("POOLS", 24),
        ("DESCRIPTION", 0),
    )
    answer = fetch(values, f"/v1/resources?own={'true' if own else 'false'}")
    return show(answer, format_of(values), columns, _row)


_ORDER = {"increasing": "Inc", "decreasing": "Dec", "none": "N/A"}


def _row(one: dict[str, Any]) -> list[str]:
    return [
        one["name"],
        one["layer"],
        one["kind"],
        _ORDER[one["direction"]],
        one["scope"],
        f"{one['interval_us'] // 1_000_000}s" if one["interval_us"] else "-",
        "Yes" if one["consumable"] else "No",
        one["origin"],
        " ".join(_pool(pool, one["unit"]) for pool in one["pools"]) or "-",
        one["description"],
    ]


def _pool(pool: dict[str, Any], unit: str) -> str:
    return f"{pool['label']}:{_amount(pool['used'], unit)}/{_amount(pool['total'], unit)}"


def _amount(amount: int | None, unit: str) -> str:
    if amount is None:
        return "?"
    return bytes_text(amount) if unit == BYTES else str(amount)


@command("show", "  xcecli resources show mem\n  xcecli resources show fluent --json")
@click.argument("name", metavar="NAME")
def resource_show(values: dict[str, Any], name: str) -> int:
    """Show one type with its pools and what is reported of it."""
    told = fetch(values, f"/v1/resources/{quoted(name)}")
    if format_of(values) == "json":
        print(json.dumps(told))
        return say.OK
    print(f"Resource <{told['name']}>, {told['description'] or 'no description'}")
    facts = ("layer", "kind", "unit", "scale", "direction", "scope", "consumable", "provider")
    print("  " + ", ".join(f"{fact} {_plain(told[fact])}" for fact in facts if told[fact] != ""))
    if told["interval_us"]:
        ttl_s = told["ttl_us"] / 1e6
        print(f"  reported every {told['interval_us'] / 1e6:g} s, unknown after {ttl_s:g} s")
    if not told["release_on_suspend"]:
        print("  a suspended job keeps it")
    print(f"  from {told['origin']}" + (f", version {told['version']}" if told["version"] else ""))
    for pool in told["pools"]:
        hosts = " ".join(pool["hosts"])
        known = "reported" if pool["reported"] else pool["origin"]
        used, total = (_amount(pool[part], told["unit"]) for part in ("used", "total"))
        print(f"  pool {pool['name']} [{hosts}]: {used} of {total} used ({known})")
    for of, value in told["observed"].items():
        held = told["held"].get(of, 0)
        print(f"  {of}: {_told(value, told)}" + (f", {_told(held, told)} reserved" if held else ""))
    return say.OK


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _told(value: Any, type_: dict[str, Any]) -> str:
    if not isinstance(value, int):
        return str(value)
    return bytes_text(value) if type_["unit"] == BYTES else f"{value / type_['scale']:g}"


@command(
    "add",
    "  xcecli resources add fluent --scope shared --pool 5@all\n"
    "  xcecli resources add inlet --no-consumable --direction increasing --interval 30s\n"
    "  xcecli resources add fluent@2 --amount 3 --hosts all,~n1",
)
@click.argument("name", metavar="NAME")
@click.option("--layer", metavar="LAYER", help="attribute, counter (default) or instance")
@click.option("--kind", metavar="KIND", help="boolean, string, number, instance or interval")
@click.option("--unit", metavar="UNIT", help="`bytes` for sizes")
@click.option("--scale", type=int, metavar="N", help="parts of one that are told apart")
@click.option("--direction", metavar="WORD", help="increasing (load), decreasing or none")
@click.option("--scope", metavar="SCOPE", help="host (default) or shared")
@click.option("--consumable/--no-consumable", default=None, help="whether use takes it away")
@click.option(
    "--release-on-suspend/--keep-on-suspend", "release_on_suspend", default=None,
    help="whether a suspended job gives it back",
)  # fmt: skip
@click.option("--interval", metavar="TIME", help="how often it is reported")
@click.option("--ttl", metavar="TIME", help="age from which a value is unknown")
@click.option("--provider", metavar="NAME", help="who makes a claim of it usable")
@click.option("--provision/--no-provision", default=None, help="every request makes a claim")
@click.option("--sharing", type=int, metavar="N", help="holders that one instance may have")
@click.option("--level", metavar="LEVEL", help="topology level of its instances")
@click.option("--draws-on", "draws_on", metavar="NAME", help="the counter amounts are taken from")
@click.option("--description", metavar="TEXT", help="for people")
@click.option(
    "--pool", "pools", multiple=True, metavar="AMOUNT@HOSTS",
    help="a pool of it: 5@all, 2@n1,n2, @others where a reporter gives the amount",
)  # fmt: skip
@click.option("--amount", metavar="AMOUNT", help="of the pool NAME@LABEL")
@click.option("--hosts", metavar="HOSTS", help="of the pool NAME@LABEL: all, others, n1, ~n2")
def resource_add(values: dict[str, Any], name: str, **given: Any) -> int:
    """Declare a type with its pools, or a pool; or change one.

    A pool is named NAME@LABEL.
    """
    type_name, mark, label = name.partition("@")
    pools, amount, hosts = (given.pop(key) for key in ("pools", "amount", "hosts"))
    if mark:
        body = pool_body(f"{amount or ''}@{hosts or 'all'}", label)
        return _post(values, [(f"/v1/resources/{quoted(type_name)}/pools", body)])
    fields = {key: value for key, value in given.items() if value is not None}
    asked: list[tuple[str, dict[str, Any]]] = [("/v1/resources", {"name": name, **fields})]
    for i, text in enumerate(pools):
        asked.append((f"/v1/resources/{quoted(name)}/pools", pool_body(text, str(i + 1))))
    return _post(values, asked)


def pool_body(text: str, label: str) -> dict[str, Any]:
    """`5@all`, `2GB@n1,n2`, `@others`, `3@[all ~n1]` as the body of a pool."""
    amount, mark, hosts = text.partition("@")
    words = hosts.strip("[]").replace(",", " ").split()
    if not mark or not words:
        raise Failure(f"--pool {text}: expected AMOUNT@HOSTS, like 5@all", say.USAGE)
    body: dict[str, Any] = {"label": label, "hosts": words}
    if not amount:
        return {**body, "reported": True}
    return {**body, "amount": int(amount) if amount.isdigit() else amount}


def _post(values: dict[str, Any], asked: list[tuple[str, dict[str, Any]]]) -> int:
    """Declare one after the other; the first refusal ends it. As JSON a list of the answers."""
    as_json = format_of(values) == "json"
    answers = []
    try:
        for path, body in asked:
            status, told = call(place_of(values), "POST", path, body, key=new_key())
            if status >= 300:
                raise say.failure_of(status, told)
            answers.append(told)
            if not as_json:
                done = "declared" if told["changed"] else "as it was"
                print(f"Resource <{told['name']}> is {done}.")
    finally:
        if as_json:
            print(json.dumps(answers))
    return say.OK


@command("remove", "  xcecli resources remove fluent\n  xcecli resources remove fluent@2")
@click.argument("name", metavar="NAME")
def resource_remove(values: dict[str, Any], name: str) -> int:
    """Take a type, or a pool NAME@LABEL, away.

    One in use is refused with who uses it.
    """
    path = f"/v1/resources/{quoted(name)}"
    status, told = call(place_of(values), "DELETE", path, key=new_key())
    if status >= 300:
        raise say.failure_of(status, told)
    if format_of(values) == "json":
        print(json.dumps(told))
    else:
        print(f"Resource <{told['name']}> is removed.")
    return say.OK


for _command in (resource_list, resource_show, resource_add, resource_remove):
    resources.add_command(_command)

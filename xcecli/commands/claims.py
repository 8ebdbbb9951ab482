"""Claims: durable rights to instances and amounts, with leases, made and given back by hand."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from xcecli import say
from xcecli.commands.shape import CONTEXT, Family, bytes_text, command, epilog, fetch, show
from xcecli.doing import format_of, named, new_key, place_of, quoted
from xcecli.line.amounts import amount_of, lease_of
from xcecli.say import Failure
from xcecli.wire import call

POLL_S = 50
_LISTS = {"tag": "tags_all", "any_tag": "tags_any", "require": "require_all", "prefer": "prefer"}
_UNTIL = click.option(
    "--until", metavar="TIME", help="end of the lease: 2h from now, or 2026-12-01T08:00:00Z"
)
_GENERATION = click.option(
    "--generation", type=click.IntRange(1), metavar="N", help="the generation that you hold"
)


@click.group(
    "claim",
    cls=Family,
    context_settings=CONTEXT,
    epilog=epilog(
        "  xcecli claim create data --type gpu --count 2 --until 2h\n"
        "  xcecli submit --claim data=data ./train.sh\n  xcecli claim list"
    ),
)
def claim() -> None:
    """Claims: durable rights to instances and amounts.

    One that is made here outlives jobs: it is held until it is released, or its lease is over.
    """


@command("list", "  xcecli claim list\n  xcecli claim list --all")
@click.option("-a", "--all", "all_", is_flag=True, help="released ones, too")
def claim_list(values: dict[str, Any], all_: bool) -> int:
    """List claims."""
    columns = (
        ("CLAIM", 7),
        ("NAME", 14),
        ("TYPE", 10),
        ("SCOPE", 10),
        ("STATE", 9),
        ("READY", 5),
        ("USER", 10),
        ("GROUP", 6),
        ("JOB", 6),
        ("UNTIL", 12),
        ("VALUES", 0),
    )
    answer = fetch(values, f"/v1/claims?all={'true' if all_ else 'false'}")
    if not answer["items"] and format_of(values) != "json":
        say.tell("No claim found" if all_ else "No claim found that is not released")
        return say.OK
    return show(answer, format_of(values), columns, row_of)


def row_of(one: dict[str, Any]) -> list[str]:
    """A claim as a line of the list."""
    values = " ".join(each["value"] for each in one["attachments"] if each["value"]) or _held(one)
    return [
        one["id"],
        one["name"],
        one["type"],
        one["scope"],
        one["state"],
        "yes" if one["ready"] else "no",
        one["user"],
        one["group"] or "-",
        one["job"] or "-",
        say.when(one.get("until_us")),
        values or "-",
    ]


def _held(one: dict[str, Any]) -> str:
    """What a claim holds that nobody has to make usable: `8*n1`, or `64GB*n1`."""
    counts: dict[str, int] = {}
    texts = []
    for holding in one["holdings"]:
        if holding["instance"]:
            counts[holding["host"]] = counts.get(holding["host"], 0) + 1
        else:
            texts.append(f"{_amount(holding)}*{holding['host']}")
    return " ".join([*(f"{count}*{host}" for host, count in counts.items()), *texts])


def _amount(holding: dict[str, Any]) -> str:
    amount: int = holding["amount"]
    return bytes_text(amount) if amount >= 1 << 20 else str(amount)


@command("show", "  xcecli claim show c7\n  xcecli claim show data")
@click.argument("claim_id", metavar="CLAIM")
def claim_show(values: dict[str, Any], claim_id: str) -> int:
    """Show one claim with its holdings, attachments and consumers."""
    return _shown(values, fetch(values, f"/v1/claims/{_meant(values, claim_id)}"))


def _shown(values: dict[str, Any], told: dict[str, Any]) -> int:
    if format_of(values) == "json":
        print(json.dumps(told))
        return say.OK
    lines = [
        (
            f"Claim <{told['id']}>, Name <{told['name']}>, Type <{told['type']}>, "
            f"State <{told['state']}>, Owner <{told['user']}>, Generation <{told['generation']}>"
        )
    ]
    if told.get("until_us"):
        lines.append(f"  lease until {say.exactly(told['until_us'])}, then {told['on_expiry']}")
    for holding in told["holdings"]:
        what = holding["instance"] or f"{holding['counter']} {_amount(holding)}"
        lines.append(f"  holds {what} on {holding['host']}")
    for one in told["attachments"]:
        said = one["value"] or one["message"]
        lines.append(f"  on {one['host']}: {one['state']} {said}".rstrip())
    if told.get("consumers"):
        lines.append(f"  used by {', '.join(told['consumers'])}")
    if told.get("ending"):
        lines.append(f"  {told['ending']} was asked for; it goes once nobody uses it")
    if told.get("reason"):
        lines.append(f"  waits: {told['reason']['text']}")
    if told.get("why"):
        lines.append(f"  {told['why']}")
    print("\n".join(map(say.line, lines)))
    return say.OK


# -- islands ------------------------------------------------------------------------------------


def _asking(run: Any) -> Any:
    """The options that say which islands are meant."""
    for option in (
        click.option("--selection", default="", metavar="WORD", help="order [least_loaded]"),
        click.option("--prefer", multiple=True, metavar="WORD", help="what has it ranks ahead"),
        click.option("--require", multiple=True, metavar="WORD", help="has all of these"),
        click.option("--max-latency-us", type=click.IntRange(1), metavar="US", help="median"),
        click.option("--max-load", type=click.IntRange(0), metavar="N", help="thousandths"),
        click.option("--min-units", type=click.IntRange(1), metavar="N", help="units at least"),
        click.option("--region", default="", metavar="WORD", help="in this region"),
        click.option("--any-tag", multiple=True, metavar="TAG", help="has one of these tags"),
        click.option("--tag", multiple=True, metavar="TAG", help="has all of these tags"),
    ):
        run = option(run)
    return run


def _criteria(given: dict[str, Any]) -> dict[str, Any]:
    """What was said of islands, as the body has it."""
    found = {name: list(given[word]) for word, name in _LISTS.items() if given.get(word)}
    for word, name in (
        ("region", "region"),
        ("min_units", "min_units"),
        ("max_load", "max_load"),
        ("max_latency_us", "max_p50_latency_us"),
        ("selection", "selection"),
    ):
        if given.get(word) not in (None, ""):
            found[name] = given[word]
    return found


@command("match", "  xcecli claim match --tag fast --region eu\n  xcecli claim match --explain")
@_asking
@click.option("--explain", is_flag=True, help="say of each other island why it does not match")
def claim_match(values: dict[str, Any], explain: bool, **given: Any) -> int:
    """List the published islands that match, best first. Nothing is taken."""
    path = f"/v1/islands:match?explain={'true' if explain else 'false'}"
    told = _ask(values, "POST", path, _criteria(given), "islands were matched")
    if format_of(values) == "json":
        print(json.dumps(told))
        return say.OK
    for one in told["items"]:
        print(say.line(f"{one['name']} {one['holder'] or 'free'}"))
    for name, why in told.get("why_not", {}).items():
        print(say.line(f"{name} {why}"))
    return say.OK


@command("islands", "  xcecli islands\n  xcecli islands --json")
def islands(values: dict[str, Any]) -> int:
    """List the islands that are published, and who holds them."""
    columns = (
        ("ISLAND", 16), ("STATE", 8), ("HOLDER", 8), ("REGION", 10), ("UNITS", 6), ("LOAD", 6),
        ("LATENCY_US", 10), ("TAGS", 20), ("HAS", 0),
    )  # fmt: skip
    answer = fetch(values, "/v1/islands")
    if not answer["items"] and format_of(values) != "json":
        say.tell("No island is published")
        return say.OK
    return show(answer, format_of(values), columns, _island)


def _island(one: dict[str, Any]) -> list[str]:
    numbers = [str(one[name]) for name in ("units", "load", "p50_latency_us")]
    words = [",".join(one[name]) or "-" for name in ("tags", "has")]
    return [
        one["name"], one["state"], one["holder"] or "-", one["region"] or "-", *numbers, *words,
    ]  # fmt: skip


# -- making -------------------------------------------------------------------------------------


@command(
    "create",
    "  xcecli claim create data --type gpu --count 8 --select 'model==H100' --until 2h\n"
    "  xcecli claim create ram --type mem --amount 64GB --wait\n"
    "  xcecli claim create serve --type island --tag fast --region eu --until 1h\n"
    "  xcecli claim create vol --type directory --amount 10GB --reclaim retain",
)
@click.option("--type", "type_", required=True, metavar="TYPE", help="gpu, mem, directory, ...")
@click.option("--count", type=click.IntRange(1), default=1, metavar="N", help="instances [1]")
@click.option(
    "--amount", default="", metavar="SIZE", help="of a counter: 64GB; a bare number of memory is MB"
)
@click.option("--select", default="", metavar="TEXT", help="over attributes: 'model==H100'")
@click.option("--island", default="", metavar="LEVEL", help="all in one domain of this level")
@_UNTIL
@click.option("--on-expiry", default="wait", metavar="WORD", help="consumers then: wait or stop")
@click.option("--reclaim", default="delete", metavar="WORD", help="content: delete or retain")
@_asking
@click.option("--wait", is_flag=True, help="let it wait until a session binds it")
@click.option("-q", "--queue", default="", metavar="QUEUE", help="where it waits")
@click.option("-sp", "--priority", type=click.IntRange(0), metavar="N", help="priority there")
@click.argument("name")
def claim_create(values: dict[str, Any], name: str, until: str | None, **given: Any) -> int:
    """Make a claim.

    Without --wait it is bound at once, or lost and not made: the exit code is then 1. What is
    reserved for others is not given unless the lease is over in time.
    """
    asked = {"type": given["type_"], "count": given["count"], "select": given["select"]}
    if given["amount"]:
        asked["amount"] = amount_of(given["amount"], given["type_"])
    if given["type_"] == "island":
        asked["match"] = _criteria(given)
    body = {
        "name": name,
        "requests": [asked],
        "wait": given["wait"],
        **{key: given[key] for key in ("island", "on_expiry", "reclaim", "queue")},
        **({"priority": given["priority"]} if given["priority"] is not None else {}),
        **lease_of(until),
    }
    told = _ask(values, "POST", "/v1/claims", body, f"the claim {name} was made")
    if told["outcome"] == "lost":
        return _lost(values, told, f"Claim <{name}> is lost, and was not made")
    if format_of(values) == "json":
        print(json.dumps(told))
    elif told["outcome"] == "waiting":
        print(f"Claim <{told['claim']}> is made and waits.")
    else:
        print(f"Claim <{told['claim']}> is bound, generation {told['generation']}.")
    return say.OK


# -- holding ------------------------------------------------------------------------------------


@command("wait", "  xcecli claim wait c7\n  xcecli claim wait c7 --timeout 60")
@click.option("--timeout", type=click.FloatRange(0), metavar="S", help="give up after S seconds")
@click.argument("claim_id", metavar="CLAIM")
def claim_wait(values: dict[str, Any], claim_id: str, timeout: float | None) -> int:
    """Wait until a claim is bound and ready; the exit code is 1 if it never will be."""
    meant = _meant(values, claim_id)
    end = time.monotonic() + timeout if timeout is not None else None
    while True:
        left = POLL_S if end is None else min(POLL_S, max(0.0, end - time.monotonic()))
        told = fetch(values, f"/v1/claims/{meant}/wait?timeout={left}")
        if told["done"] or (end is not None and time.monotonic() >= end):
            break
    _shown(values, told)
    return say.OK if told["ready"] else say.FAILED


@command("renew", "  xcecli claim renew c7 --until 2h --generation 41")
@_UNTIL
@_GENERATION
@click.argument("claim_id", metavar="CLAIM")
def claim_renew(
    values: dict[str, Any], claim_id: str, until: str | None, generation: int | None
) -> int:
    """Make a lease longer or shorter; lost, with exit code 1, where the right is over."""
    if not until:
        raise Failure("--until is needed: 2h from now, or a time", say.USAGE)
    body = {**lease_of(until), **({"generation": generation} if generation else {})}
    path = f"/v1/claims/{_meant(values, claim_id)}/renew"
    told = _ask(values, "POST", path, body, f"{claim_id} was renewed")
    if told["outcome"] == "lost":
        return _lost(values, told, f"Claim <{claim_id}> is lost")
    said = f"Claim <{told['claim']}> is held until {say.exactly(told['until_us'])}."
    print(json.dumps(told) if format_of(values) == "json" else said)
    return say.OK


@command("verify", "  xcecli claim verify c7 --generation 41")
@_GENERATION
@click.argument("claim_id", metavar="CLAIM")
def claim_verify(values: dict[str, Any], claim_id: str, generation: int | None) -> int:
    """Say whether the right stands now; the exit code is 1 where it does not."""
    meant = _meant(values, claim_id)
    told = fetch(values, f"/v1/claims/{meant}/verify?generation={generation or 0}")
    if format_of(values) == "json":
        print(json.dumps(told))
    elif told["valid"]:
        print(f"Claim <{told['claim']}> is valid, generation {told['generation']}.")
    else:
        print(f"Claim <{told['claim']}> is lost: {told['reason']}.")
    return say.OK if told["valid"] else say.FAILED


@command("release", "  xcecli claim release c7 --generation 41")
@_GENERATION
@click.argument("claim_id", metavar="CLAIM")
def claim_release(values: dict[str, Any], claim_id: str, generation: int | None) -> int:
    """Give a claim back; what it holds is free once nobody uses it."""
    body = {"generation": generation} if generation else {}
    path = f"/v1/claims/{_meant(values, claim_id)}/release"
    return _ended(values, _ask(values, "POST", path, body, f"{claim_id} was released"), "released")


@command("delete", "  xcecli claim delete c7")
@click.argument("claim_id", metavar="CLAIM")
def claim_delete(values: dict[str, Any], claim_id: str) -> int:
    """Take a claim away, in whatever state it is; it goes once nobody uses it."""
    path = f"/v1/claims/{_meant(values, claim_id)}"
    return _ended(values, _ask(values, "DELETE", path, None, f"{claim_id} was deleted"), "deleted")


def _ended(values: dict[str, Any], told: dict[str, Any], word: str) -> int:
    if told["outcome"] == "lost":
        return _lost(values, told, f"Claim <{told['claim']}> is lost")
    if format_of(values) == "json":
        print(json.dumps(told))
    elif told["waits_for"]:
        jobs = ", ".join(told["waits_for"])
        print(f"Claim <{told['claim']}> is going to be {word}; jobs that use it: {jobs}")
    else:
        print(f"Claim <{told['claim']}> is {word}.")
    return say.OK


def _lost(values: dict[str, Any], told: dict[str, Any], said: str) -> int:
    """Lost is an answer: it goes where answers go, and the exit code tells it."""
    print(
        json.dumps(told) if format_of(values) == "json" else say.line(f"{said}: {told['reason']}")
    )
    return say.FAILED


def _ask(values: dict[str, Any], method: str, path: str, body: Any, said: str) -> Any:
    unsure = f"whether {said} is not known; look with `xcecli claim list`"
    status, told = call(place_of(values), method, path, body, key=new_key(), unsure=unsure)
    if status >= 300:
        raise say.failure_of(status, told)
    return told


def _meant(values: dict[str, Any], text: str) -> str:
    """The id, by a name: the only live claim that is called so."""
    if text[:1] == "c" and text[1:].isdigit():
        return text
    path = f"/v1/claims?scope=standalone&name={quoted(text)}"
    found = [one["id"] for one in fetch(values, path)["items"]]
    if len(found) > 1:
        hint = f"name one by its id: {', '.join(found)}"
        raise Failure(f"Claim <{text}> is the name of several", say.CONFLICT, hint)
    return found[0] if found else named(text)


for _command in (
    claim_list, claim_show, claim_match, claim_create, claim_wait, claim_renew, claim_verify,
    claim_release, claim_delete,
):  # fmt: skip
    claim.add_command(_command)

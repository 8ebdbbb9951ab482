"""What there is: hosts, instances, claims."""

from __future__ import annotations

import json
from typing import Any

import click

from xcecli import say
from xcecli.commands.shape import CONTEXT, Family, bytes_text, command, epilog, fetch, show
from xcecli.doing import format_of, named, quoted


@command("hosts", "  xcecli hosts\n  xcecli hosts --json")
def hosts(values: dict[str, Any]) -> int:
    """List the hosts with what is taken of them."""
    columns = (
        ("HOST_NAME", 18),
        ("STATUS", 12),
        ("LIVENESS", 8),
        ("MAX", 5),
        ("NJOBS", 5),
        ("RUN", 5),
        ("SSUSP", 5),
        ("USUSP", 5),
        ("MEM", 12),
        ("INSTANCES", 9),
        ("DOMAINS", 30),
    )
    answer = fetch(values, "/v1/hosts")
    for one in (*answer["items"], *answer.get("strangers", ())):
        if one.get("refused"):
            say.tell(f"{one['name']} is refused: {one['refused']}")
        if one.get("closed_why"):
            say.tell(f"{one['name']} is {one['admin']}: {one['closed_why']}")
    return show(answer, format_of(values), columns, _host)


def _host(host: dict[str, Any]) -> list[str]:
    suspended = host.get("suspended") or {}
    mem = host["counters"].get("mem", {"used": 0, "total": 0})
    return [
        host["name"],
        host["status"],
        host["liveness"],
        str(host["slots"]),
        str(host["tasks"]),
        str(host["tasks"] - sum(suspended.values())),
        str(suspended.get("SSUSP", 0)),
        str(suspended.get("USUSP", 0)),
        f"{bytes_text(mem['used'])}/{bytes_text(mem['total'])}",
        f"{host['instances_held']}/{host['instances']}",
        ",".join(f"{level}={name}" for level, name in host["domains"].items()) or "-",
    ]


@command("applications", "  xcecli applications\n  xcecli applications --json")
def applications(values: dict[str, Any]) -> int:
    """List the application profiles.

    What a profile asks for counts for jobs submitted with -app NAME: under the job's own
    requirement and over the queue's.
    """
    columns = (("APP_NAME", 15), ("RESREQ", 30), ("DESCRIPTION", 0))
    answer = fetch(values, "/v1/applications")
    if not answer["items"] and format_of(values) != "json":
        say.tell("No application profile found")
        return say.OK
    return show(answer, format_of(values), columns, _application)


def _application(one: dict[str, Any]) -> list[str]:
    return [one["name"], one["resreq"] or "-", one["description"] or "-"]


@command("instances", "  xcecli instances\n  xcecli instances --type gpu --host n1")
@click.option("--host", default="", metavar="HOST", help="only those of this host")
@click.option("--type", "type_", default="", metavar="TYPE", help="only those of this type")
def instances(values: dict[str, Any], host: str, type_: str) -> int:
    """List instances (GPUs, ports in use, ...) and who holds them."""
    columns = (
        ("HOST", 14),
        ("TYPE", 8),
        ("NAME", 8),
        ("STATE", 11),
        ("HOLDER", 10),
        ("DOMAINS", 24),
        ("ATTRIBUTES", 0),
    )
    answer = fetch(values, f"/v1/instances?host={quoted(host)}&type={quoted(type_)}")
    if not answer["items"] and format_of(values) != "json":
        say.tell("No instance found")
        return say.OK
    return show(answer, format_of(values), columns, _instance)


def _instance(one: dict[str, Any]) -> list[str]:
    return [
        one["host"],
        one["type"],
        one["name"],
        one["state"],
        one["holder"] or "-",
        _pairs(one["domains"]),
        _pairs(one["attributes"]),
    ]


def _pairs(pairs: dict[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in pairs.items()) or "-"


# -- claims -------------------------------------------------------------------------------------


@click.group(
    "claim",
    cls=Family,
    context_settings=CONTEXT,
    epilog=epilog("  xcecli claim list\n  xcecli claim show c7"),
)
def claim() -> None:
    """Look at claims: durable rights to instances and amounts."""


@command("list", "  xcecli claim list\n  xcecli claim list --all")
@click.option("-a", "--all", "all_", is_flag=True, help="released ones, too")
def claim_list(values: dict[str, Any], all_: bool) -> int:
    """List claims."""
    columns = (
        ("CLAIM", 7),
        ("NAME", 14),
        ("TYPE", 10),
        ("SCOPE", 7),
        ("STATE", 9),
        ("READY", 5),
        ("GROUP", 6),
        ("JOB", 6),
        ("VALUES", 0),
    )
    answer = fetch(values, f"/v1/claims?all={'true' if all_ else 'false'}")
    if not answer["items"] and format_of(values) != "json":
        say.tell("No claim found" if all_ else "No claim found that is not released")
        return say.OK
    return show(answer, format_of(values), columns, _claim)


def _claim(one: dict[str, Any]) -> list[str]:
    values = " ".join(each["value"] for each in one["attachments"] if each["value"])
    return [
        one["id"],
        one["name"],
        one["type"],
        one["scope"],
        one["state"],
        "yes" if one["ready"] else "no",
        one["group"] or "-",
        one["job"] or "-",
        values or "-",
    ]


@command("show", "  xcecli claim show c7")
@click.argument("claim_id", metavar="CLAIM")
def claim_show(values: dict[str, Any], claim_id: str) -> int:
    """Show one claim with its holdings and attachments."""
    told = fetch(values, f"/v1/claims/{named(claim_id)}")
    if format_of(values) == "json":
        print(json.dumps(told))
        return say.OK
    lines = [
        (
            f"Claim <{told['id']}>, Name <{told['name']}>, Type <{told['type']}>, "
            f"State <{told['state']}>, Owner <{told['user']}>, Generation <{told['generation']}>"
        )
    ]
    for holding in told["holdings"]:
        what = holding["instance"] or f"{holding['counter']} {bytes_text(holding['amount'])}"
        lines.append(f"  holds {what} on {holding['host']}")
    for one in told["attachments"]:
        said = one["value"] or one["message"]
        lines.append(f"  on {one['host']}: {one['state']} {said}".rstrip())
    print("\n".join(map(say.line, lines)))
    return say.OK


claim.add_command(claim_list)
claim.add_command(claim_show)


# -- requirements ---------------------------------------------------------------------------------

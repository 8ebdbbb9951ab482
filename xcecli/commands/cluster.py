"""What there is: hosts, instances, applications."""

from __future__ import annotations

from typing import Any

import click

from xcecli import say
from xcecli.commands.shape import bytes_text, command, fetch, show
from xcecli.doing import format_of, quoted


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

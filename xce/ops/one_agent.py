"""`xce agent`: from the options of one host's agent to the agent at work.

What a real host has is measured; what the cluster file says of it goes over that. An emulated host
is all that its file says, and a host with a facts file all that this one says; the cluster file
then only names its reporters.
"""

from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import structs

from xce.agent.facts import real_facts
from xce.agent.main import run_agent
from xce.agent.settings import AgentConfig, make_folder
from xce.model.host import HostFacts
from xce.ops.agents import FACTS_FILE
from xce.ops.config.emulate import overlay
from xce.ops.config.file import ConfigFaulty, Site, default_site, read_site
from xce.ops.home import (
    AGENT_TOKEN_FILE,
    EXIT_FAILED,
    EXIT_REFUSED,
    SOCKET_FILE,
    this_host,
    write_whole,
)
from xce.providers.contract import ProviderFailed

PORTS = (20_000, 20_999)
"""For `port` claims on a real host whose file names no range: below where systems take theirs."""


def run_one(home: Path, host: str | None, urls: tuple[str, ...], rest: dict[str, Any]) -> int:
    """Run it; the exit code."""
    name = host or this_host()
    home = home.resolve()
    token = rest["token_file"] or home / AGENT_TOKEN_FILE
    config = AgentConfig(
        host=name,
        home=str(home),
        controllers=urls or (f"unix:{home / SOCKET_FILE}",),
        token_file=str(token) if rest["token_file"] or token.exists() else "",
        allow_root=rest["allow_root"],
        on_leave=rest["on_leave"],
        cgroup=rest["cgroup"],
        boot_id=rest["boot_id"],
        poll_wait_ms=round(1000 * rest["poll_s"]),
    )
    try:
        site = read_site(rest["cluster"]) if rest["cluster"] else default_site()
        path = rest["facts_file"] or _kept_facts(Path(make_folder(config)), site, name)
        reporters = tuple(one for one in site.reporters if one.runs_on(name))
        config = structs.replace(config, facts_file=str(path), reporters=reporters)
    except ConfigFaulty as error:
        click.echo(str(error), err=True)
        return EXIT_REFUSED
    except ProviderFailed as error:
        click.echo(f"xce agent {name}: {error}", err=True)
        return EXIT_FAILED
    except OSError as error:
        click.echo(f"xce agent {name}: {error.filename}: {error.strerror}", err=True)
        return EXIT_FAILED
    return run_agent(config)


def _kept_facts(folder: Path, site: Site, name: str) -> Path:
    """A file of what the host has: an emulated one what the site says, a real one what is
    measured."""
    facts = site.emulated.get(name) or real_host(site.declared.get(name))
    path = folder / FACTS_FILE
    write_whole(path, msgspec.json.encode(facts).decode())
    return path


def real_host(declared: HostFacts | None) -> HostFacts:
    """What this machine has, with what a file says of it on top."""
    measured = structs.replace(real_facts(), ports=PORTS)
    return measured if declared is None else overlay(measured, declared)

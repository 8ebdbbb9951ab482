"""`xce agent`: from the options of one host's agent to the agent at work.

What the host has comes from the cluster file where it names the host, else from the machine.
"""

from pathlib import Path
from typing import Any

import click
import msgspec

from xce.agent.main import run_agent
from xce.agent.settings import AgentConfig, make_folder
from xce.model.host import HostFacts
from xce.ops.agents import FACTS_FILE
from xce.ops.config.file import ConfigFaulty, read_site
from xce.ops.home import (
    AGENT_TOKEN_FILE,
    EXIT_FAILED,
    EXIT_REFUSED,
    SOCKET_FILE,
    this_host,
    write_whole,
)


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
    )
    try:
        facts = _declared(rest["cluster"], name)
        if facts is not None:
            path = Path(make_folder(config)) / FACTS_FILE
            write_whole(path, msgspec.json.encode(facts).decode())
            config = msgspec.structs.replace(config, facts_file=str(path))
    except ConfigFaulty as error:
        click.echo(str(error), err=True)
        return EXIT_REFUSED
    except OSError as error:
        click.echo(f"xce agent {name}: {error.filename}: {error.strerror}", err=True)
        return EXIT_FAILED
    return run_agent(config)


def _declared(cluster: Path | None, name: str) -> HostFacts | None:
    """What the file says that the host has; None where it says nothing."""
    if cluster is None:
        return None
    site = read_site(cluster)
    return site.declared.get(name) or site.emulated.get(name)

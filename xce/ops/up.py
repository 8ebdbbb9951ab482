"""`xce up`, `xce controller`, `xce agent`: running XCE until it is told to stop.

`up` is a controller and the agents of its cluster file, each a process of its own that knows the
controller by its URL only; without `[emulate]` it is one agent for this machine. SIGINT and
SIGTERM stop what was started, jobs included; a second one does so at once. When the controller
ends by a failed commit (70) jobs go on, as after a kill: the next `xce up` takes them over.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click

from xce.api.serve import CannotServe
from xce.ops.agents import AgentEnded, Agents, Plan
from xce.ops.config.file import ConfigFaulty, Site, default_site, read_site
from xce.ops.home import (
    AGENT_TOKEN_FILE,
    EXIT_BROKEN,
    EXIT_CONFLICT,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_REFUSED,
    SITE_FILE,
    this_host,
)
from xce.ops.logs import announce
from xce.ops.one_agent import real_host
from xce.ops.serving import Options, Serving, with_root
from xce.providers.contract import ProviderFailed
from xce.wal.port import Fenced, LogBroken, LogError, LogHeld

log = logging.getLogger("xce")


def site_for(home: Path, cluster: Path | None) -> Site:
    """The file that was named, else the one the home was started with, else the defaults."""
    if cluster is not None:
        return read_site(cluster)
    kept = home / SITE_FILE
    # A home that may not be read is told when its lock is asked for.
    return read_site(kept) if os.access(kept, os.R_OK) else default_site()


def plan_for(home: Path, site: Site) -> Plan:
    """The agents that `up` starts: the emulated hosts, else this machine."""
    hosts = dict(site.emulated) or {this_host(): real_host(site.declared.get(this_host()))}
    return Plan(home=home, hosts=hosts, allow_root=site.config.allow_root, reporters=site.reporters)


class Told:
    """Signals: the first asks for the end, the second for it at once."""

    def __init__(self, at_once: Callable[[], None]) -> None:
        self.end = asyncio.Event()
        self._at_once = at_once
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._hear)

    def _hear(self) -> None:
        if self.end.is_set():
            self._at_once()
        self.end.set()


Act = Callable[[Serving], Coroutine[Any, Any, None]]


async def run_here(options: Options) -> None:
    """A controller with the agents of its file, until told to stop."""
    plan = plan_for(options.home, options.site)
    await run_up(options, plan, lambda serving: stay(serving, plan, options.home))


async def run_alone(options: Options) -> None:
    """A controller without agents, until told to stop."""
    await run_up(options, None, lambda serving: stay(serving, None, options.home))


async def run_up(options: Options, plan: Plan | None, act: Act) -> None:
    """Serve, with agents if there are any, until `act` is done or somebody says stop."""
    agents = Agents(plan) if plan is not None else None
    serving = Serving(options)
    await serving.start()
    told = Told(agents.kill if agents is not None else lambda: None)
    waits: list[asyncio.Task[Any]] = [asyncio.create_task(told.end.wait())]
    failed: list[asyncio.Task[Any]] = []
    try:
        if agents is not None:
            agents.start(serving.url)
            waits.append(asyncio.create_task(agents.watch()))
        waits.append(asyncio.create_task(act(serving)))
        await asyncio.wait([*waits, serving.ended], return_when=asyncio.FIRST_COMPLETED)
        failed = [task for task in waits if task.done()]
    finally:
        for task in waits:
            task.cancel()
        # A controller that is broken cannot hear how jobs end: they go on without it.
        if agents is not None and not serving.ended.done():
            await agents.stop()
        await serving.stop()
    for task in [*failed, serving.ended]:
        if not task.cancelled():
            await task


async def stay(serving: Serving, plan: Plan | None, home: Path) -> None:
    """Say when all is there, then stay until stopped."""
    if plan is not None:
        await serving.joined(plan.hosts)
        hosts = f"hosts {', '.join(plan.hosts)}"
    else:
        hosts = f"agents' token {home / AGENT_TOKEN_FILE}"
    announce(f"up at {serving.url}, home {home}, {hosts}; Ctrl-C ends it")
    await asyncio.Event().wait()


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run to the end on uvloop; every failure is one line and an exit code."""
    import uvloop

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main)
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(EXIT_INTERRUPTED)
    except LogHeld as error:
        _leave(str(error), EXIT_CONFLICT)
    except (LogBroken, Fenced) as error:
        _leave(f"{error}; this controller ends, jobs go on; start it again", EXIT_BROKEN)
    except (LogError, CannotServe, AgentEnded, ProviderFailed) as error:
        _leave(str(error), EXIT_FAILED)
    except OSError as error:
        _leave(f"{error.filename or 'system'}: {error.strerror}", EXIT_FAILED)
    except Exception as error:
        log.info("the failure in full", exc_info=error)
        _leave(f"internal error, {type(error).__name__}: {error}", EXIT_BROKEN)


def _leave(text: str, code: int) -> None:
    click.echo(f"xce: {' '.join(text.split())}", err=True)
    sys.exit(code)


def options_of(
    home: Path, cluster: Path | None, port: int, database: str, *, allow_root: bool
) -> Options:
    """What the command line means; a faulty file ends the command."""

    try:
        site = with_root(site_for(home, cluster), allow_root)
    except ConfigFaulty as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_REFUSED)
    return Options(home=home, database=database, site=site, port=port)

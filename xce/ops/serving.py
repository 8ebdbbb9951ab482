"""A controller with its API in this process: take the lead, serve, take it again, give it back.

On SQLite a failed commit ends the process: nothing may be appended after it. On PostgreSQL the
controller and its state are thrown away and a new one recovers, while the API stays on its
sockets; what was asked meanwhile is answered "outcome unknown". Listening comes after leading, so
that whoever finds the socket finds a leader, and a home that is in use is told before a port.
"""

import asyncio
import logging
import math
import time
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, structs

from xce.api.serve import CannotServe, Service
from xce.controller.leading import Leadership, Settings
from xce.ops.config.file import Site
from xce.ops.fencing import Fencing
from xce.ops.home import SITE_FILE, Fresh, write_whole
from xce.ops.seat import Seat
from xce.wal.port import Fenced, LogAway, LogBroken, LogHeld, LogUnfit

log = logging.getLogger("xce")

RETRY_FIRST_S, RETRY_CAP_S, RETRY_WAIT_S = 0.2, 2.0, 0.5
FIRST_RECORD_S = 30.0
JOIN_LOOK_S = 5.0


class Options(Struct, frozen=True, kw_only=True):
    """What a controller is started with. `port` 0 takes any that is free."""

    home: Path
    database: str
    site: Site
    port: int = 0
    wait_s: float = 12.0

    @property
    def on_postgres(self) -> bool:
        """Whether a failed commit can be got over in this process."""
        return self.database.startswith(("postgresql:", "postgres:"))


class Serving:
    """One controller and its API. Use: `start`, await `ended`, `stop`."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._fresh = Fresh(options.home)
        self._settings = Settings(
            home=options.home,
            database=options.database,
            config=options.site.config,
            config_digest=options.site.digest,
            keeps_config=not options.site.text,
            wait_s=options.wait_s,
        )
        self._seat = Seat()
        self._service = Service(self._seat, options.home, options.port)
        self._lead: Leadership | None = None
        self._fencing: asyncio.Task[None] | None = None
        self._stopping = False
        self.ended: asyncio.Task[None]

    @property
    def url(self) -> str:
        """Where the API is on TCP."""
        return f"http://127.0.0.1:{self._service.port}"

    async def joined(self, hosts: Iterable[str]) -> None:
        """Until all these hosts are UP."""
        waited = set(hosts)
        while True:
            await self._seat.settled()
            state = self._seat.state
            up = {name for name, host in state.hosts.items() if host.liveness == "UP"}
            if waited <= up:
                return
            await self._seat.changed(state.lsn, JOIN_LOOK_S)

    async def start(self) -> None:
        """Lead, write the first record, listen. LogError or CannotServe says why not."""
        try:
            self._lead = Leadership(self._settings)
            before = self._lead.controller.state.lsn
            self.ended = asyncio.create_task(self._run())
            await self._begun(before)
            self._seat.take(self._lead.controller)
            self._keep_site()
            await self._service.start()
            self._fencing = asyncio.create_task(Fencing(self._seat).watch())
            self._fencing.add_done_callback(_tell_broken)
        except BaseException:
            await self._abandon()
            raise

    async def _begun(self, before: int) -> None:
        """Until `LeaderStarted` is durable: nothing is served before it."""
        assert self._lead is not None
        first = asyncio.create_task(self._lead.controller.changed(before, FIRST_RECORD_S))
        await asyncio.wait({first, self.ended}, return_when=asyncio.FIRST_COMPLETED)
        failed = self.ended.done() or first.exception() is not None
        first.cancel()
        if failed:
            await self.ended

    def _keep_site(self) -> None:
        """The file that is in force stays with the home, for a later start without one."""
        text = self._options.site.text
        if text:
            try:
                write_whole(self._options.home / SITE_FILE, text)
            except OSError as error:
                raise CannotServe(f"cannot write {SITE_FILE}: {error.strerror}") from error

    async def _abandon(self) -> None:
        """The start failed: as if it had never been tried."""
        self._stopping = True
        if self._lead is not None:
            self._lead.controller.stop()
            await asyncio.gather(self.ended, return_exceptions=True)
            self._lead.release()
        self._fresh.undo()

    # -- leading -----------------------------------------------------------------------------
    async def _run(self) -> None:
        """Lead until told to stop; raises what ended it for good."""
        while True:
            assert self._lead is not None
            try:
                await self._lead.run()
                return
            except (Fenced, LogBroken) as error:
                self._seat.leave()
                if not self._options.on_postgres or self._stopping:
                    raise
                log.warning("leading ended: %s; taking over anew", error)
                await asyncio.to_thread(self._lead.release)
            self._lead = None
            self._lead = await self._again()
            self._seat.take(self._lead.controller)
            log.warning("leading again in epoch %d", self._lead.epoch)

    async def _again(self) -> Leadership:
        """The leadership as soon as the database answers; LogHeld when somebody else keeps it."""
        settings = structs.replace(self._settings, wait_s=RETRY_WAIT_S)
        end_s, told = math.inf, ""
        pause_s = RETRY_FIRST_S
        while True:
            try:
                return await asyncio.to_thread(Leadership, settings)
            except LogHeld:
                end_s = min(end_s, time.monotonic() + self._options.wait_s)
                if time.monotonic() > end_s:
                    raise
            except (Fenced, LogAway, LogBroken, LogUnfit) as error:
                if str(error) != told:
                    log.warning("the database does not serve: %s", error)
                told = str(error)
            await asyncio.sleep(pause_s)
            pause_s = min(RETRY_CAP_S, 2 * pause_s)

    # -- ending ------------------------------------------------------------------------------
    async def stop(self) -> None:
        """End with a cut, answer what is under way, close the sockets, give the home back."""
        self._stopping = True
        if self._fencing is not None:
            self._fencing.cancel()
            await asyncio.wait({self._fencing})
        if self._lead is not None:
            self._lead.controller.stop()
        else:
            self.ended.cancel()
        await asyncio.wait({self.ended})
        await self._service.stop()
        if self._lead is not None:
            self._lead.release()
            self._lead = None


def _tell_broken(task: "asyncio.Task[None]") -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        log.error("fencing has ended, silent hosts are not asked about: %r", error)


def with_root(site: Site, allow_root: bool) -> Site:
    """The site, with work of uid 0 allowed when the command line says so."""
    from xce.ops.config.file import digest_of

    if not allow_root or site.config.allow_root:
        return site
    config = structs.replace(site.config, allow_root=True)
    return structs.replace(site, config=config, digest=digest_of(config))

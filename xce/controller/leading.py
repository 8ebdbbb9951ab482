"""Taking over: from a home and a database to a controller that leads.

Every start is a takeover: lock the home, open the log, take the leadership with a higher epoch,
compare the head with the anchor, fold, and write `LeaderStarted` before anything is served. On
PostgreSQL the leadership is renewed while the controller runs; when that fails for too long the
controller stops answering, reads included, before another may lead.
"""

import asyncio
import gc
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct, structs

from xce import __version__, crashpoint
from xce.controller.clock import Clock, boot_us
from xce.controller.core.commands import LoadConfig, StartLeading
from xce.controller.core.fold.state import State
from xce.controller.cuts import Cutter
from xce.controller.loop import Controller
from xce.controller.recover import recover
from xce.controller.writer import Writer
from xce.model.actor import CONTROLLER
from xce.model.config import Config
from xce.wal.anchor import Anchor
from xce.wal.open import HomeLock, open_log
from xce.wal.port import Fenced, Log, LogAway, LogError, LogHeld

ANCHOR_FILE = "anchor"
TTL_US = 10_000_000
RENEW_EVERY_S = 3.0
RENEW_MARGIN_US = 2_000_000
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Settings(Struct, frozen=True, kw_only=True):
    """What a controller is started with. `wait_s` is how long to wait for another leader's
    time-to-live; `reach` marks named points for kill runs. `keeps_config`: no file was named, so
    the log's own settings stay in force; `config` is for a log that has none yet."""

    home: Path
    database: str = "sqlite"
    config: Config = Config()
    config_digest: str = "default"
    keeps_config: bool = False
    wait_s: float = 12.0
    reach: Callable[[str], None] = crashpoint.reach


class Confirming:
    """Looks at who leads, for those to whom answers from memory are not enough: these hold for a
    while after another may lead. Who asks while a look is under way shares the next one, which
    begins after all of them."""

    def __init__(self, look: Callable[[], Awaitable[None]]) -> None:
        self._look = look
        self._under_way = asyncio.Lock()
        self._next: asyncio.Future[None] | None = None

    async def confirm(self) -> None:
        """Returns when a look that began after this call found that this controller leads;
        raises what it raises."""
        if self._next is not None:
            await asyncio.shield(self._next)
            return
        mine = self._next = asyncio.get_running_loop().create_future()
        mine.add_done_callback(_seen)
        async with self._under_way:
            # From here on it has begun: who asks now needs another one.
            self._next = None
            try:
                await self._look()
            except BaseException as error:
                mine.set_exception(error)
                raise
            mine.set_result(None)


def _seen(done: "asyncio.Future[None]") -> None:
    """A failure that nobody else waited for was told to the one who looked."""
    if not done.cancelled():
        done.exception()


class Leadership:
    """A controller and everything it holds while it leads."""

    def __init__(self, settings: Settings) -> None:
        """Take over; raises LogError with one sentence for the operator."""
        self._settings = settings
        self._lock = HomeLock(settings.home)
        self._log: Log | None = None
        self._anchor: Anchor | None = None
        self.epoch = 0
        self._lapses = False
        self._renewed_us = 0
        try:
            self._log = _open(settings)
            self._lapses = self._log.about().name == "postgresql"
            self.epoch = _lead(self._log, settings)
            self._anchor = Anchor(settings.home / ANCHOR_FILE)
            self._anchor.check(self._log)
            self.controller = self._begin(self._log)
            self._renew_once(self._log)
        except BaseException:
            self.release()
            raise

    def _begin(self, log: Log) -> Controller:
        settings = self._settings
        state, cutter = _recovered(log)
        clock = Clock(state.at_us)
        resumed = state.lsn
        state.epoch = self.epoch
        writer = Writer(state, log, self._anchor, cutter, settings.reach)
        confirm = Confirming(self._look).confirm if self._lapses else _nobody_else
        controller = Controller(state, cutter, writer, clock, self.holds, confirm=confirm)
        controller.post(
            StartLeading(
                actor=CONTROLLER,
                holder=_holder(settings.home),
                version=__version__,
                database=log.about().name,
                boot_id=_BOOT_ID.read_text().strip(),
                resumed_lsn=resumed,
            )
        )
        asked = _config_of(settings, state)
        if asked is not None:
            controller.post(asked)
        return controller

    async def run(self) -> None:
        """Run the controller and keep the leadership; raises what ended it, if anything did."""
        loop = asyncio.create_task(self.controller.run())
        renewal = asyncio.create_task(self._renew())
        try:
            done, _ = await asyncio.wait({loop, renewal}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            renewal.cancel()
            if not loop.done():
                loop.cancel()
            await asyncio.gather(loop, renewal, return_exceptions=True)

    def holds(self) -> bool:
        """Whether nobody else can lead yet. A process that was paused, or whose database is away,
        finds out here before it answers from memory. On SQLite the file's lock sees to it."""
        return not self._lapses or boot_us() - self._renewed_us <= TTL_US - RENEW_MARGIN_US

    async def _look(self) -> None:
        """See in the database that this controller leads; raises Fenced, or that it is away."""
        assert self._log is not None
        await asyncio.to_thread(self._renew_once, self._log)

    def _renew_once(self, log: Log) -> None:
        if self._lapses:
            began_us = boot_us()
            log.renew(self.epoch, _wall_us(), TTL_US)
            # A call that was given up may come back behind one that was begun later.
            self._renewed_us = max(self._renewed_us, began_us)

    def _left_s(self) -> float:
        """For how long nobody else can lead, if nothing is renewed."""
        return max(0.0, (self._renewed_us + TTL_US - RENEW_MARGIN_US - boot_us()) / 1_000_000)

    async def _renew(self) -> None:
        log = self._log
        assert log is not None
        if not self._lapses:
            await asyncio.Event().wait()
        while True:
            await asyncio.sleep(min(RENEW_EVERY_S, self._left_s()))
            try:
                renewed = asyncio.to_thread(self._renew_once, log)
                await asyncio.wait_for(renewed, self._left_s())
            except Fenced:
                raise
            except (LogError, TimeoutError) as error:
                if not self._left_s():
                    raise Fenced("the leadership could not be renewed in time") from error

    def release(self) -> None:
        """Give everything back, so that the next one can take over at once."""
        if self._log is not None:
            try:
                if self.epoch:
                    self._log.resign(self.epoch)
            except LogError:
                # Somebody else leads, or the database is away: there is nothing to resign.
                pass
            self._log.close()
        if self._anchor is not None:
            self._anchor.close()
        self._lock.release()


async def _nobody_else() -> None:
    """The file's lock sees to it that nobody else leads."""


def _config_of(settings: Settings, state: State) -> LoadConfig | None:
    """What is to be loaded at a start; None when the log's own settings stay as they are. Root's
    work is allowed by the command line alone, also where no file is named."""
    known = state.tables["setting"].get("config")
    if known is None or not settings.keeps_config:
        config, digest = settings.config, settings.config_digest
    elif settings.config.allow_root and not known.config.allow_root:
        config = structs.replace(known.config, allow_root=True)
        digest = f"{known.digest}+root"
    else:
        return None
    return LoadConfig(actor=CONTROLLER, config=config, digest=digest)


def _recovered(log: Log) -> tuple[State, Cutter]:
    """The state of the log. What a recovery makes stays for long: the collector need not look at
    it while it grows, nor ever again."""
    gc.disable()
    try:
        return recover(log)
    finally:
        gc.freeze()
        gc.enable()


def _holder(home: Path) -> str:
    """Who leads: this machine and this home; two machines may have homes of the same path."""
    return f"{os.uname().nodename}:{home.resolve()}"


def _lead(log: Log, settings: Settings) -> int:
    """The new epoch; waits for a dead leader's time-to-live to run out."""
    end = time.monotonic() + settings.wait_s
    while True:
        try:
            return log.lead(_holder(settings.home), _wall_us(), TTL_US)
        except LogHeld:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def _open(settings: Settings) -> Log:
    """The log; a database server that is away or still starting is tried again for a while."""
    end = time.monotonic() + settings.wait_s
    while True:
        try:
            return open_log(settings.database, settings.home, at_point=settings.reach)
        except LogAway:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def _wall_us() -> int:
    return time.time_ns() // 1000

"""The fencing hook: asks the site's program to make sure that nothing runs on a silent host.

It is asked about each host that is DOWN and still has work, in a process of its own beside the
controller; exit 0 is the only yes, and becomes a command like others. Anything else, or a hang,
which is killed, says nothing and is asked again, ever later. Nothing of it is durable: whoever
leads next asks again, so a hook must be able to say yes of what is off already.
"""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import IO

from msgspec import Struct

from xce.api.ports import Engine, StateView
from xce.api.problem import Problem
from xce.controller.core.commands import HostFenced, Rejection
from xce.model.actor import CONTROLLER
from xce.model.config import FencingConfig, grown_us
from xce.model.host import Host
from xce.model.tables import LIVE_ATTACHMENT, LIVE_LAUNCH

log = logging.getLogger("xce")

LOOK_S = 1.0
HOOK_LOOK_S, KILLED_S = 0.05, 5.0
AT_ONCE = 8
"""Hooks at a time; hosts beyond wait their turn."""
SAID_BYTES = 4_096
SAID_CHARACTERS = 200
Silence = tuple[int, int]
"""An incarnation, and since when it is DOWN: what a yes is about."""


class Asked(Struct, kw_only=True):
    """How far the asking about one host is."""

    silence: Silence
    task: asyncio.Task[None] | None = None
    failures: int = 0
    next_s: float = 0.0


class Fencing:
    """The hooks of the controller that leads. Run `watch` until it is cancelled."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asked: dict[str, Asked] = {}
        self._stop = threading.Event()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="fencing")

    async def watch(self) -> None:
        """Look at the hosts every second."""
        try:
            while True:
                await asyncio.sleep(LOOK_S)
                with contextlib.suppress(Problem):
                    await self._engine.settled()
                    self._look(self._engine.state)
        finally:
            self._stop.set()
            tasks = [one.task for one in self._asked.values() if one.task is not None]
            await asyncio.gather(*tasks, return_exceptions=True)
            self._threads.shutdown()

    def _look(self, state: StateView) -> None:
        config = state.config.fencing
        wanted = silent_with_work(state) if config.command else {}
        for name in [name for name in self._asked if name not in wanted]:
            if not self._is_running(name):
                del self._asked[name]
        for name, host in wanted.items():
            if self._is_running(name) or self._busy() >= AT_ONCE:
                continue
            silence = (host.incarnation, host.changed_us)
            asked = self._asked.get(name)
            if asked is None or asked.silence != silence:
                asked = self._asked[name] = Asked(silence=silence)
            if time.monotonic() >= asked.next_s:
                asked.task = asyncio.create_task(self._ask(config, host, asked))

    def _is_running(self, name: str) -> bool:
        asked = self._asked.get(name)
        return asked is not None and asked.task is not None and not asked.task.done()

    def _busy(self) -> int:
        return sum(self._is_running(name) for name in self._asked)

    async def _ask(self, config: FencingConfig, host: Host, asked: Asked) -> None:
        """Ask once; a yes is told to the controller, anything else makes the next pause longer."""
        loop = asyncio.get_running_loop()
        is_yes, said = await loop.run_in_executor(self._threads, run_hook, config, host, self._stop)
        if not is_yes:
            pause_us = grown_us(config.retry_first_us, 2, config.retry_cap_us, asked.failures)
            asked.failures += 1
            asked.next_s = time.monotonic() + pause_us / 1e6
            log.warning("fencing %s: %s; asked again in %g s", host.name, said, pause_us / 1e6)
            return
        log.warning("fencing %s: %s", host.name, said)
        incarnation, down_us = asked.silence
        command = HostFenced(
            actor=CONTROLLER, host=host.name, incarnation=incarnation, down_us=down_us, why=said
        )
        # Not led any more, or not taken: who leads asks again.
        with contextlib.suppress(Problem):
            answer = await self._engine.ask(command)
            if isinstance(answer, Rejection):
                log.warning("fencing %s: %s", host.name, answer.message)


def silent_with_work(state: StateView) -> dict[str, Host]:
    """Hosts that are DOWN and that live launches or attachments are on, by name."""
    down = {name for name, host in state.hosts.items() if host.liveness == "DOWN"}
    if not down:
        return {}
    busy = {one.host for one in state.launches.values() if one.state in LIVE_LAUNCH}
    busy |= {one.host for one in state.attachments.values() if one.state in LIVE_ATTACHMENT}
    return {name: state.hosts[name] for name in sorted(down & busy)}


def run_hook(config: FencingConfig, host: Host, stop: threading.Event) -> tuple[bool, str]:
    """Run the hook about one host: whether it said yes, and a sentence about it."""
    env = {
        **os.environ,
        "XCE_FENCE_HOST": host.name,
        "XCE_FENCE_ADDRESS": host.facts.address,
        "XCE_FENCE_BOOT_ID": host.boot_id,
    }
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                [*config.command, host.name], env=env, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            return False, f"{config.command[0]} cannot be run: {why}"
        code = _end_of(process, config.timeout_us / 1e6, stop)
        last = _last_line(output)
    told = f', said "{last}"' if last else ""
    if code is None:
        return False, f"{config.command[0]} did not end in {config.timeout_us / 1e6:g} s{told}"
    return code == 0, f"{config.command[0]} {host.name} exited with {code}{told}"


def _end_of(
    process: "subprocess.Popen[bytes]", limit_s: float, stop: threading.Event
) -> int | None:
    """The hook's exit code, None when it was killed. It is reaped only behind the kill of what it
    left in its session: until then nothing else has its number."""
    end_s = time.monotonic() + limit_s
    while not (is_over := _has_ended(process.pid)) and time.monotonic() < end_s:
        if stop.wait(HOOK_LOOK_S):
            break
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(KILLED_S)
    return process.returncode if is_over else None


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _last_line(output: IO[bytes]) -> str:
    end = output.seek(0, os.SEEK_END)
    output.seek(max(0, end - SAID_BYTES))
    lines = output.read().decode(errors="replace").strip().splitlines()
    plain = "".join(char if char.isprintable() else " " for char in lines[-1]) if lines else ""
    return plain[:SAID_CHARACTERS]

"""The agents that `xce up` starts: one process per host, told where the controller is, and ended.

An agent that ends by itself is started again, with a growing pause; one that cannot work from
the first is told and ends the whole start. What an earlier `up` of the same home left behind
(it was killed) is taken over: its agents are replaced, its supervisors and their jobs go on.
Processes are told apart by the home's own lock files and a mark in their environment, and are
signalled through pidfds only.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import select
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from xce.agent.settings import AgentConfig, Reporter, make_folder
from xce.agent.supervisor import kernel
from xce.model.host import HostFacts
from xce.ops.home import write_whole

log = logging.getLogger("xce")

MARK = "XCE_UP_HOME"
AGENT_LOCK, SUPERVISOR_LOCK, LOG_FILE, FACTS_FILE = (
    "agent.lock",
    "supervisor.lock",
    "agent.log",
    "facts.json",
)
WATCH_S = 0.1
STEADY_S = 5.0
PAUSE_FIRST_S, PAUSE_CAP_S = 0.5, 30.0
STOP_S = 75.0
KILLED_S = 5.0


class AgentEnded(Exception):
    """An agent cannot work here; the text is what it said."""


class Plan(Struct, frozen=True, kw_only=True):
    """Which agents there are to be, and what each host has. `survive`: they and their jobs go on
    when this process is killed; the demo's do not."""

    home: Path
    hosts: dict[str, HostFacts]
    allow_root: bool = False
    survive: bool = True
    reporters: tuple[Reporter, ...] = ()


class _Agent:
    """One agent as its parent sees it."""

    def __init__(self, name: str, config: AgentConfig, *, survive: bool) -> None:
        self.name = name
        self.config = config
        self._before_exec = None if survive else partial(_end_with, os.getpid())
        self.process: subprocess.Popen[bytes] | None = None
        self.began_s = 0.0
        self.pause_s = 0.0
        self.due_s = 0.0

    @property
    def folder(self) -> Path:
        return Path(self.config.folder)

    def start(self) -> None:
        """Start the process in a session of its own, so that a terminal's Ctrl-C is not its."""
        self.began_s = time.monotonic()
        words = [sys.executable, "-m", "xce.agent", msgspec.json.encode(self.config).decode()]
        with open(self.folder / LOG_FILE, "ab") as out:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, MARK: self.config.home},
                start_new_session=True,
                preexec_fn=self._before_exec,  # noqa: PLW1509  one call of prctl, no lock
            )

    def last_words(self) -> str:
        """The last line of its log."""
        text = (self.folder / LOG_FILE).read_text(errors="replace").strip()
        return text.splitlines()[-1] if text else f"agent {self.name} said nothing"


class Agents:
    """All agents of one `up`."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._agents: list[_Agent] = []

    def start(self, url: str) -> None:
        """Write the hosts' facts and start an agent for each; raises AgentEnded or OSError."""
        home = self._plan.home.resolve()
        for name, facts in self._plan.hosts.items():
            config = AgentConfig(
                host=name,
                home=str(home),
                controllers=(url,),
                token_file=str(home / "agent.token"),
                facts_file=str(home / "hosts" / name / FACTS_FILE),
                allow_root=self._plan.allow_root,
                on_leave="stop",
                reporters=tuple(one for one in self._plan.reporters if one.runs_on(name)),
            )
            make_folder(config)
            write_whole(Path(config.facts_file), msgspec.json.encode(facts).decode())
            agent = _Agent(name, config, survive=self._plan.survive)
            _replace_orphan(agent)
            agent.start()
            self._agents.append(agent)

    async def watch(self) -> None:
        """Keep them running; raises AgentEnded for one that cannot work from the first."""
        while True:
            await asyncio.sleep(WATCH_S)
            now_s = time.monotonic()
            for agent in self._agents:
                self._look(agent, now_s)

    def _look(self, agent: _Agent, now_s: float) -> None:
        if agent.process is None:
            if now_s >= agent.due_s:
                agent.start()
            return
        code = agent.process.poll()
        if code is None:
            return
        agent.process = None
        if code > 0 and now_s < agent.began_s + STEADY_S and not agent.pause_s:
            raise AgentEnded(agent.last_words())
        steady = now_s > agent.began_s + STEADY_S
        agent.pause_s = PAUSE_FIRST_S if steady else min(PAUSE_CAP_S, 2 * agent.pause_s or 1.0)
        agent.due_s = now_s + agent.pause_s
        why = agent.last_words() if code > 0 else f"code {code}"
        log.warning("agent of host %s ended (%s); it is started again", agent.name, why)

    async def stop(self) -> None:
        """End all jobs and agents; what does not end in time is killed."""
        live = [agent.process for agent in self._agents if agent.process is not None]
        for process in live:
            process.terminate()
        end_s = time.monotonic() + STOP_S
        for process in live:
            await asyncio.to_thread(_wait, process, end_s)
        self.kill()

    def kill(self) -> None:
        """End whatever is left at once: agents, then supervisors, whose jobs die with them."""
        for agent in self._agents:
            if agent.process is not None and agent.process.poll() is None:
                agent.process.kill()
                agent.process.wait()
            holder = holder_of(agent.folder / SUPERVISOR_LOCK)
            if holder:
                log.warning("supervisor %d of host %s is killed", holder, agent.name)
                kill_process(holder)


def _end_with(parent: int) -> None:
    """In the child: be told to stop when `up` is gone, however it went."""
    kernel.die_with_parent(parent, signal.SIGTERM)


def _wait(process: subprocess.Popen[bytes], end_s: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, end_s - time.monotonic()))


def _replace_orphan(agent: _Agent) -> None:
    """Kill the agent that an earlier `up` left; refuse where somebody else runs one."""
    holder = holder_of(agent.folder / AGENT_LOCK)
    if not holder:
        return
    if not _is_marked(holder):
        raise AgentEnded(
            f"host {agent.name} has an agent that `xce up` did not start: process {holder}; "
            "stop it first"
        )
    log.warning("agent %d of host %s was left behind; it is replaced", holder, agent.name)
    kill_process(holder)


def _is_marked(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.startswith(f"{MARK}=".encode()) for word in words)


def holder_of(lock: Path) -> int:
    """The process that holds a lock file now; 0 when nobody does."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.read(handle, 32).decode(errors="replace").strip()
        return int(text) if text.isdigit() else 0
    finally:
        os.close(handle)
    return 0


def kill_process(pid: int) -> None:
    """Kill a process by a pidfd and wait until it is gone."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        select.select([handle], [], [], KILLED_S)
    finally:
        os.close(handle)

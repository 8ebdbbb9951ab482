"""The processes of a kill run: a controller and one agent per host, each its own process, started
again when they die.

A death by SIGKILL is what the run is about. A controller that ends otherwise before it was told
to is a fault on SQLite; on PostgreSQL it may end while the server is away. Agents are started as
`xce up` starts them, or by `xce agent` (tests/kit/cluster_process.py). Everything of a run carries
the run's folder in its command line or environment, so that what is left can be found.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tests.kill.client import get
from tests.kit.cluster_process import APART, agent_words, parts
from xce.agent.settings import AgentConfig, make_folder
from xce.ops.agents import SUPERVISOR_LOCK, holder_of, kill_process
from xce.ops.config.file import read_site
from xce.ops.up import EXIT_BROKEN

ROOT = Path(__file__).resolve().parents[2]
PORTS_FIRST, PORTS_EACH, PORTS_SLOTS = 20_000, 24, 500
CLUSTER = """cluster = "kill"
levels = ["host"]

[policies]
start_retries = {{max = 20, first = "1s", factor = 1, cap = "1s"}}
failure_window = "1s"
kill_grace = "1s"
{policies}

[[emulate.hosts]]
name = "n%d"
count = {hosts}
slots = {slots}
mem = "16GB"
scratch = "1GB"
ports = [{first}, {last}]
gpus = [{{count = {gpus}, model = "H100", mem = "80GB"}}]
"""
LOOK_S = 0.02
AGAIN_S = 0.3
UP_S = 60.0
STOP_S = 60.0
REVIVED_S = 10.0

Words = Sequence[str]


class Part:
    """One process that is kept running. `env` is what its first life is given besides."""

    def __init__(self, name: str, words: Words, log: Path, env: dict[str, str]) -> None:
        self.name = name
        self.words = list(words)
        self.log = log
        self.env = env
        self.process: subprocess.Popen[bytes] | None = None
        self.codes: list[int] = []
        self.wanted = True

    def start(self) -> None:
        """Begin a life."""
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, **self.env},
                cwd=ROOT,
                start_new_session=True,
            )

    def tend(self) -> None:
        """Note a death and begin again."""
        if self.process is not None and (code := self.process.poll()) is not None:
            self.codes.append(code)
            self.process = None
            if code != -signal.SIGKILL:
                time.sleep(AGAIN_S)
        if self.process is None and self.wanted:
            self.start()

    def kill(self) -> None:
        """kill -9; `tend` begins again unless told otherwise."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Tell it to end; its exit code. What does not end in time is killed."""
        self.wanted = False
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return -signal.SIGKILL

    def said(self, lines: int = 6) -> str:
        """The end of what it wrote."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.strip().splitlines()[-lines:])


class Cluster:
    """A controller and its hosts in a folder of their own."""

    def __init__(
        self,
        folder: Path,
        *,
        hosts: int = 3,
        database: str = "sqlite",
        slots: int = 4,
        gpus: int = 4,
        mutant: str = "",
        policies: str = "",
        poll_ms: int = 5_000,
    ) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.database = database
        self._mutant = mutant
        self._poll_ms = poll_ms
        self._boots = 0
        self.counts = folder / "counts"
        self.counts.mkdir(parents=True)
        self.file = folder / "cluster.toml"
        first = PORTS_FIRST + PORTS_EACH * (os.getpid() % PORTS_SLOTS)
        self.file.write_text(
            CLUSTER.format(
                hosts=hosts,
                slots=slots,
                gpus=gpus,
                first=first,
                last=first + PORTS_EACH - 1,
                policies=policies,
            )
        )
        self.names = [f"n{number}" for number in range(1, hosts + 1)]
        self.controller = self._controller()
        self.agents = {name: self._agent(name) for name in self.names}
        self._tending = threading.Event()
        self._thread: threading.Thread | None = None

    def _controller(self) -> Part:
        words = self.python("xce.ops.main", *self.controller_words())
        return Part("controller", words, self.folder / "controller.log", {})

    def python(self, module: str, *words: str) -> list[str]:
        """The command line that runs a module, with the fault that was planted."""
        planted = ["tests.kill.mutant", self._mutant] if self._mutant else []
        return [sys.executable, "-m", *planted, module, *words]

    def controller_words(self) -> list[str]:
        """What follows `xce`."""
        words = ["controller", "--home", str(self.home), "--cluster", str(self.file)]
        return [*words, "--database", self.database, "--allow-root"]

    def _agent(self, name: str, boot_id: str = "") -> Part:
        facts = self.folder / f"{name}.json"
        facts.write_bytes(msgspec.json.encode(read_site(self.file).emulated[name]))
        url = f"unix:{self.home}/api.sock"
        if parts() == APART:
            more = ("--facts", facts, "--boot-id", boot_id, "--poll", self._poll_ms / 1000)
            words = agent_words(name, self.home, url, *more, "--allow-root")
            return Part(name, self.python("xce.ops.main", *words), self.folder / f"{name}.log", {})
        config = AgentConfig(
            host=name,
            home=str(self.home),
            controllers=(url,),
            token_file="",
            facts_file=str(facts),
            allow_root=True,
            boot_id=boot_id,
            poll_wait_ms=self._poll_ms,
            retry_cap_s=0.5,
        )
        words = self.python("xce.agent", msgspec.json.encode(config).decode())
        return Part(name, words, self.folder / f"{name}.log", {})

    # -- lives -------------------------------------------------------------------------------
    def arm(self, part: str, point: str, arrival: int, host: str) -> None:
        """Let the N-th arrival at a point be the last thing that the part does."""
        wanted = {"XCE_CRASH_COUNTS": str(self.counts)}
        at = f"{point}:{arrival}"
        if part == "controller":
            self.controller.env = {**wanted, "XCE_CRASH_AT": at}
        elif part == "agent":
            self.agents[host].env = {**wanted, "XCE_CRASH_AT": at}
        else:
            self.agents[host].env = {**wanted, "XCE_CRASH_AT_SUPERVISOR": at}

    def arrivals(self, point: str) -> int:
        """How often the armed part arrived at a point."""
        path = self.counts / point
        return path.stat().st_size if path.exists() else 0

    def start(self) -> None:
        """Start the controller, then the agents; what dies is started again from now on."""
        self.controller.start()
        self._thread = threading.Thread(target=self._tend, daemon=True)
        self._thread.start()
        await_true((self.home / "api.sock").exists, UP_S, "the controller is not up")
        for name, agent in self.agents.items():
            make_folder(AgentConfig(host=name, home=str(self.home), controllers=("unix:/x",)))
            agent.start()

    def _tend(self) -> None:
        while not self._tending.wait(LOOK_S):
            self.controller.tend()
            for agent in list(self.agents.values()):
                if agent.process is not None or agent.codes:
                    agent.tend()

    def await_hosts(self) -> None:
        """Until every host is UP."""
        await_true(self._hosts_up, UP_S, "hosts did not join")

    def _hosts_up(self) -> bool:
        told = get(self.home, "/v1/hosts")
        up = [one for one in told["items"] if one["liveness"] == "UP"] if told else []
        return len(up) == len(self.names)

    def kill_host(self, host: str) -> None:
        """End a host's agent and supervisor as a host's death does; neither comes back."""
        agent = self.agents[host]
        agent.wanted = False
        holder = self.supervisor(host)
        agent.kill()
        if holder:
            kill_process(holder)

    def reboot(self, host: str) -> None:
        """End everything on a host, and let it come back with another boot id."""
        agent = self.agents[host]
        self.kill_host(host)
        await_true(lambda: agent.process is None, STOP_S, f"the agent of {host} does not die")
        if holder := self.supervisor(host):
            kill_process(holder)
        await_true(lambda: not self._swept(host), STOP_S, f"{host} is not empty")
        self._boots += 1
        agent.words = self._agent(host, f"boot-{self._boots}").words
        agent.wanted = True

    def _swept(self, host: str) -> set[int]:
        """Kill users' processes on a host; those that were there."""
        found = set(carriers(str(self.folder))) & set(carriers(f"XCE_HOST={host}"))
        for pid in found:
            kill_process(pid)
        return found

    def revive_host(self, host: str) -> None:
        """Let a host that was killed come back."""
        self.agents[host].wanted = True

    def supervisor(self, host: str) -> int:
        """The pid of a host's supervisor; 0 when there is none."""
        return holder_of(self.home / "hosts" / host / SUPERVISOR_LOCK)

    def stop(self, *, may_break: bool = False) -> list[str]:
        """End everything in order: what went wrong. A controller `may_break` at its last cut,
        when its database was away since its last commit."""
        faults = []
        with contextlib.suppress(AssertionError):
            await_true(self._all_live, REVIVED_S, "a part does not come back")
        self._tending.set()
        if self._thread is not None:
            self._thread.join()
        code = self.controller.stop()
        if code and not (may_break and code == EXIT_BROKEN):
            faults.append(f"the controller ended with {code}: {self.controller.said()}")
        for name, agent in self.agents.items():
            code = agent.stop()
            if code:
                faults.append(f"the agent of {name} ended with {code}: {agent.said()}")
        try:
            await_true(self._no_supervisors, STOP_S, "a supervisor stays")
        except AssertionError as error:
            faults.append(str(error))
        return faults

    def _all_live(self) -> bool:
        parts = [one for one in (self.controller, *self.agents.values()) if one.wanted]
        return all(one.process is not None and one.process.poll() is None for one in parts)

    def _no_supervisors(self) -> bool:
        return not any(self.supervisor(name) for name in self.names)

    def left_behind(self) -> list[int]:
        """Processes that carry the run's folder; those that a test run itself is made of not."""
        return [pid for pid in carriers(str(self.folder)) if pid != os.getpid()]

    def kill_all(self) -> None:
        """Whatever is left, at once."""
        self._tending.set()
        if self._thread is not None:
            self._thread.join()
        for part in (self.controller, *self.agents.values()):
            part.wanted = False
            part.kill()
            if part.process is not None:
                part.process.wait()
        for pid in self.left_behind():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def carriers(text: str) -> list[int]:
    """Processes with the text in their command line or environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as source:
                words = source.read()
            with open(f"/proc/{name}/environ", "rb") as source:
                words += source.read()
        except OSError:
            continue
        if text.encode() in words:
            found.append(int(name))
    return found


def await_true(what: Callable[[], bool], bound_s: float, why: str) -> None:
    """Until it holds; AssertionError with the reason when the time is over."""
    end_s = time.monotonic() + bound_s
    while not what():
        if time.monotonic() > end_s:
            raise AssertionError(f"{why} (after {bound_s:g} s)")
        time.sleep(LOOK_S)


__all__ = ["Cluster", "Part", "await_true", "carriers"]

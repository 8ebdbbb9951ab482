"""The agent's end of the line to its supervisor: start it, ask it, hear it.

A reader thread hands every event to the agent in order. When the supervisor dies the thread starts
another one, which replays the journal and tells what became of everything; requests sent meanwhile
are lost, which `sync` tells by raising, so that the controller's orders are fetched again.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import count

import msgspec

from xce import crashpoint
from xce.agent.settings import AgentConfig
from xce.agent.supervisor.serve import EXIT_DAMAGED
from xce.agent.supervisor.wire import VERSION, Lines, Message, PeerBroken

BOOT = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from xce.agent.supervisor.serve import main; sys.exit(main(*sys.argv[2:]))"
)
CONNECT_S = 20.0
CONNECT_PAUSE_S, CRASHED_PAUSE_S = 0.005, 0.2
SYNC_S = 30.0
PASSED_ON = ("PATH", "LANG", "TZ", crashpoint.COUNTS)
CRASH_AT = "XCE_CRASH_AT_SUPERVISOR"


class SupervisorLost(Exception):
    """The supervisor went away; what was asked may not be durable."""


def _package_root() -> str:
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Supervised:
    """The connection, made again as often as needed. `on_event` is called by the reader."""

    def __init__(
        self,
        config: AgentConfig,
        boot_id: str,
        on_event: Callable[[Message], None],
        on_fatal: Callable[[str], None],
    ) -> None:
        self._config = config
        self._boot_id = boot_id
        self._on_event = on_event
        self._on_fatal = on_fatal
        self._socket: socket.socket | None = None
        self._guard = threading.Lock()
        self._tokens = count(1)
        self._synced = 0
        self._life = 0
        self._changed = threading.Condition()
        self._child: subprocess.Popen[bytes] | None = None
        self._crash_at = os.environ.get(CRASH_AT, "")
        self._closing = False

    def open(self) -> None:
        """Connect, starting the supervisor where none runs, and begin to hear it."""
        self._connect()
        threading.Thread(target=self._read, name="supervisor", daemon=True).start()

    def send(self, *messages: object) -> bool:
        """Ask without waiting; False when it was certainly not sent."""
        data = b"".join(msgspec.json.encode(message) + b"\n" for message in messages)
        with self._guard:
            if self._socket is None:
                return False
            try:
                self._socket.sendall(data)
            except OSError:
                return False
        return True

    def ask(self, *messages: object) -> None:
        """Ask and return when all of it is durable.

        Everything goes over one connection together with the request for the answer, so an answer
        means that nothing of it was lost on the way.
        """
        with self._changed:
            life, token = self._life, next(self._tokens)
        if not self.send(*messages, {"do": "sync", "token": token}):
            raise SupervisorLost("the supervisor is being started again")
        with self._changed:
            self._changed.wait_for(lambda: self._synced >= token or self._life != life, SYNC_S)
            if self._synced < token:
                raise SupervisorLost("the supervisor went away or does not answer")

    def leave(self, *, drain: bool) -> None:
        """The agent goes: the supervisor ends when nothing runs, or after stopping all."""
        self._closing = True
        self.send({"do": "drain" if drain else "leave"})

    def wait_gone(self, timeout_s: float) -> None:
        """Wait until the supervisor has closed the line."""
        with self._changed:
            self._changed.wait_for(lambda: self._socket is None, timeout_s)

    # --- the reader -----------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while True:
                self._read_one_life()
                self._lose()
                if self._closing:
                    return
                self._connect()
        except SupervisorLost as error:
            self._on_fatal(str(error))

    def _read_one_life(self) -> None:
        sock, lines = self._socket, Lines()
        while sock is not None:
            try:
                data = sock.recv(1 << 18)
                messages = lines.feed(data)
            except (OSError, PeerBroken):
                return
            if not data:
                return
            for message in messages:
                self._hear(message)

    def _hear(self, message: Message) -> None:
        if message["event"] != "synced":
            if message["event"] == "listed" and message["version"] != VERSION:
                raise SupervisorLost(
                    f"a supervisor of version {message['version']} runs here, not {VERSION}; "
                    "it ends when its launches have"
                )
            self._on_event(message)
            return
        with self._changed:
            self._synced = message["token"]
            self._changed.notify_all()

    def _lose(self) -> None:
        with self._guard:
            if self._socket is not None:
                self._socket.close()
            self._socket = None
        with self._changed:
            self._life += 1
            self._changed.notify_all()

    def _connect(self) -> None:
        deadline_s = time.monotonic() + CONNECT_S
        while (sock := self._try()) is None:
            ended = self._child.poll() if self._child is not None else 0
            if ended == EXIT_DAMAGED:
                raise SupervisorLost(self._last_words())
            if ended is not None:
                self._start()
            if time.monotonic() > deadline_s:
                where = f"in {self._config.folder}"
                raise SupervisorLost(f"no supervisor comes up {where}: {self._last_words()}")
            time.sleep(CRASHED_PAUSE_S if ended else CONNECT_PAUSE_S)
        with self._guard:
            self._socket = sock
        self.send({"do": "hello"})

    def _last_words(self) -> str:
        with open(f"{self._config.folder}/supervisor.log", encoding="utf-8") as log:
            lines = log.read().splitlines()
        return lines[-1] if lines else "its log is empty"

    def _try(self) -> socket.socket | None:
        """Connect by way of the folder's descriptor, so that a long path does no harm."""
        folder = os.open(self._config.folder, os.O_PATH | os.O_DIRECTORY)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(f"/proc/self/fd/{folder}/supervisor.sock")
        except OSError:
            sock.close()
            return None
        finally:
            os.close(folder)
        return sock

    def _start(self) -> None:
        env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        if self._crash_at:
            env[crashpoint.AT], self._crash_at = self._crash_at, ""
        config = self._config
        root = "allow" if config.allow_root else "refuse"
        arguments = [_package_root(), config.folder, self._boot_id, config.cgroup, root]
        with open(f"{config.folder}/supervisor.log", "ab") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", BOOT, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=env,
                start_new_session=True,
            )

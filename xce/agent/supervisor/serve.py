"""The supervisor process: one thread, one loop, one commit per turn.

Started by the agent in a session of its own; outlives it. One agent is connected at a time, the
newest. It ends by itself when no agent is there and nothing runs: what it knows is in the
journal. SIGTERM brings every launch down first. A turn: wait, take exits, take requests, look at
children getting ready, commit, act; acting may note more, which is committed in the same turn.
"""

import fcntl
import gc
import os
import select
import signal
import socket
import sys
import time

from xce.agent.supervisor import kernel
from xce.agent.supervisor.core import Core
from xce.agent.supervisor.endings import Endings, now_us
from xce.agent.supervisor.journal import Journal, JournalDamaged, JournalFull
from xce.agent.supervisor.ledger import Ledger
from xce.agent.supervisor.processes.cgroup import Cgroups
from xce.agent.supervisor.recover import recover
from xce.agent.supervisor.wire import Channel, Message, PeerBroken, check

SOCKET, LOCK, JOURNAL, SCRIPTS = "supervisor.sock", "supervisor.lock", "journal", "scripts"
LINGER_S = 5.0
FULL_RETRY_S = 0.5
EXIT_DAMAGED = 3


class Server:
    """The loop around the core."""

    def __init__(self, listener: socket.socket, wake: int, ledger: Ledger) -> None:
        self.ledger = ledger
        self.core: Core
        self.is_leaving = False
        self.is_draining = False
        self.was_told_to_end = False
        self._listener = listener
        self._wake = wake
        self._channel: Channel | None = None
        self._alone_since_s = kernel.clock_s()

    def tell(self, message: Message) -> None:
        """Send an event to the agent; without one it is dropped, `listed` makes up for it."""
        if self._channel is not None:
            self._channel.send(message)

    def run(self) -> None:
        """Turn until nothing is left to do."""
        self._commit()
        while not self._is_done():
            self._turn()
        self._commit(is_idle=True)

    def _is_done(self) -> bool:
        if self.core.live or (self._channel is not None and self._channel.has_output):
            return False
        if self.is_leaving or self.is_draining:
            return True
        return self._channel is None and kernel.clock_s() > self._alone_since_s + LINGER_S

    def _turn(self) -> None:
        ready = self._wait()
        if self._wake in ready:
            os.read(self._wake, 4096)
            self.core.endings.reap()
        if self.was_told_to_end and not self.is_draining:
            self.drain()
        if self._listener.fileno() in ready:
            self._accept()
        elif self._channel is not None and self._channel.sock.fileno() in ready:
            self._receive(self._channel)
        for handle, live in self.core.fds():
            if handle in ready:
                self.core.look_at(live)
        self.core.endings.tick()
        self._commit(is_idle=not ready)

    def _wait(self) -> set[int]:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        poll.register(self._listener.fileno(), select.POLLIN)
        for handle, _ in self.core.fds():
            poll.register(handle, select.POLLIN)
        if self._channel is not None:
            events = select.POLLIN | (select.POLLOUT if self._channel.has_output else 0)
            poll.register(self._channel.sock.fileno(), events)
        wake_s = self.core.endings.next_wake_s()
        wait_s = LINGER_S if wake_s is None else min(wake_s, LINGER_S)
        return {handle for handle, _ in poll.poll(int(wait_s * 1000) + 1)}

    def _accept(self) -> None:
        sock, _ = self._listener.accept()
        self._drop()
        self._channel = Channel(sock)
        self.is_leaving = False

    def _drop(self) -> None:
        if self._channel is not None:
            self._channel.sock.close()
            self._channel = None
            self._alone_since_s = kernel.clock_s()

    def _receive(self, channel: Channel) -> None:
        try:
            messages = channel.receive()
            if messages is None:
                self._drop()
                return
            for message in messages:
                self._take(message)
        except PeerBroken as error:
            print(f"supervisor: the agent is dropped: {error}", file=sys.stderr, flush=True)
            self._drop()

    def _take(self, message: Message) -> None:
        what = check(message)
        if what == "leave":
            self.is_leaving = True
        elif what == "drain":
            self.drain()
        elif not (self.is_draining and what in ("prepare", "go")):
            self.core.handle(message)

    def drain(self) -> None:
        """Bring every launch down and end."""
        self.is_draining = True
        self.core.stop_all("stopped")

    def _commit(self, *, is_idle: bool = False) -> None:
        """Make what is waiting durable, then do what follows; what is lazy waits for idleness."""
        core = self.core
        while core.after or self.ledger.journal.is_urgent or is_idle:
            try:
                self.ledger.commit(is_idle=is_idle)
            except JournalFull as error:
                print(f"supervisor: {error}; waiting for space", file=sys.stderr, flush=True)
                time.sleep(FULL_RETRY_S)
                continue
            is_idle = False
            actions = list(core.after)
            core.after.clear()
            for action in actions:
                action()
        if self._channel is not None:
            try:
                self._channel.flush()
            except OSError:
                self._drop()
        self.ledger.tidy(now_us())


def _lock() -> int:
    handle = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(0)
    # Always of one length and never empty: somebody may read it now to know whom to signal.
    os.pwrite(handle, f"{os.getpid():<10}\n".encode(), 0)
    return handle


def _listen() -> socket.socket:
    """Relative to the host's folder, so that a long path does no harm."""
    if os.path.exists(SOCKET):
        os.unlink(SOCKET)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    listener.bind(SOCKET)
    os.umask(mask)
    listener.listen(4)
    listener.setblocking(False)
    return listener


def _signals(server: list[Server]) -> int:
    """The descriptor that tells of signals. SIGTERM drains; a terminal's signals are not ours."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.signal(signal.SIGTERM, lambda _number, _frame: _told_to_end(server))
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return reader


def _told_to_end(server: list[Server]) -> None:
    for one in server:
        one.was_told_to_end = True


def main(folder: str, boot_id: str, cgroup: str, root: str) -> int:
    """Run in the host's folder until nothing is left. `root`: "allow" lets uid 0 work run."""
    os.chdir(folder)
    lock = _lock()
    os.makedirs(SCRIPTS, mode=0o711, exist_ok=True)
    kernel.become_subreaper()
    kernel.raise_files()
    try:
        ledger = Ledger(Journal(os.path.abspath(JOURNAL)))
    except JournalDamaged as error:
        print(f"supervisor: {error}", file=sys.stderr, flush=True)
        return EXIT_DAMAGED
    holder: list[Server] = []
    server = Server(_listen(), _signals(holder), ledger)
    holder.append(server)
    server.core = Core(
        Endings(ledger, server.tell),
        Cgroups(cgroup, ledger.host_key),
        file_folder=os.path.abspath(SCRIPTS),
        allow_root=root == "allow",
    )
    recover(server.core, boot_id)
    gc.collect()
    gc.freeze()
    server.run()
    server.core.cgroups.close()
    os.close(lock)
    return 0

"""Lines of JSON over a unix socket, as agent and supervisor speak them.

The agent asks: hello, epoch, anchor, renewed, prepare, go, stop, signal, limit, freeze, ack, sync,
leave, drain.
The supervisor tells: listed (answer to hello), synced (all asked before is durable), armed,
started, frozen, ended, unkillable. `listed` says what the supervisor can beyond its first version;
it is asked for nothing else. A line is one object; order is kept in both directions. What the
other side
sends beyond `LINE_BYTES_MAX` without a line end is a broken peer.
"""

import json
import socket
from typing import Any

Message = dict[str, Any]
VERSION = 1
CAN = ("leases", "unkillable", "freezing")
LINE_BYTES_MAX = 64 << 20


_LAUNCH = {"launch": int, "generation": int}
SHAPES: dict[str, dict[str, type]] = {
    "hello": {},
    "epoch": {"epoch": int},
    "anchor": {"lsn": int, "hash": str},
    "renewed": {"at_us": int},
    "sync": {"token": int},
    "ack": {"launches": list},
    "prepare": {**_LAUNCH, "task": dict},
    "go": {**_LAUNCH, "go_env": dict},
    "stop": {**_LAUNCH, "reason": str},
    "signal": {**_LAUNCH, "seq": int, "name": str},
    "limit": {**_LAUNCH, "run_limit_us": int, "terminate_us": int},
    "freeze": {**_LAUNCH, "freeze": int},
    "leave": {},
    "drain": {},
}
TASK: dict[str, type] = {
    "command": list,
    "script": str,
    "cwd": str,
    "env": dict,
    "stdin": str,
    "stdout": str,
    "stderr": str,
    "user": str,
    "uid": int,
    "gid": int,
    "umask": int,
    "processes": int,
    "first_rank": int,
    "mem_bytes": int,
    "kill_grace_us": int,
    "run_limit_us": int,
    "ready_port": int,
}


class PeerBroken(Exception):
    """The other side sent what is no line of JSON, or no request."""


def check(request: Message) -> str:
    """The name of a request that has everything it needs."""
    name = request.get("do")
    shape = SHAPES.get(name) if isinstance(name, str) else None
    if shape is None or not isinstance(name, str):
        raise PeerBroken(f"no request is called {name!r}")
    _check_fields(name, request, shape)
    if request.get("task") is not None:
        if not isinstance(request["task"], dict):
            raise PeerBroken(f"{name}: its task is no object")
        _check_fields(f"{name}: task", request["task"], TASK)
        _check_files(f"{name}: task", request["task"].get("files", {}))
    return name


def _check_fields(what: str, found: Message, shape: dict[str, type]) -> None:
    for field, kind in shape.items():
        if not isinstance(found.get(field), kind):
            raise PeerBroken(f"{what}: '{field}' must be {kind.__name__}")


def _check_files(what: str, files: object) -> None:
    """Variables become parts of file names. An agent of before names no files."""
    if not isinstance(files, dict):
        raise PeerBroken(f"{what}: 'files' must be dict")
    for name, content in files.items():
        if not (name.isidentifier() and name.isascii() and isinstance(content, str)):
            raise PeerBroken(f"{what}: file {name!r} must be a variable with text")


def encode(message: Message) -> bytes:
    """One line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


class Lines:
    """Cuts what comes from a socket into messages."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Message]:
        """The messages that `data` completes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_BYTES_MAX:
            raise PeerBroken("a line has no end")
        try:
            found = [json.loads(line) for line in lines if line]
        except ValueError as error:
            raise PeerBroken(f"no JSON: {error}") from error
        if not all(isinstance(message, dict) for message in found):
            raise PeerBroken("a line is no object")
        return found


class Channel:
    """A connected socket that sends without ever blocking its owner."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.lines = Lines()
        self._out = b""

    @property
    def has_output(self) -> bool:
        """Whether something waits until the socket takes more."""
        return bool(self._out)

    def send(self, message: Message) -> None:
        """Put a message in line."""
        self._out += encode(message)

    def flush(self) -> None:
        """Send as much as the socket takes; OSError when the peer is gone."""
        while self._out:
            try:
                self._out = self._out[self.sock.send(self._out) :]
            except BlockingIOError:
                return

    def receive(self) -> list[Message] | None:
        """What has come; None when the peer is gone."""
        found: list[Message] = []
        while True:
            try:
                data = self.sock.recv(1 << 18)
            except BlockingIOError:
                return found
            except OSError:
                return found or None
            if not data:
                return found or None
            found += self.lines.feed(data)

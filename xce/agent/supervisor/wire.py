"""Lines of JSON over a unix socket, as agent and supervisor speak them.

The agent asks: hello, epoch, anchor, prepare, go, stop, signal, ack, sync, leave, drain.
The supervisor tells: listed (answer to hello), synced (all asked before is durable), armed,
started, ended. A line is one object; order is kept in both directions. What the other side sends
beyond `LINE_BYTES_MAX` without a line end is a broken peer.
"""

import json
import socket
from typing import Any

Message = dict[str, Any]
LINE_BYTES_MAX = 64 << 20


class PeerBroken(Exception):
    """The other side sent what is no line of JSON."""


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

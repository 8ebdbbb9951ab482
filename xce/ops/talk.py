"""Asking the API over the home's unix socket, for the demo and for commands of operators.

One request per connection, standard library only. Refusals are `Said` with the status and the
problem's text; a controller that is not there is `NobodyThere`.
"""

import http.client
import socket
from pathlib import Path
from typing import Any

import msgspec

from xce.ops.home import SOCKET_FILE

TIMEOUT_S = 75.0


class NobodyThere(Exception):
    """No controller answers on the home's socket."""


class Said(Exception):
    """The controller refused; `body` is its problem."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        hint = f" ({body['hint']})" if body.get("hint") else ""
        said = f"{body.get('detail') or body.get('title') or status}{hint}"
        # It may hold what somebody sent: a terminal is to show it, not to obey it.
        super().__init__("".join(c if c.isprintable() else repr(c)[1:-1] for c in said))
        self.status, self.body = status, body


class _OverUnix(http.client.HTTPConnection):
    """HTTP over the home's socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def ask(home: Path, method: str, path: str, body: Any = None) -> Any:
    """The decoded answer."""
    connection = _OverUnix(home / SOCKET_FILE)
    data = None if body is None else msgspec.json.encode(body)
    try:
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
    except OSError as error:
        raise NobodyThere(f"no controller answers on {home / SOCKET_FILE}: {error}") from error
    finally:
        connection.close()
    if answer.status >= 400:
        raise Said(answer.status, _problem(text))
    return msgspec.json.decode(text) if text else {}


def _problem(text: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        found = None
    return found if isinstance(found, dict) else {"detail": text.decode(errors="replace")}

"""HTTP/1.1 by hand: one request over a unix socket or loopback TCP. Standard library only.

Where the controller is: `--url` or XCE_URL (`unix:PATH` or `http://HOST:PORT`), else the socket
of the home (`--home`, XCE_HOME, `./.xce`, `~/.xce`). Over TCP the token of XCE_TOKEN or of the
home is sent. A request that was not sent at all may be tried again by anybody; one that was sent
and not answered may have happened: `Lost` says so, and only a repeat with the same idempotency
key is safe.
"""

from __future__ import annotations

import json
import os
import socket
import time

from xcecli.say import FAILED, NOT_ALLOWED, UNREACHABLE, USAGE, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONNECT_S = 5.0
ANSWER_S = 90.0
PATIENCE_S = 12.0
SOCKET, TOKEN = "api.sock", "token"
LOOPBACK = ("127.0.0.1", "localhost")
PORT_MAX = 65_535


_HEX = frozenset(b"0123456789abcdefABCDEF")


class Lost(Exception):
    """The request was sent and no whole answer came back."""


class NotReached(Exception):
    """Nobody was reached: nothing happened."""


class Place:
    """Where a controller is."""

    __slots__ = ("host", "path", "port", "shown", "token")

    def __init__(self, home: str = "", url: str = "") -> None:
        url = url or ("" if home else os.environ.get("XCE_URL", ""))
        home = home or os.environ.get("XCE_HOME", "")
        self.host, self.port, self.token, self.path = "", 0, "", ""
        if url.startswith("unix:"):
            self.path = url.removeprefix("unix:").removeprefix("//")
        elif url:
            self._tcp(url, home or _home())
        else:
            self.path = os.path.join(home or _home(), SOCKET)
        self.shown = self.path or url

    def _tcp(self, url: str, home: str) -> None:
        scheme, _, rest = url.partition("://")
        host, _, port = rest.rstrip("/").rpartition(":")
        fits = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= PORT_MAX
        if scheme != "http" or not host or not fits:
            raise Failure(f"XCE_URL: {url!r} is neither http://HOST:PORT nor unix:PATH", USAGE)
        if host not in LOOPBACK:
            # The token would travel in plain text, to whoever answers there.
            raise Failure(
                f"XCE_URL: {host} is not this machine", USAGE, "use http://127.0.0.1:PORT"
            )
        self.host, self.port = host, int(port)
        self.token = os.environ.get("XCE_TOKEN", "") or _token(os.path.join(home, TOKEN))

    def connect(self) -> socket.socket:
        """A connection; NotReached says that nothing was sent."""
        family = socket.AF_UNIX if self.path else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.settimeout(CONNECT_S)
        try:
            sock.connect(self.path or (self.host, self.port))
        except PermissionError:
            sock.close()
            raise Failure(f"{self.shown} may not be opened by you", NOT_ALLOWED) from None
        except OSError as error:
            sock.close()
            raise NotReached(error.strerror or str(error)) from None
        return sock


def working_directory() -> str:
    """Where we are; a directory that was removed under us is told."""
    try:
        return os.getcwd()
    except OSError as error:
        raise Failure(f"the current directory is gone: {error.strerror}", FAILED) from None


def _home() -> str:
    here = os.path.join(working_directory(), ".xce")
    return here if os.path.isdir(here) else os.path.expanduser("~/.xce")


def _token(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""
    except PermissionError:
        raise Failure(f"{path} may not be read by you; set XCE_TOKEN", NOT_ALLOWED) from None
    except (OSError, UnicodeDecodeError):
        raise Failure(f"{path} holds no token", FAILED) from None


def exchange(
    place: Place, method: str, path: str, body: bytes = b"", key: str = ""
) -> tuple[int, bytes]:
    """Status and body of one request."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {'localhost' if place.path else place.host}"]
    lines += ["Connection: close", f"Content-Length: {len(body)}"]
    if body:
        lines.append("Content-Type: application/json")
    if key:
        lines.append(f"Idempotency-Key: {key}")
    if place.token:
        lines.append(f"Authorization: Bearer {place.token}")
    head = "\r\n".join(lines).encode("latin-1", "replace")
    with place.connect() as sock:
        sock.settimeout(ANSWER_S)
        try:
            _send(sock, head + b"\r\n\r\n" + body)
            answer = _read(sock)
        except OSError as error:
            raise Lost(error.strerror or str(error)) from None
    return _parsed(answer)


def _send(sock: socket.socket, request: bytes) -> None:
    """A refusal may come before all is sent: then it is what is read next."""
    try:
        sock.sendall(request)
    except (BrokenPipeError, ConnectionResetError):
        return


def _read(sock: socket.socket) -> bytes:
    parts: list[bytes] = []
    while part := sock.recv(1 << 18):
        parts.append(part)
    return b"".join(parts)


def _parsed(answer: bytes) -> tuple[int, bytes]:
    head, mark, body = answer.partition(b"\r\n\r\n")
    status_line, *fields = head.split(b"\r\n")
    words = status_line.split()
    if not mark or len(words) < 2 or not words[1].isdigit():
        raise Lost("the answer broke off")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (field.partition(b":") for field in fields)
    }
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        return int(words[1]), _unchunked(body)
    length = headers.get(b"content-length", b"")
    if length.isdigit() and len(body) < int(length):
        raise Lost("the answer broke off")
    return int(words[1]), body


def _unchunked(body: bytes) -> bytes:
    parts: list[bytes] = []
    while True:
        size, mark, rest = body.partition(b"\r\n")
        digits = size.split(b";")[0].strip()
        if not mark or not 0 < len(digits) <= 8 or not set(digits) <= _HEX:
            raise Lost("the answer broke off")
        length = int(digits, 16)
        if length == 0:
            return b"".join(parts)
        if len(rest) < length + 2:
            raise Lost("the answer broke off")
        parts.append(rest[:length])
        body = rest[length + 2 :]


def call(
    place: Place, method: str, path: str, body: Any = None, *, key: str = "", unsure: str = ""
) -> tuple[int, Any]:
    """Status and decoded body, with patience: a busy controller is asked again, a lost
    connection too if the request is a reading one or has a key. `unsure` is what to tell when
    the outcome of a change stays unknown."""
    raw = b"" if body is None else json.dumps(body).encode()
    end = time.monotonic() + PATIENCE_S
    pause, sent = 0.05, False
    while True:
        left = end - time.monotonic()
        try:
            status, told = exchange(place, method, path, raw, key)
            if status != 503 or left <= 0:
                return status, _decoded(status, told)
        except Lost:
            sent = True
            if left <= 0 or not (key or method == "GET"):
                raise _unknown(place, unsure) from None
        except NotReached as error:
            if not sent:
                raise _unreached(place, str(error)) from None
            if left <= 0:
                raise _unknown(place, unsure) from None
        time.sleep(min(pause, max(left, 0.0)))
        pause = min(2 * pause, 1.0)


def _decoded(status: int, told: bytes) -> Any:
    try:
        body = json.loads(told) if told else {}
    except (ValueError, RecursionError):
        body = None
        if status >= 500:
            return {"detail": f"the controller failed ({status}); its log says why"}
    if not isinstance(body, dict):
        raise Failure("what answered is no XCE controller", UNREACHABLE)
    return body


def _unreached(place: Place, why: str) -> Failure:
    return Failure(
        f"No controller answers at {place.shown}: {why}",
        UNREACHABLE,
        "start one with `xce up`, or say where it is with --home, XCE_HOME or XCE_URL",
    )


def _unknown(place: Place, unsure: str) -> Failure:
    lost = f"The connection to {place.shown} was lost"
    return Failure(f"{lost}{'; ' + unsure if unsure else ''}", UNREACHABLE)

"""HTTP to the controller: one kept-alive connection per user of a `Line`, outbound only.

Addresses are tried in turn; one that does not answer, or says it does not lead (421), makes way
for the next or for the leader it names. `Unreachable` means try again later. `Refused` means that
the controller will not have this agent (wrong token, unknown or cloned host, other protocol):
trying again would not help and the text says why.
"""

import http.client
import json
import socket
import threading
from urllib.parse import urlsplit

RETRY = {408, 425, 429}
MISDIRECTED = 421
STEADY_S, PAUSE_FIRST_S, PAUSE_CAP_S = 60.0, 0.2, 30.0
CLONED = "cloned_identity"


class Unreachable(Exception):
    """No controller answered; try again later."""


class Refused(Exception):
    """The controller will not have this agent; `code` is the problem's."""

    def __init__(self, why: str, code: str = "") -> None:
        super().__init__(why)
        self.code = code


class Place:
    """The pauses of an agent that loses its place, or does not get it, to another of its name."""

    def __init__(self, wait_s: float) -> None:
        self.tries = 0
        self._wait_s = wait_s
        self._since_s = 0.0
        self._took_s = 0.0
        self._pause_s = 0.0

    def pause_s(self, now_s: float) -> float:
        """How long to wait before it registers: ever longer while it is put out soon after."""
        if self._took_s:
            soon = now_s - self._took_s < STEADY_S
            grown_s = min(PAUSE_CAP_S, max(PAUSE_FIRST_S, 2 * self._pause_s))
            self._pause_s = grown_s if soon else 0.0
            self._took_s = 0.0
            return self._pause_s
        return 0.0

    def took(self, now_s: float) -> None:
        """It is registered."""
        self.tries, self._took_s = 0, now_s

    def is_taken(self, now_s: float) -> bool:
        """The name is another's now; whether that was so for long enough to give up."""
        self.tries += 1
        self._since_s = now_s if self.tries == 1 else self._since_s
        return now_s - self._since_s >= self._wait_s


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the path."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connection(url: str, timeout_s: float) -> http.client.HTTPConnection:
    if url.startswith("unix:"):
        return _UnixConnection(url.removeprefix("unix:").removeprefix("//"), timeout_s)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused(f"'{url}' is no controller address; expected http://HOST:PORT or unix:/PATH")
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout_s)
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)


class Addresses:
    """The controllers, and which of them is spoken to now. Shared by the lines of an agent."""

    def __init__(self, urls: tuple[str, ...]) -> None:
        if not urls:
            raise Refused(
                "no controller address was given; expected http://HOST:PORT or unix:/PATH"
            )
        self._urls = list(urls)
        self._at = 0
        self._guard = threading.Lock()

    def current(self) -> str:
        """The address to speak to."""
        with self._guard:
            return self._urls[self._at]

    def leave(self, url: str, leader: str = "") -> None:
        """`url` did not serve; go to the leader it named, else to the next."""
        with self._guard:
            if self._urls[self._at] != url:
                return
            if leader and leader not in self._urls:
                self._urls.append(leader)
            self._at = self._urls.index(leader) if leader else (self._at + 1) % len(self._urls)


class Line:
    """One connection for one thread."""

    def __init__(self, addresses: Addresses, token: str, timeout_s: float) -> None:
        self._addresses = addresses
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._timeout_s = timeout_s
        self._url = ""
        self._connection: http.client.HTTPConnection | None = None

    def post(self, path: str, body: bytes) -> bytes:
        """The body of a good answer."""
        status, answer = self._exchange(path, body)
        if status == MISDIRECTED:
            self._addresses.leave(self._url, _field(answer, "leader"))
        elif 200 <= status < 300:
            return answer
        elif 400 <= status < 500 and status not in RETRY:
            why = f"{self._url} refused {path} ({status}): {_reason(answer)}"
            raise Refused(why, _field(answer, "code"))
        elif status >= 500:
            self._addresses.leave(self._url)
        raise Unreachable(f"{self._url} answered {status}: {_reason(answer)}")

    def _exchange(self, path: str, body: bytes) -> tuple[int, bytes]:
        url = self._addresses.current()
        if url != self._url:
            self.close()
            self._url = url
        had_connection = self._connection is not None
        try:
            return self._once(path, body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            # A kept-alive connection may have been closed by the other side meanwhile.
            if not had_connection or isinstance(error, TimeoutError):
                self._addresses.leave(url)
                raise Unreachable(f"{url}: {error}") from error
        try:
            return self._once(path, body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            self._addresses.leave(url)
            raise Unreachable(f"{url}: {error}") from error

    def _once(self, path: str, body: bytes) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = _connection(self._url, self._timeout_s)
        self._connection.request("POST", path, body, self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        """Close the connection; the next post opens one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _field(answer: bytes, name: str) -> str:
    try:
        found = json.loads(answer)
    except ValueError:
        return ""
    value = found.get(name, "") if isinstance(found, dict) else ""
    return value if isinstance(value, str) else ""


def _reason(answer: bytes) -> str:
    text = _field(answer, "detail") or _field(answer, "title")
    hint = _field(answer, "hint")
    if text and hint:
        return f"{text}; {hint}"
    return text or answer[:200].decode(errors="replace") or "no reason given"

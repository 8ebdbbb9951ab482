"""A client that does what a good one should: one key per submission, and asking again.

Whatever is no clear answer (a closed connection, a controller that is not there, 503) is asked
again under the same key. What was answered is kept: it is what the controller must stand by.
"""

import http.client
import json
import random
import socket
import threading
import time
from pathlib import Path
from typing import Any

from tests.kill.work import Piece

AGAIN_S = 0.05
RESENT_SHARE = 0.2


class GaveUp(AssertionError):
    """No clear answer within the bound."""


class Refused(AssertionError):
    """The controller said no."""


class Line(http.client.HTTPConnection):
    """HTTP over the home's unix socket."""

    def __init__(self, path: Path, timeout_s: float = 20.0) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def ask(home: Path, method: str, path: str, body: Any = None, key: str = "") -> tuple[int, Any]:
    """One request: status and decoded answer. OSError or HTTPException when there is none."""
    line = Line(home / "api.sock")
    try:
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        data = None if body is None else json.dumps(body).encode()
        line.request(method, path, data, headers)
        answer = line.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else {}
    finally:
        line.close()


def get(home: Path, path: str) -> Any:
    """What a GET answers; None while nobody answers it well."""
    try:
        status, body = ask(home, "GET", path)
    except (OSError, http.client.HTTPException, ValueError):
        return None
    return body if status == 200 else None


class Acks:
    """What was answered, by key: the id, and how often it was asked."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        self.asked = 0
        self.faults: list[str] = []
        self._guard = threading.Lock()

    def note(self, key: str, entity: str) -> None:
        """An answer; a second one under a key must say the same."""
        with self._guard:
            before = self.ids.setdefault(key, entity)
            if before != entity:
                self.faults.append(f"key {key} was answered with {before}, then with {entity}")

    def asks(self) -> None:
        """One more request went out."""
        with self._guard:
            self.asked += 1


class Submitter(threading.Thread):
    """One client: submits its pieces in order, some of them a second time."""

    def __init__(
        self, home: Path, pieces: list[Piece], acks: Acks, seed: str, end_s: float
    ) -> None:
        super().__init__(daemon=True)
        self._home = home
        self._pieces = pieces
        self._acks = acks
        self._random = random.Random(seed)
        self._end_s = end_s

    def run(self) -> None:
        """Until everything was answered, or the time is over."""
        try:
            for piece in self._pieces:
                self._submit(piece)
                if self._random.random() < RESENT_SHARE:
                    self._submit(piece)
        except AssertionError as error:
            self._acks.faults.append(str(error))

    def _submit(self, piece: Piece) -> None:
        body = self._until_clear(piece.path, piece.body, piece.key, (201,))
        entity = str(body.get("job") or body.get("group"))
        self._acks.note(piece.key, entity)
        if piece.is_cut:
            time.sleep(self._random.choice([0.0, 0.2, 0.8]))
            self._until_clear(f"{piece.path}/{entity}/kill", {}, f"cut-{piece.key}", (202, 409))

    def _until_clear(self, path: str, body: Any, key: str, good: tuple[int, ...]) -> Any:
        """Ask until there is a clear answer."""
        while time.monotonic() < self._end_s:
            self._acks.asks()
            try:
                status, told = ask(self._home, "POST", path, body, key)
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(AGAIN_S)
                continue
            if status == 503:
                time.sleep(AGAIN_S)
                continue
            if status not in good:
                raise Refused(f"{key}: {status} {told}")
            return told
        raise GaveUp(f"{key} was not answered in time")

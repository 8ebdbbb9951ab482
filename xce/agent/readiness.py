"""Readiness of launches: whether the port that makes a role ready accepts connections.

One thread looks at all ports that are waited for, every `PAUSE_S`, and ends when there are none.
A port is tried on the host's own address and on loopback. That a launch became ready is told once;
a launch that ends first is forgotten.
"""

import socket
import threading
import time
from collections.abc import Callable

PAUSE_S = 0.05
CONNECT_S = 0.2


class PortProbes:
    """The ports waited for. `tell` is called with launch and generation."""

    def __init__(self, addresses: tuple[str, ...], tell: Callable[[int, int], None]) -> None:
        self._addresses = tuple(dict.fromkeys(addresses))
        self._tell = tell
        self._guard = threading.Lock()
        self._waiting: dict[int, tuple[int, int]] = {}
        self._told: set[int] = set()
        self._is_looking = False

    def watch(self, launch: int, generation: int, port: int) -> None:
        """Wait for a port, unless it was found open before."""
        with self._guard:
            if launch in self._told:
                return
            self._waiting[launch] = (generation, port)
            if self._is_looking:
                return
            self._is_looking = True
        threading.Thread(target=self._look, name="readiness", daemon=True).start()

    def forget(self, launch: int) -> None:
        """The launch is over."""
        with self._guard:
            self._waiting.pop(launch, None)
            self._told.discard(launch)

    def _look(self) -> None:
        while True:
            with self._guard:
                if not self._waiting:
                    self._is_looking = False
                    return
                waiting = dict(self._waiting)
            for launch, (generation, port) in waiting.items():
                if self._is_open(port):
                    self._found(launch, generation)
            time.sleep(PAUSE_S)

    def _found(self, launch: int, generation: int) -> None:
        with self._guard:
            if self._waiting.pop(launch, None) is None:
                return
            self._told.add(launch)
        self._tell(launch, generation)

    def _is_open(self, port: int) -> bool:
        for address in self._addresses:
            try:
                socket.create_connection((address, port), CONNECT_S).close()
            except OSError:
                continue
            return True
        return False

"""`port`: a TCP port of the host that a claim holds, READY when it can be bound.

The number (or several, with commas) is in the parameter `port`; the value is `address:port`. The
port is not kept open: the claim is what keeps others of ours away. A port that a stranger uses is
tried again for a while (a process that just ended may still be letting go of it).
"""

import socket
import time

from xce.providers.contract import Place, Provider, ProviderFailed, Request

PATIENCE_S = 5.0
PAUSE_S = 0.05


class PortProvider(Provider):
    """Ports of the host's address."""

    name = "port"

    def __init__(self, place: Place) -> None:
        self._address = place.address

    def provision(self, request: Request) -> str:
        """See that each port can be bound."""
        text = request.parameters.get("port", "")
        ports = [part.strip() for part in text.split(",") if part.strip()]
        if not ports or not all(part.isdigit() and 0 < int(part) < 65536 for part in ports):
            raise ProviderFailed(f"port={text!r} is no port number")
        for part in ports:
            self._await_free(int(part), request)
        return ",".join(f"{self._address}:{part}" for part in ports)

    def _await_free(self, port: int, request: Request) -> None:
        until_s = time.monotonic() + PATIENCE_S
        while (why := self._why_taken(port)) is not None:
            if time.monotonic() > until_s or request.cancelled.wait(PAUSE_S):
                raise ProviderFailed(f"port {port} of {self._address} cannot be bound: {why}")

    def _why_taken(self, port: int) -> str | None:
        family = socket.AF_INET6 if ":" in self._address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self._address, port))
                probe.listen(1)
            except OSError as error:
                return error.strerror or str(error)
        return None

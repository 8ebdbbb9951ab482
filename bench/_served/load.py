"""Clients for the benchmarks: raw HTTP/1.1 over a unix socket, as little in the way as possible.

Each client keeps one connection and sends its next request when the answer to the last one is
there; an answer is durable by the controller's own rule. Nothing is retried: any answer but the
expected one ends the benchmark.
"""

import asyncio
import json
import time
from typing import Any

JOB = {"command": ["/bin/true"], "cwd": "/tmp", "stdout": "/dev/null"}


class Client:
    """One connection."""

    def __init__(self, socket_path: str) -> None:
        self._path = socket_path
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> "Client":
        self._reader, self._writer = await asyncio.open_unix_connection(self._path)
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._writer is not None
        self._writer.close()
        await self._writer.wait_closed()

    async def ask(self, method: str, path: str, body: bytes = b"", kind: str = "json") -> Any:
        """One request; the decoded answer. Raises RuntimeError on a status of 400 and more."""
        assert self._reader is not None and self._writer is not None
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/{kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        status, length = await self._head()
        content = await self._reader.readexactly(length)
        if status >= 400:
            raise RuntimeError(f"{method} {path}: {status} {content.decode()[:300]}")
        return content

    async def _head(self) -> tuple[int, int]:
        assert self._reader is not None
        text = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = text.partition("content-length:")[2].partition("\r\n")[0]
        return int(text.split(None, 2)[1]), int(length or 0)

    async def get(self, path: str) -> Any:
        """The answer to a GET, decoded."""
        return json.loads(await self.ask("GET", path))


async def submit_many(path: str, clients: int, jobs: int, body: bytes) -> tuple[float, list[float]]:
    """Submit `jobs` jobs over `clients` connections: seconds in all, seconds of each."""
    times: list[float] = []
    left = iter(range(jobs))

    async def work() -> None:
        async with Client(path) as client:
            for _ in left:
                began = time.perf_counter()
                await client.ask("POST", "/v1/jobs", body)
                times.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    return time.perf_counter() - began, times


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

"""What a hostile client sends: odd heads, foreign hosts, slow and endless requests, deep bodies."""

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import Test
from tests.api.engine import MemoryEngine, run, served
from xce.api import serve

JOB = {"command": ["true"], "cwd": "/tmp"}


def speak(home: Path, said: bytes, *, more: bytes = b"", times: int = 0) -> bytes:
    """All that a served engine answers to raw bytes on one connection."""

    async def main() -> bytes:
        async with served(home):
            reader, writer = await asyncio.open_unix_connection(str(home / "api.sock"))
            writer.write(said)
            told = b""
            try:
                for _ in range(times):
                    writer.write(more)
                    await writer.drain()
                told = await asyncio.wait_for(reader.read(), 5)
            except ConnectionError:
                told = await reader.read()
            writer.close()
            return told

    told: bytes = run(main())
    return told


def body_of(told: bytes) -> dict[str, object]:
    loaded: dict[str, object] = json.loads(told.partition(b"\r\n\r\n")[2])
    return loaded


def head(line: str, **headers: str) -> bytes:
    lines = [line, "Connection: close", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize("host", ["[", "x/y?z=", "a@b:c", "", "\xff"])
def test_a_path_is_the_one_that_was_routed_whatever_the_host_header(
    tmp_path: Path, host: str
) -> None:
    told = body_of(speak(tmp_path, head("GET /nothing HTTP/1.1", Host=host)))
    assert told["detail"] == "there is nothing at /nothing"


def test_an_idempotency_key_does_not_depend_on_the_host_header(tmp_path: Path) -> None:
    body = json.dumps(JOB).encode()

    async def main() -> list[int]:
        codes = []
        async with served(tmp_path):
            for host in ("localhost", "[", "other/x?"):
                reader, writer = await asyncio.open_unix_connection(str(tmp_path / "api.sock"))
                length = {"Content-Length": str(len(body)), "Idempotency-Key": "k"}
                writer.write(head("POST /v1/jobs HTTP/1.1", Host=host, **length) + body)
                codes.append(int((await reader.read()).split()[1]))
                writer.close()
        return codes

    assert run(main()) == [201, 201, 201]


@pytest.mark.parametrize(
    ("extra", "status"),
    [
        (b"Origin: \r\n", 403),
        (b"Origin: null\r\n", 403),
        (b"Origin: http://a\r\nOrigin: \r\n", 400),
        (b"Host: a\r\nHost: b\r\n", 400),
        (b"Authorization: Bearer x\r\nAuthorization: Bearer y\r\n", 400),
        (b"Sec-Fetch-Site: Cross-Site\r\n", 403),
    ],
)
def test_headers_that_two_readers_could_read_in_two_ways_are_refused(
    tmp_path: Path, extra: bytes, status: int
) -> None:
    host = b"" if extra.startswith(b"Host") else b"Host: localhost\r\n"
    told = speak(tmp_path, b"GET /v1/jobs HTTP/1.1\r\n" + host + extra + b"\r\n")
    assert told.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"\r\nconnection: close\r\n" in told


@pytest.mark.parametrize(
    "query",
    ["cursor=%C2%B2", "cursor=%D9%A3", "cursor=-1", "cursor=" + "9" * 19, "limit=nan", "limit=0"],
)
def test_what_only_looks_like_a_number_is_refused(
    over_socket: Callable[[Test], None], query: str
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        assert (await client.get(f"/v1/jobs?{query}")).status_code == 400

    over_socket(test)


def test_an_id_has_one_spelling_and_its_story_is_found_by_the_others(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json=JOB)
        assert (await client.get("/v1/jobs/\u0661")).status_code == 404
        assert (await client.get("/v1/jobs/001/history")).json()["entity"] == "1"
        assert (await client.get("/v1/jobs/001/explain")).json()["reason"]["code"]
        assert (await client.get("/v1/jobs/")).json()["code"] == "not_found"

    over_socket(test)


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/groups", "/v1/groups:dry-run"])
@pytest.mark.parametrize("body", ['{"manifest":' + "[" * 50_000, "[" * 50_000, '{"env":{"a":[[[['])
def test_deep_and_broken_bodies_are_problems(
    over_socket: Callable[[Test], None], path: str, body: str
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        told = await client.post(path, content=body)
        assert told.status_code in (400, 422)
        assert told.headers["content-type"] == "application/problem+json"

    over_socket(test)


def test_an_unknown_verb_is_told_by_its_own_code(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        told = await client.put("/v1/jobs", json={})
        assert (told.status_code, told.json()["status"]) == (405, 405)
        assert told.json()["code"] == "method_not_allowed"

    over_socket(test)


def test_a_fault_of_ours_is_told_as_one_and_logged_once(
    over_socket: Callable[[Test], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        del engine.state
        for answer in (
            await client.get("/v1/hosts"),
            await client.post("/v1/jobs", json=JOB),
        ):
            assert (answer.status_code, answer.json()["code"]) == (500, "internal")
            assert "Traceback" not in answer.text

    with caplog.at_level(logging.ERROR):
        over_socket(test)
    assert [record.name for record in caplog.records] == ["xce.api", "xce.api"]


def test_who_leaves_in_the_middle_of_a_body_is_no_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> int:
        async with served(tmp_path) as (engine, _):
            for path in ("/v1/jobs", "/v1/groups", "/v1/jobs:batch"):
                _, writer = await asyncio.open_unix_connection(str(tmp_path / "api.sock"))
                writer.write(
                    f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{{".encode()
                )
                await writer.drain()
                writer.close()
                await writer.wait_closed()
            await asyncio.sleep(0.05)
            return len(engine.state.jobs)

    assert run(main()) == 0
    assert not caplog.records


def test_a_body_that_is_too_large_closes_the_connection(tmp_path: Path) -> None:
    said = b"POST /v1/jobs/1/kill HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    told = speak(tmp_path, said, more=chunk, times=17)
    assert told.startswith(b"HTTP/1.1 413 ")
    assert b"\r\nconnection: close\r\n" in told


@pytest.mark.parametrize("begin", [b"GET /v1/jobs?name=", b"GET / HTTP/1.1\r\nHost: x\r\nA: "])
def test_a_head_has_a_largest_size(tmp_path: Path, begin: bytes) -> None:
    told = speak(tmp_path, begin, more=b"a" * 4096, times=40)
    assert told.startswith(b"HTTP/1.1 431 ")
    assert body_of(told)["detail"] == "the request's head has more than 64 KiB"


@pytest.mark.parametrize(
    "begin", [b"", b"GET /v1/jobs HT", b"POST /v1/jobs HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"]
)
def test_who_says_nothing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    monkeypatch.setattr(serve, "HEAD_S", 0.1)
    monkeypatch.setattr(serve, "BODY_S", 0.1)
    assert speak(tmp_path, begin) == b""


def test_a_long_poll_is_not_taken_for_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "HEAD_S", 0.05)
    monkeypatch.setattr(serve, "BODY_S", 0.05)
    told = speak(tmp_path, head("GET /v1/events?after=99&wait=0.3 HTTP/1.1", Host="x"))
    assert told.startswith(b"HTTP/1.1 200 ")


def test_one_user_cannot_hold_all_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "CONNECTIONS_PER_UID_MAX", 2)
    monkeypatch.setattr(serve.os, "getuid", lambda: 77)
    monkeypatch.setattr(serve, "_CREDENTIALS", Credentials())

    async def main() -> list[bytes]:
        async with served(tmp_path):
            told, held = [], []
            for _ in range(3):
                reader, writer = await asyncio.open_unix_connection(str(tmp_path / "api.sock"))
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                told.append((await reader.readline()).split()[1])
                held.append(writer)
            held[0].close()
            await asyncio.sleep(0.05)
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "api.sock"))
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            told.append((await reader.readline()).split()[1])
            for one in (*held, writer):
                one.close()
            return told

    assert run(main()) == [b"200", b"200", b"503", b"200"]


class Credentials:
    """Reads every peer as uid 1000."""

    size = 12

    def unpack(self, raw: bytes) -> tuple[int, int, int]:
        return (1, 1000, 1000)

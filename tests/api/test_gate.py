"""Who may come in: peers, tokens, hosts, browsers, large bodies; and what listening refuses."""

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import Test
from tests.api.engine import MemoryEngine, run, served
from xce.api.gate import Doors, Gate
from xce.api.serve import CannotServe, Service, token_of
from xce.model.actor import Actor

DOORS = Doors(
    own_uid=500, own_gid=500, token="t" * 64, agent_token="a" * 64, operators=lambda: (7,)
)


def knock(path: str, state: dict[str, int], **headers: str) -> tuple[int, Actor | None]:
    """What the gate answers, and the actor that an inner application would see."""
    seen: list[Actor | None] = []
    sent: list[int] = []

    async def inner(scope: object, receive: object, send: object) -> None:
        seen.append(scope["state"]["actor"])  # type: ignore[index]

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            sent.append(message["status"])  # type: ignore[arg-type]

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b""}

    raw = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    scope = {"type": "http", "method": "GET", "path": path, "headers": raw, "state": dict(state)}
    run(Gate(inner, DOORS)(scope, receive, send))  # type: ignore[arg-type]
    return (sent[0], None) if sent else (200, seen[0])


PEER = {"peer_uid": 1000, "peer_gid": 1000}
LOOPBACK = {"host": "127.0.0.1:7070"}


@pytest.mark.parametrize(
    ("uid", "kind"), [(0, "admin"), (500, "admin"), (7, "operator"), (1000, "user")]
)
def test_the_peer_of_the_unix_socket_is_known_by_its_uid(uid: int, kind: str) -> None:
    assert knock("/v1/jobs", {"peer_uid": uid, "peer_gid": uid}) == (200, Actor(kind=kind, uid=uid))


def test_tcp_without_a_token_is_not_authenticated() -> None:
    assert knock("/v1/jobs", {}, **LOOPBACK)[0] == 401


def test_a_wrong_token_is_not_authenticated_even_on_the_unix_socket() -> None:
    assert knock("/v1/jobs", PEER, authorization="Bearer nope")[0] == 401


def test_the_token_speaks_for_the_servers_own_uid() -> None:
    told = knock("/v1/jobs", {}, authorization=f"Bearer {'t' * 64}", **LOOPBACK)
    assert told == (200, Actor(kind="admin", uid=500))


def test_agents_reach_their_routes_only_and_users_do_not_reach_them() -> None:
    agent = {"authorization": f"Bearer {'a' * 64}", **LOOPBACK}
    assert knock("/v1/agents/n1/poll", {}, **agent) == (200, Actor(kind="host"))
    assert knock("/v1/jobs", {}, **agent)[0] == 403
    assert knock("/v1/agents/n1/poll", PEER)[0] == 403


def test_health_needs_no_identity() -> None:
    assert knock("/healthz", {}, **LOOPBACK) == (200, None)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7070", "", "127.0.0.1.evil.example"]
)
def test_a_foreign_host_name_is_refused_on_tcp(host: str) -> None:
    assert knock("/healthz", {}, host=host)[0] == 403


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1:80", "[::1]:80", "[::1]"])
def test_loopback_names_are_taken(host: str) -> None:
    assert knock("/healthz", {}, host=host)[0] == 200


def test_web_pages_are_refused() -> None:
    assert knock("/v1/jobs", PEER, origin="http://127.0.0.1")[0] == 403
    assert knock("/v1/jobs", PEER, sec_fetch_site="cross-site")[0] == 403


def test_bodies_are_capped_by_header_and_by_count(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        told = await client.post("/v1/jobs/1/kill", content=b"x" * ((1 << 20) + 1))
        assert (told.status_code, told.json()["code"]) == (413, "too_large")

        async def stream():  # type: ignore[no-untyped-def]
            for _ in range(17):
                yield b"x" * (1 << 16)

        streamed = await client.post("/v1/jobs/1/kill", content=stream())
        assert (streamed.status_code, streamed.json()["code"]) == (413, "too_large")

    over_socket(test)


def test_tokens_are_private_files_that_are_made_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    first = token_of(path)
    assert len(first) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token_of(path) == first
    path.chmod(0o644)
    with pytest.raises(CannotServe, match="can be read by others"):
        token_of(path)


def test_tcp_with_the_token_works_end_to_end(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(tmp_path) as (_, service):
            token = (tmp_path / "token").read_text().strip()
            url = f"http://127.0.0.1:{service.port}"
            async with httpx.AsyncClient(base_url=url) as client:
                assert (await client.get("/v1/jobs")).status_code == 401
                bearer = {"Authorization": f"Bearer {token}"}
                assert (await client.get("/v1/jobs", headers=bearer)).status_code == 200
                ready = (await client.get("/readyz")).json()
                assert (ready["epoch"], ready["lsn"]) == (1, 2)
                log = (await client.get("/version")).json()["log"]
                assert log["durability"] == {"durable": "no"}

    run(main())


def test_a_port_in_use_is_told_and_leaves_no_socket(tmp_path: Path) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(CannotServe, match=f"cannot listen on port {port}"):
                await Service(MemoryEngine(), tmp_path, port).start()
        assert not (tmp_path / "api.sock").exists()

    run(main())


def test_a_socket_left_by_a_killed_server_is_replaced_and_a_live_one_is_not(tmp_path: Path) -> None:
    async def main() -> None:
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(tmp_path / "api.sock"))
        left.close()
        async with served(tmp_path):
            with pytest.raises(CannotServe, match="another server answers"):
                await Service(MemoryEngine(), tmp_path).start()

    run(main())


@pytest.mark.skipif(os.getuid() != 0, reason="needs to become another user")
def test_another_user_on_the_socket_is_that_user(tmp_path: Path) -> None:
    import asyncio
    import tempfile

    script = (
        "import os, socket, sys; os.setgid(4242); os.setuid(4242);"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
        'b = b\'{"command": ["true"]}\';'
        "s.sendall(b'POST /v1/jobs HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n'"
        "b'Content-Length: %d\\r\\n\\r\\n' % len(b) + b); print(s.recv(65536).decode())"
    )

    async def main(home: Path) -> None:
        async with served(home) as (engine, _):
            command = [sys.executable, "-c", script, str(home / "api.sock")]
            told = await asyncio.to_thread(
                subprocess.run, command, capture_output=True, text=True, timeout=20
            )
            assert "201 Created" in told.stdout, told.stderr
            spec = engine.state.specs[engine.state.jobs[1].spec]
            assert (engine.state.jobs[1].owner, spec.user, spec.gid) == (4242, "4242", 4242)

    with tempfile.TemporaryDirectory() as text:
        Path(text).chmod(0o755)
        run(main(Path(text)))

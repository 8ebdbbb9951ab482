"""Registrations over HTTP: what journals say reaches decide, and refusals reach people."""

from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import msgspec

from tests.api.engine import MemoryEngine
from xce.controller.core.commands import RegisterHost
from xce.dispatch.protocol import PROTOCOL, Register
from xce.model.host import HostFacts

Test = Callable[[MemoryEngine, httpx.AsyncClient], Coroutine[Any, Any, None]]


async def register(client: httpx.AsyncClient, **fields: Any) -> httpx.Response:
    known = {"protocol": PROTOCOL, "host": "n1", "boot_id": "b", "facts": HostFacts(), **fields}
    body = msgspec.json.encode(Register(**known))
    return await client.post("/v1/agents/n1/register", content=body)


def test_what_the_journal_says_is_decided_upon(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        said = {"agent": "key", "log_id": "ab", "epoch": 1, "anchor_lsn": 2, "anchor_hash": "cd"}
        told = (await register(client, **said)).json()
        assert (told["incarnation"], told["log_id"]) == (1, "")
        asked = engine.commands[-1]
        assert isinstance(asked, RegisterHost)
        assert {name: getattr(asked, name) for name in said} == said
        assert engine.state.hosts["n1"].agent == "key"

    over_socket(test)


def test_a_message_of_an_older_agent_is_understood(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        body = b'{"protocol": 1, "host": "n1", "boot_id": "b", "facts": {}}'
        assert (await client.post("/v1/agents/n1/register", content=body)).status_code == 200

    over_socket(test)


def test_a_host_ahead_of_the_log_is_refused_as_a_problem(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        answer = await register(client, epoch=9, anchor_lsn=7, anchor_hash="cd")
        told = answer.json()
        assert (answer.status_code, told["code"]) == (422, "log_behind")
        assert told["detail"].endswith("it is an older copy")
        assert "move the folder hosts/n1" in told["hint"]
        assert "n1" not in engine.state.hosts

    over_socket(test)


def test_refused_hosts_are_listed_known_or_not(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        engine.add_host("n1")
        engine.add_host("n2")
        engine.refused.update({"n1": "two agents", "n9": "another log"})
        told = (await client.get("/v1/hosts")).json()
        assert [(one["name"], one["refused"]) for one in told["items"]] == [
            ("n1", "two agents"), ("n2", None),
        ]  # fmt: skip
        assert told["strangers"] == [{"name": "n9", "refused": "another log"}]

    over_socket(test)

"""Numbers that no machine word holds, in every field of every body: told, and nothing ends."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.conftest import Test
from tests.api.engine import MemoryEngine

JOB = {"command": ["true"], "cwd": "/tmp"}
KEPT = {"name": "r", "users": [0], "hosts": [], "tasks": 1, "from_us": 1 << 59, "until_us": 1 << 60}
TYPE = {"name": "licence", "scope": "shared", "layer": "counter"}
ODD = (1 << 31, 1 << 63, 1 << 64, 10**30, -1, -(1 << 63), -(10**30))
CASES: tuple[tuple[str, str, dict[str, Any], tuple[str, ...]], ...] = (
    ("POST", "/v1/reservations", KEPT, ("tasks", "from_us", "until_us", "users")),
    ("POST", "/v1/job-groups", {"path": "/a"}, ("limit",)),
    ("POST", "/v1/jobs/1/top", {}, ("position",)),
    ("PATCH", "/v1/jobs/1", {}, ("tasks", "priority", "run_limit_us", "begin_us", "terminate_us")),
    ("POST", "/v1/jobs", JOB, ("tasks", "priority", "umask", "mem_limit_bytes", "run_estimate_us")),
    ("POST", "/v1/resources", TYPE, ("scale", "sharing")),
    ("POST", "/v1/resources/licence/pools", {"label": "a"}, ("amount",)),
)


@pytest.mark.parametrize(("method", "path", "body", "fields"), CASES)
def test_odd_numbers_are_answered_like_all_else(
    over_socket: Callable[[Test], None],
    method: str,
    path: str,
    body: dict[str, Any],
    fields: tuple[str, ...],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json={**JOB, "held": True})
        await client.post("/v1/resources", json=TYPE)
        for field in fields:
            for odd in ODD:
                said = {**body, field: [odd] if field == "users" else odd}
                told = await client.request(method, path, json=said)
                assert told.status_code < 500, (field, odd, told.text)
        assert (await client.get("/v1/reservations")).status_code == 200
        assert (await client.post("/v1/jobs", json=JOB)).status_code == 201

    over_socket(test)

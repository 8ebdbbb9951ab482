"""PATCH /v1/jobs/{id}, switch, top, bottom and requeue: bodies, answers, problems."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.conftest import Test
from tests.api.engine import MemoryEngine
from xce.api.bodies import JobRequest
from xce.api.routes.changes import FIXED, ModifyRequest

JOB = {"command": ["sleep", "60"], "cwd": "/tmp", "run_limit_us": 60_000_000}
Over = Callable[[Test], None]


def test_fields_are_changed_and_put_back(over_socket: Over) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json=JOB)
        changes = {"run_limit_us": None, "resreq": "rusage[mem=1GB]", "stop_after": "5m"}
        answer = await client.patch("/v1/jobs/1", json=changes)
        assert (answer.status_code, answer.json()["changed"]) == (
            200, ["resreq", "run_limit_us", "stop_after_us"],
        )  # fmt: skip
        told = (await client.get("/v1/jobs/1")).json()
        assert (told["run_limit_us"], told["resreq"]) == (None, "rusage[mem=1GB]")
        assert told["command"] == ["sleep", "60"]
        again = await client.patch("/v1/jobs/1", json=changes)
        assert (again.json()["changed"], again.json()["job"]) == ([], "1")

    over_socket(test)


def test_a_change_under_a_key_is_made_once(over_socket: Over) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json=JOB)
        headers = {"idempotency-key": "k"}
        first = await client.patch("/v1/jobs/1", json={"priority": 70}, headers=headers)
        again = await client.patch("/v1/jobs/1", json={"priority": 70}, headers=headers)
        assert first.json() == again.json()
        other = await client.patch("/v1/jobs/1", json={"priority": 71}, headers=headers)
        assert (other.status_code, other.json()["code"]) == (409, "key_reused")

    over_socket(test)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("PATCH", "1", {}, 422, "nothing is to be changed: name the fields that are"),
        ("PATCH", "1", {"cwd": "/"}, 422, "Object contains unknown field `cwd`"),
        ("PATCH", "1", {"tasks": "x"}, 422, "tasks: expected `int | null`, got `str`"),
        ("PATCH", "1", {"tasks": 0}, 422, "tasks: a number from 1 to 65536"),
        ("PATCH", "1", {"command": []}, 422, "No command is specified"),
        ("PATCH", "1", {"command": None}, 422, "No command is specified"),
        ("PATCH", "1", {"name": "a[1-3]"}, 422, "the indices of a job array cannot be changed"),
        ("PATCH", "9", {"tasks": 1}, 404, "Job <9>: No matching job found"),
        ("PATCH", "x", {"tasks": 1}, 404, "Job <x>: No matching job found"),
        ("POST", "1/switch", {}, 422, "Object missing required field `queue`"),
        ("POST", "1/switch", {"queue": "nope"}, 422, "nope: No such queue."),
        ("POST", "1/top", {"position": 0}, 422, "position: a number from 1 on"),
        ("POST", "1/requeue", {"which": ["x"]}, 422, "which: x is none of running, done, exited"),
        ("POST", "1/requeue", {}, 409, "Job <1>: Job has not started yet"),
    ],
)
def test_what_cannot_be_changed_is_a_problem(
    over_socket: Over, method: str, path: str, body: Any, status: int, said: str
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json=JOB)
        answer = await client.request(method, f"/v1/jobs/{path}", json=body)
        assert (answer.status_code, answer.json()["detail"]) == (status, said)

    over_socket(test)


def test_jobs_are_moved_and_switched(over_socket: Over) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        for _ in range(3):
            await client.post("/v1/jobs", json=JOB)
        moved = await client.post("/v1/jobs/3/top")
        assert (moved.status_code, moved.json()["position"]) == (200, 1)
        moved = await client.post("/v1/jobs/3/bottom", json={"position": 2})
        assert moved.json()["position"] == 2
        assert [key for _, key, _ in engine.state.index.pending.walk()] == [1, 3, 2]

    over_socket(test)


def test_whatever_a_submission_may_say_can_be_changed_but_for_where_it_runs() -> None:
    assert set(ModifyRequest.__struct_fields__) | FIXED == set(JobRequest.__struct_fields__)

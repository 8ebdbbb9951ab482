"""POST /v1/jobs/{id}/suspend and /resume over a real unix socket: states, records, refusals."""

from collections.abc import Callable

import httpx

from tests.api.conftest import Test
from tests.api.engine import MemoryEngine

JOB = {"command": ["sleep", "60"], "cwd": "/tmp"}
GANG = {"group": "g", "roles": [{"name": "w", "command": ["true"]}]}


def test_a_job_is_suspended_and_resumed_once_each(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json=JOB)
        for verb, state in (("suspend", "HELD"), ("resume", "PENDING")):
            for _ in range(2):
                answer = await client.post(f"/v1/jobs/1/{verb}")
                assert (answer.status_code, answer.json()["state"]) == (202, state)
        kinds = [record.kind for record in engine.log if "1" in record.entities]
        assert kinds == ["JobSubmitted", "JobChanged", "JobChanged"]

    over_socket(test)


def test_what_cannot_be_suspended_is_a_problem(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/groups", json={"manifest": GANG, "cwd": "/tmp"})
        member = await client.post("/v1/jobs/1/suspend")
        assert (member.status_code, member.json()["detail"]) == (
            409,
            "Job <1>: it is a member of group <g1>, which is suspended and resumed whole",
        )
        for verb, state in (("suspend", "HELD"), ("resume", "PENDING")):
            whole = await client.post(f"/v1/groups/g1/{verb}")
            assert (whole.status_code, whole.json()["state"]) == (202, "PENDING")
            assert engine.state.jobs[1].state == state
        unknown = await client.post("/v1/jobs/x/suspend")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")

    over_socket(test)


def test_a_held_job_shows_no_reason_of_a_session(over_socket: Callable[[Test], None]) -> None:
    """The stand-in has a reason for everything; only what is pending is given it."""

    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json=JOB)
        assert (await client.get("/v1/jobs/1")).json()["reason"]["text"].startswith("needs 8 gpu")
        await client.post("/v1/jobs/1/suspend")
        assert (await client.get("/v1/jobs/1")).json()["reason"] is None
        assert (await client.get("/v1/jobs/1/explain")).json()["reason"] is None

    over_socket(test)


def test_a_repeat_with_the_same_key_does_not_suspend_again(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        key = {"Idempotency-Key": "k1"}
        await client.post("/v1/jobs", json=JOB)
        first = await client.post("/v1/jobs/1/suspend", headers=key)
        await client.post("/v1/jobs/1/resume")
        again = await client.post("/v1/jobs/1/suspend", headers=key)
        assert first.json()["state"] == again.json()["state"] == "HELD"
        assert engine.state.jobs[1].state == "PENDING"
        other = await client.post("/v1/jobs/1/resume", headers=key)
        assert (other.status_code, other.json()["code"]) == (409, "key_reused")

    over_socket(test)

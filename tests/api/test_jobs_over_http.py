"""Jobs over a real unix socket: answers, refusals, repeats, lists, waits."""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.conftest import Test
from tests.api.engine import MemoryEngine
from xce.controller.core.commands import Kill
from xce.model.actor import CONTROLLER

JOB = {"command": ["sleep", "60"], "cwd": "/tmp", "env": {"A": "1"}}


def test_a_submission_is_answered_with_id_and_queue(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/jobs", json=JOB)
        assert answer.status_code == 201
        body = answer.json()
        assert (body["job"], body["queue"], body["default_queue"]) == ("1", "normal", True)
        job = engine.state.jobs[1]
        spec = engine.state.specs[job.spec]
        assert (job.owner, job.name, spec.command) == (os.getuid(), "sleep 60", ("sleep", "60"))
        assert engine.state.texts[spec.environment] == b"A=1\0"

    over_socket(test)


def test_the_same_key_gives_the_same_answer_and_one_job(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        key = {"Idempotency-Key": "k1"}
        first = await client.post("/v1/jobs", json=JOB, headers=key)
        again = await client.post("/v1/jobs", json=JOB, headers=key)
        other = await client.post("/v1/jobs", json={**JOB, "tasks": 2}, headers=key)
        assert first.json()["job"] == again.json()["job"] == "1"
        assert list(engine.state.jobs) == [1]
        assert (other.status_code, other.json()["code"]) == (409, "key_reused")

    over_socket(test)


def test_a_job_over_its_application_profile_is_shown_with_both(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        asked = {**JOB, "application": "fluent", "resreq": "rusage[mem=1GB] select[tmp>2]"}
        assert (await client.post("/v1/jobs", json=asked)).status_code == 201
        told = (await client.get("/v1/jobs/1")).json()
        assert told["application"] == "fluent"
        assert told["resreq"] == "select[tmp>2] rusage[mem=1GB] span[hosts=1]"
        await client.post("/v1/jobs", json=JOB)
        told = (await client.get("/v1/jobs/2")).json()
        assert (told["application"], told["resreq"]) == (None, "")

    over_socket(test)


def test_application_profiles_are_listed_by_name(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/applications")).json()["items"] == [
            {"name": "abaqus", "description": "", "resreq": ""},
            {"name": "fluent", "description": "CFD", "resreq": "rusage[mem=4GB] span[hosts=1]"},
        ]

    over_socket(test)


REFUSED = [
    ({"command": []}, 422, "invalid", "/command", "No command is specified"),
    ({"command": ["a"], "tasks": 0}, 422, "invalid", "/tasks", "tasks: a number from 1 to 65536"),
    (
        {"command": ["a"], "tasks": 4, "tasks_max": 2},
        422,
        "invalid",
        "/tasks_max",
        "tasks_max: a number from tasks (4) to 65536, as in -n 2,4",
    ),
    ({"command": ["a"], "cwd": "x"}, 422, "invalid", "/cwd", "cwd: an absolute path"),
    ({"command": ["a", 3]}, 422, "invalid", "/command/1", "command.1: expected `str`, got `int`"),
    ({"comand": ["a"]}, 422, "invalid", "", "Object contains unknown field `comand`"),
    ({"command": ["a"], "queue": "nope"}, 422, "unknown_queue", "/queue", "nope: No such queue."),
    (
        {"command": ["a"], "application": "flunet"},
        422,
        "unknown_application",
        "/application",
        "flunet: No such application profile.",
    ),
    (
        {"command": ["a"], "application": 3},
        422,
        "invalid",
        "/application",
        "application: expected `str`, got `int`",
    ),
    (
        {"command": ["a"], "queue": "shut"},
        422,
        "queue_closed",
        "/queue",
        "shut: Queue has been closed.",
    ),
    (
        {"command": ["a"], "name": "x[3-1]"},
        422,
        "bad_array",
        "/name",
        "Job array index error: the range ends at 1, before it begins at 3",
    ),
]


@pytest.mark.parametrize(("body", "status", "code", "pointer", "detail"), REFUSED)
def test_a_bad_submission_is_a_problem_with_a_pointer(
    over_socket: Callable[[Test], None],
    body: dict[str, Any],
    status: int,
    code: str,
    pointer: str,
    detail: str,
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/jobs", json=body)
        told = answer.json()
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.status_code, told["code"], told.get("pointer", "")) == (
            status,
            code,
            pointer,
        )
        assert told["detail"] == detail
        assert engine.state.jobs == {}

    over_socket(test)


def test_a_bad_requirement_names_the_column(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/jobs", json={**JOB, "resreq": "rusage[mem=4000"})
        told = answer.json()
        assert (answer.status_code, told["pointer"], told["line"]) == (422, "/resreq", 1)
        assert told["text"] == "rusage[mem=4000"
        assert told["column"] > 1

    over_socket(test)


def test_what_is_not_json_is_a_problem(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/jobs", content=b"{nope")
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")

    over_socket(test)


def test_a_batch_answers_line_by_line_in_order(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        lines = [JOB, {"command": []}, {**JOB, "name": "b"}]
        text = "\n".join(json.dumps(line) for line in lines)
        answer = await client.post("/v1/jobs:batch", content=text)
        first, second, third = [json.loads(line) for line in answer.text.splitlines()]
        assert (first["job"], third["job"]) == ("1", "2")
        assert (second["status"], second["code"]) == (422, "invalid")

    over_socket(test)


def test_lists_page_by_cursor_and_filter(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        for name in ("a1", "b1", "a2"):
            await client.post("/v1/jobs", json={**JOB, "name": name})
        await client.post("/v1/jobs", json={**JOB, "held": True})
        first = (await client.get("/v1/jobs", params={"limit": 2})).json()
        assert [item["id"] for item in first["items"]] == ["1", "2"]
        assert (first["total"], first["next"]) == (4, "2")
        rest = (await client.get("/v1/jobs", params={"limit": 2, "cursor": "2"})).json()
        assert ([item["id"] for item in rest["items"]], rest["next"]) == (["3", "4"], None)
        named = (await client.get("/v1/jobs", params={"name": "a*"})).json()
        assert [item["name"] for item in named["items"]] == ["a1", "a2"]
        held = (await client.get("/v1/jobs", params={"stat": "PSUSP"})).json()
        assert [item["id"] for item in held["items"]] == ["4"]
        bad = await client.get("/v1/jobs", params={"limit": 0})
        assert (bad.status_code, bad.json()["pointer"]) == (400, "/limit")

    over_socket(test)


def test_kill_answers_and_a_second_kill_is_a_conflict(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json=JOB)
        first = await client.post("/v1/jobs/1/kill")
        again = await client.post("/v1/jobs/1/kill")
        none = await client.post("/v1/jobs/99/kill")
        assert (first.status_code, first.json()["job"]) == (202, "1")
        assert (again.status_code, again.json()["detail"]) == (
            409,
            "Job <1>: Job has already finished",
        )
        assert (none.status_code, none.json()["detail"]) == (
            404,
            "Job <99>: No matching job found",
        )
        shown = (await client.get("/v1/jobs/1")).json()
        assert (shown["stat"], shown["exit_code"], shown["exit"]["reason"]) == (
            "EXIT",
            None,
            "killed",
        )

    over_socket(test)


def test_wait_answers_as_soon_as_the_job_has_ended(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json=JOB)
        early = (await client.get("/v1/jobs/1/wait", params={"timeout": 0})).json()
        assert (early["ended"], early["stat"]) == (False, "PEND")
        waiting = asyncio.create_task(client.get("/v1/jobs/1/wait", params={"timeout": 30}))
        await asyncio.sleep(0.02)
        await engine.ask(Kill(actor=CONTROLLER, job=1))
        late = (await waiting).json()
        assert (late["ended"], late["stat"]) == (True, "EXIT")

    over_socket(test)


def test_explain_gives_the_reason_with_numbers(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json=JOB)
        told = (await client.get("/v1/jobs/1/explain")).json()["reason"]
        assert told["text"] == "needs 8 gpu on one host; best host n1 has 6 free"
        assert (told["code"], told["needed"], told["available"]) == ("short_on_host", 8, 6)

    over_socket(test)


def test_history_is_the_chain_of_records(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json=JOB)
        await client.post("/v1/jobs/1/kill")
        told = (await client.get("/v1/jobs/1/history")).json()
        assert [step["kind"] for step in told["records"]] == ["JobSubmitted", "KillAsked"]
        assert told["records"][1]["changes"] == [
            {"event": "kill", "state": "EXITED", "entity": "1"}
        ]
        events = (await client.get("/v1/events", params={"after": "2"})).json()
        assert [item["kind"] for item in events["items"]] == ["JobSubmitted", "KillAsked"]
        assert events["next"] == "4"

    over_socket(test)


def test_retired_work_is_still_shown(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        import msgspec

        await client.post("/v1/jobs", json=JOB)
        job = engine.state.jobs[1]
        engine.retired["7"] = {
            "job": msgspec.to_builtins(msgspec.structs.replace(job, key=7, state="DONE")),
            "spec": msgspec.to_builtins(engine.state.specs[job.spec]),
        }
        shown = (await client.get("/v1/jobs/7")).json()
        assert (shown["id"], shown["stat"], shown["retired"]) == ("7", "DONE", True)
        assert shown["stdout"] == "/tmp/xce-7.out"

    over_socket(test)

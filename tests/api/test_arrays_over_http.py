"""Job arrays over a real unix socket: submitted, counted, listed page by page, killed in part."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
import pytest

from tests.api.conftest import Test
from tests.api.engine import MemoryEngine

JOB = {"command": ["sleep", "60"], "cwd": "/tmp"}


async def _submit(client: httpx.AsyncClient, name: str, **rest: Any) -> dict[str, Any]:
    answer = await client.post("/v1/jobs", json={**JOB, "name": name, **rest})
    assert answer.status_code == 201, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def _ids(client: httpx.AsyncClient, path: str) -> list[str]:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


def test_an_array_is_submitted_by_its_name(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        told = await _submit(client, "sweep[1-10:3, 20]%2")
        assert (told["job"], told["queue"], told["elements"]) == ("1", "normal", 5)
        array = engine.state.arrays[1]
        assert (array.name, array.text, array.limit) == ("sweep", "[1-10:3,20]%2", 2)
        shown = (await client.get("/v1/jobs/1")).json()
        assert (shown["id"], shown["array"], shown["stats"]) == ("1", "[1-10:3,20]%2", {"PEND": 5})
        assert (shown["state"], shown["command"]) == ("PENDING", ["sleep", "60"])

    over_socket(test)


@pytest.mark.parametrize(
    ("name", "code", "detail"),
    [
        ("x[1-", "bad_array", "Job array index error: the end of the range is missing"),
        ("[1-3]", "bad_array", "the name is missing before the list of indices"),
        ("x[0]", "bad_array", "an index is at least 1"),
        ("x[1-2000000]", "invalid", "Job array index too large: 2000000 is beyond 1000000"),
        ("x[1-3]%", "bad_array", "Job array index error: the limit is missing"),
    ],
)
def test_a_bad_array_is_refused_with_its_column(
    over_socket: Callable[[Test], None], name: str, code: str, detail: str
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        told = (await client.post("/v1/jobs", json={**JOB, "name": name})).json()
        assert told["code"] == code
        assert detail in told["detail"]
        assert told["pointer"] == "/name"
        assert engine.state.arrays == {}

    over_socket(test)


def test_elements_are_listed_with_jobs_in_the_order_of_numbers_and_page_by_page(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json=JOB)
        await _submit(client, "a[1-1000000]")
        await client.post("/v1/jobs", json=JOB)
        first = (await client.get("/v1/jobs?limit=3")).json()
        assert [item["id"] for item in first["items"]] == ["1", "2[1]", "2[2]"]
        assert first["total"] == 1_000_002
        second = (await client.get(f"/v1/jobs?limit=2&cursor={first['next']}")).json()
        assert [item["id"] for item in second["items"]] == ["2[3]", "2[4]"]
        tail = await _ids(client, "/v1/jobs/2?elements=999999-1000000")
        assert tail == ["2[999999]", "2[1000000]"]
        assert (await client.get("/v1/jobs?stat=RUN")).json()["total"] == 0

    over_socket(test)


def test_ranges_of_an_array_are_killed_held_and_listed(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await _submit(client, "a[1-10]")
        some = quote("1[2-4,8]")
        told = await client.post(f"/v1/jobs/{some}/kill")
        assert (told.status_code, told.json()["job"]) == (202, "1[2-4,8]")
        await client.post(f"/v1/jobs/{quote('1[5-6]')}/suspend")
        await client.post(f"/v1/jobs/{quote('1[6]')}/resume")
        assert await _ids(client, "/v1/jobs?stat=EXIT") == ["1[2]", "1[3]", "1[4]", "1[8]"]
        assert await _ids(client, "/v1/jobs?stat=PSUSP") == ["1[5]"]
        assert await _ids(client, f"/v1/jobs/{quote('1[1-6]')}?stat=PEND") == ["1[1]", "1[6]"]
        assert await _ids(client, "/v1/jobs/1?elements=all&stat=PSUSP") == ["1[5]"]
        stats = (await client.get("/v1/arrays")).json()["items"][0]["stats"]
        assert stats == {"EXIT": 4, "PEND": 5, "PSUSP": 1}
        again = (await client.post(f"/v1/jobs/{some}/kill")).json()
        assert (again["code"], again["detail"]) == (
            "conflict",
            "Job <1[2-4,8]>: Job has already finished",
        )

    over_socket(test)


def test_one_element_is_shown_waited_for_and_has_a_history(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await _submit(client, "a[1-10]", stdout="out.%J.%I")
        await client.post(f"/v1/jobs/{quote('1[2-4]')}/kill")
        await client.post(f"/v1/jobs/{quote('1[7]')}/kill")
        told = (await client.get(f"/v1/jobs/{quote('1[3]')}")).json()
        assert (told["id"], told["index"], told["stat"]) == ("1[3]", 3, "EXIT")
        assert (told["name"], told["stdout"]) == ("a[3]", "/tmp/out.1.3")
        waited = (await client.get(f"/v1/jobs/{quote('1[3]')}/wait?timeout=0")).json()
        assert waited["ended"]
        assert not (await client.get("/v1/jobs/1/wait?timeout=0")).json()["ended"]
        for name, kinds in (("1[3]", 2), ("1[5]", 1), ("1[7]", 2), ("1", 2)):
            story = (await client.get(f"/v1/history/{quote(name)}")).json()
            assert len(story["records"]) == kinds, name
        assert (await client.get(f"/v1/history/{quote('1[11]')}")).status_code == 404
        missing = await client.get(f"/v1/jobs/{quote('1[11]')}")
        assert (missing.status_code, missing.json()["detail"]) == (
            404,
            "Job <1[11]>: No matching job found",
        )
        await client.post("/v1/jobs/1/kill")
        over = (await client.get("/v1/jobs/1/wait?timeout=0")).json()
        assert (over["ended"], over["state"], over["exit_code"]) == (True, "EXITED", 1)
        assert await _ids(client, "/v1/arrays") == []
        assert await _ids(client, "/v1/arrays?all=true&name=a*") == ["1"]

    over_socket(test)


@pytest.mark.parametrize("path", ["/v1/jobs?stat=run,PENDD", "/v1/jobs/1?elements=all&stat=pendd"])
def test_a_word_that_is_no_state_is_a_problem(
    over_socket: Callable[[Test], None], path: str
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await _submit(client, "a[1-10]")
        answer = await client.get(path)
        assert answer.status_code == 422
        assert answer.json()["detail"] == "stat: no job is ever PENDD"
        assert answer.json()["hint"] == "did you mean PEND?"

    over_socket(test)


@pytest.mark.parametrize("name", ["1[", "1[]", "1[3-1]", "x[1]", "1[1]%2", "1[1-2", "01[3]x", "9"])
def test_what_names_no_job_is_a_problem(over_socket: Callable[[Test], None], name: str) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await _submit(client, "a[1-10]")
        for answer in (
            await client.get(f"/v1/jobs/{quote(name)}"),
            await client.post(f"/v1/jobs/{quote(name)}/kill"),
            await client.post(f"/v1/jobs/{quote(name)}/suspend"),
        ):
            assert answer.status_code in (404, 422)
            assert answer.headers["content-type"] == "application/problem+json"
        assert engine.state.arrays[1].tally[0] == 10

    over_socket(test)


def test_what_has_left_is_told_from_the_history(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await _submit(client, "a[1-10]")
        await client.post(f"/v1/jobs/{quote('1[3]')}/suspend")
        await client.post("/v1/jobs/1/kill")
        array = engine.state.arrays[1]
        spec = engine.state.specs[array.spec]
        engine.retired["1"] = msgspec.to_builtins({"array": array, "spec": spec})
        engine.state.put("array", 1, None)
        told = (await client.get("/v1/jobs/1")).json()
        assert (told["retired"], told["state"], told["stats"]) == (True, "EXITED", {"EXIT": 10})
        element = (await client.get(f"/v1/jobs/{quote('1[3]')}")).json()
        assert (element["retired"], element["id"], element["stat"]) == (True, "1[3]", "EXIT")
        assert (await client.get(f"/v1/jobs/{quote('1[11]')}")).status_code == 404
        assert (await client.get("/v1/jobs/1/wait?timeout=0")).json()["exit_code"] == 1
        assert (await client.get("/v1/jobs/1?elements=all")).status_code == 404

    over_socket(test)

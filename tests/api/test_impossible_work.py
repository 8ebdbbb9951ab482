"""Work that no host could ever start, and texts that would only cost time, are refused at once."""

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.conftest import Test
from tests.api.engine import MemoryEngine
from xce.model.manifest import lint
from xce.model.units import nearest

KB = 1024


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"command": [""]}, "command", "the command's first word is empty"),
        ({"command": ["a", "b\0"]}, "command", "word 2 of the command holds a NUL"),
        ({"command": ["x" * 128 * KB]}, "command", "word 1 of the command has more than 131071"),
        ({"command": ["true"] * 100_000}, "command", "the command is larger than 768 KiB"),
        ({"env": {"A": "x" * 128 * KB}}, "env", "the variable 'A' has more than 131071 bytes"),
        ({"env": {f"A{n}": "x" * 100 * KB for n in range(11)}}, "env", "larger than 1024 KiB"),
        ({"env": {"A=B": ""}}, "env", "'A=B' is no name of a variable"),
        ({"env": {"": "x"}}, "env", "'' is no name of a variable"),
        ({"env": {"A": "\0"}}, "env", "the variable 'A' holds a NUL"),
        ({"cwd": "/" + "x" * 4096}, "cwd", "the path has more than 4095 bytes"),
        ({"stdout": "x" * 5000}, "stdout", "the path has more than 4095 bytes"),
        ({"stdin": "\0"}, "stdin", "the path holds a NUL"),
        ({"resreq": "mem>1&&" * 2000}, "resreq", "at most 8192 characters"),
    ],
)
def test_a_job_that_exec_could_not_take_is_refused(
    over_socket: Callable[[Test], None], fields: dict[str, Any], field: str, said: str
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        body = {"command": ["true"], "cwd": "/tmp", **fields}
        told = (await client.post("/v1/jobs", json=body)).json()
        assert (told["code"], told["pointer"]) == ("invalid", f"/{field}")
        assert said in told["detail"]
        assert not engine.state.jobs

    over_socket(test)


@pytest.mark.parametrize(
    "fields",
    [
        {"command": ["x" * (128 * KB - 1)]},
        {"env": {"A": "x" * (128 * KB - 3)}},
        {"cwd": "/" + "x" * 4094},
    ],
)
def test_the_largest_of_each_is_taken(
    over_socket: Callable[[Test], None], fields: dict[str, Any]
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        body = {"command": ["true"], "cwd": "/tmp", **fields}
        assert (await client.post("/v1/jobs", json=body)).status_code == 201

    over_socket(test)


def test_a_name_made_of_a_command_is_one_line_without_controls(
    over_socket: Callable[[Test], None],
) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        await client.post("/v1/jobs", json={"command": ["echo", "a\nb\x1b[31m\u202e"]})
        await client.post("/v1/jobs", json={"script": "#!/bin/sh\n\x1b]0;x\x07 true\n"})
        assert [job.name for job in engine.state.jobs.values()] == ["echo a b [31m ", " ]0;x  true"]

    over_socket(test)


def role(**fields: Any) -> dict[str, Any]:
    return {"group": "g", "roles": [{"name": "a", "command": ["true"], **fields}]}


def rule(**match: Any) -> dict[str, Any]:
    return {**role(), "failure_policy": [{"match": match, "action": "fail_group"}]}


@pytest.mark.parametrize(
    ("document", "where", "said"),
    [
        (role(command=["a\0"]), "roles[0].command", "word 1 of the command holds a NUL"),
        (role(command=[""]), "roles[0].command", "the command's first word is empty"),
        (role(env={"A=B": "c"}), "roles[0].env", "'A=B' is no name of a variable"),
        (role(env={"A": "b\0"}), "roles[0].env", "the variable 'A' holds a NUL"),
        (
            role(ready={"probe": ["\0"]}),
            "roles[0].ready.probe",
            "word 1 of the command holds a NUL",
        ),
        (role(resreq="x" * 8193), "roles[0].resreq", "more than 8192 characters"),
        (rule(signal="SIGTREM"), "failure_policy[0].match.signal", "there is no signal 'TREM'"),
        (rule(signal=["TERM", "NO"]), "failure_policy[0].match.signal[1]", "there is no signal"),
    ],
)
def test_a_manifest_that_could_never_run_is_refused(
    document: dict[str, Any], where: str, said: str
) -> None:
    faults = lint(document)
    assert [fault.where() for fault in faults] == [where]
    assert faults[0].message.startswith(said)


def test_requirements_of_a_manifest_are_bounded_together() -> None:
    roles = [{"name": f"r{n}", "command": ["x"], "resreq": "y" * 8000} for n in range(5)]
    faults = lint({"group": "g", "roles": roles})
    assert [fault.where() for fault in faults] == ["roles"]
    assert "more than 32768 characters" in faults[0].message


def test_a_hundred_faults_are_enough() -> None:
    faults = lint({f"groop{n}": 1 for n in range(5_000)})
    assert len(faults) == 100


def test_a_word_that_is_long_has_no_near_one_and_is_shown_cut() -> None:
    began = time.monotonic()
    assert nearest("g" * 1_000_000, ["group"]) == ""
    faults = lint({"g" * 1_000_000: 1})
    assert time.monotonic() - began < 1
    assert faults[0].message == f"unknown field '{'g' * 40}'..."


def test_what_was_sent_is_not_given_back_whole(over_socket: Callable[[Test], None]) -> None:
    async def test(engine: MemoryEngine, client: httpx.AsyncClient) -> None:
        for body in (
            {"command": ["true"], "queue": "q" * 100_000},
            {"command": ["true"], "x" * 100_000: 1},
        ):
            told = await client.post("/v1/jobs", json=body)
            assert told.status_code == 422
            assert len(told.content) < 4_000

    over_socket(test)

"""Every command takes --json, and what it prints is then one JSON document."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli.conftest import Live, Told
from tests.cli.test_one_table import commands
from xce.model.job import Exit
from xcecli.tree import root

Cli = Callable[..., Told]
MANIFEST = """\
group: pair
roles: [{name: w, count: 2, command: [sleep, "60"]}]
"""
LINES = {
    "submit": ["true"],
    "jobs": ["-a"],
    "kill": ["1"],
    "modify": ["-W", "5", "1"],
    "switch": ["night", "1"],
    "top": ["1"],
    "bottom": ["1"],
    "requeue": ["-d", "2"],
    "job": ["1"],
    "suspend": ["1"],
    "resume": ["1"],
    "wait": ["2"],
    "logs": ["2"],
    "explain": ["1"],
    "what-if": ["true"],
    "history": ["1"],
    "hosts": [],
    "queues": [],
    "shares": [],
    "limits": [],
    "users": [],
    "applications": [],
    "instances": [],
    "group submit": ["m.yaml"],
    "group lint": ["m.yaml"],
    "group list": [],
    "group show": ["g1"],
    "group kill": ["g1"],
    "group suspend": ["g1"],
    "group resume": ["g1"],
    "group wait": ["2"],
    "group explain": ["g1"],
    "group history": ["g1"],
    "jobgroup show": ["/a"],
    "jobgroup add": ["/a/b"],
    "jobgroup modify": ["-L", "3", "/a"],
    "jobgroup remove": ["/a"],
    "claim list": [],
    "claim show": ["c1"],
    "claim create": ["data", "--type", "gpu"],
    "claim match": ["--tag", "fast", "--explain"],
    "islands": [],
    "claim wait": ["c1"],
    "claim renew": ["c1", "--until", "2h"],
    "claim verify": ["c1"],
    "claim release": ["c1"],
    "claim delete": ["c1"],
    "resources list": [],
    "resources show": ["mem"],
    "resources add": ["seats"],
    "reservations list": [],
    "reservations add": ["-u", "0", "-n", "1", "-b", "23:58", "-e", "23:59"],
    "reservations remove": ["course"],
    "resources remove": ["fluent"],
    "resreq check": ["mem>1"],
    "resreq explain": ["mem>1"],
    "resreq merge": ["mem>1"],
    "array check": ["a[1-3]"],
    "dependency check": ["done(1)"],
    "script check": ["job.sh"],
}
"""The words after each command."""
ALONE = {
    "claim show": 4,
    "claim create": 1,
    "claim wait": 4,
    "claim renew": 4,
    "claim verify": 1,
    "claim release": 4,
    "claim delete": 4,
    "reservations add": 5,
    "reservations remove": 4,
}
"""What cannot succeed here: nothing makes a claim without a session, no host is up."""


def leaves() -> dict[str, click.Command]:
    found = commands(root, "")
    return {path.strip(): one for path, one in found if not isinstance(one, click.Group)}


@pytest.fixture
def work(live: Live, xcecli: Cli, tmp_path: Path) -> None:
    """A job that waits, one that has ended, a gang, a type."""
    (tmp_path / "m.yaml").write_text(MANIFEST)
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#BSUB -n 2\ntrue\n")
    xcecli("submit", "sleep", "60")
    xcecli("submit", "true")
    live.put("job", 2, state="DONE", exit=Exit(how="exited", code=0))
    (tmp_path / "xce-2.out").write_bytes(b"caf\xc3\xa9 \xff\n")
    xcecli("group", "submit", "m.yaml")
    xcecli("resources", "add", "fluent")
    xcecli("jobgroup", "add", "/a")


def test_the_table_has_every_command() -> None:
    assert sorted(LINES) == sorted(leaves())


@pytest.mark.parametrize("path", sorted(LINES))
def test_a_command_prints_json(work: None, xcecli: Cli, path: str) -> None:
    code, out, err = xcecli(*path.split(), "--json", *LINES[path])
    assert code == ALONE.get(path, 0), err
    if path not in ALONE:
        assert isinstance(json.loads(out), dict | list)
        assert err == ""


def told(xcecli: Cli, *argv: str) -> Any:
    return json.loads(xcecli(*argv)[1])


def test_wait_tells_how_each_ended_and_keeps_the_code(work: None, live: Live, xcecli: Cli) -> None:
    live.put("job", 1, state="EXITED", exit=Exit(how="exited", code=3))
    code, out, _ = xcecli("wait", "--json", "2", "1")
    assert code == 3
    ended = [(one["id"], one["state"], one["exit_code"]) for one in json.loads(out)]
    assert ended == [("2", "DONE", 0), ("1", "EXITED", 3)]


def test_a_wait_that_fails_tells_what_ended_before(work: None, xcecli: Cli) -> None:
    code, out, err = xcecli("wait", "--json", "--timeout", "0.05", "2", "1")
    assert (code, err) == (125, "Job <1> has not ended in time\n")
    assert [one["id"] for one in json.loads(out)] == ["2"]


def test_group_kill_lists_what_it_ended(work: None, xcecli: Cli) -> None:
    assert told(xcecli, "group", "kill", "--format", "json", "g1")[0]["group"] == "g1"


def test_logs_as_json_give_path_and_text(work: None, xcecli: Cli, tmp_path: Path) -> None:
    assert told(xcecli, "logs", "--json", "2") == [
        {"job": "2", "state": "DONE", "path": f"{tmp_path}/xce-2.out", "text": "café \ufffd\n"}
    ]
    assert [one["text"] for one in told(xcecli, "logs", "--json", "g1")] == [None, None]
    code, _, err = xcecli("logs", "-f", "--json", "2")
    assert (code, err) == (2, "--follow goes on; --json is one document\n")

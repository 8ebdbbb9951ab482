"""`xcecli suspend` and `resume`: texts as LSF's, what is refused, and what a waiting job shows."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Live, Told
from xce.model.job import Exit

Cli = Callable[..., Told]


def test_a_pending_job_is_suspended_and_resumed(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "sleep", "60")
    assert xcecli("suspend", "1") == (0, "Job <1> is being stopped\n", "")
    assert live.engine.state.jobs[1].state == "HELD"
    assert xcecli("jobs", "1")[1].splitlines()[1].split()[2] == "PSUSP"
    assert xcecli("jobs", "-p")[1].splitlines()[1].split()[0] == "1"
    assert xcecli("resume", "1") == (0, "Job <1> is being resumed\n", "")
    assert live.engine.state.jobs[1].state == "PENDING"


def test_a_job_that_was_submitted_held_is_let_go(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-H", "sleep", "60")
    assert json.loads(xcecli("resume", "--json", "1")[1]) == [
        {"job": "1", "state": "PENDING", "suspension": "ACTIVE", "lsn": 4}
    ]


def test_both_may_be_said_twice(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "sleep", "60")
    assert [xcecli("suspend", "1")[0] for _ in range(2)] == [0, 0]
    assert [xcecli("resume", "1")[0] for _ in range(2)] == [0, 0]


def test_what_is_not_pending_is_refused_with_one_line(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "sleep", "60")
    live.put("job", 1, state="STARTING")
    assert xcecli("suspend", "1") == (
        5, "", "Job <1>: Job is being started; it can be suspended once it runs\n"
    )  # fmt: skip
    live.put("job", 1, state="RUNNING")
    assert xcecli("resume", "1") == (5, "", "Job <1>: Job is not suspended\n")
    live.put("job", 1, state="DONE", exit=Exit(how="exited", code=0))
    assert xcecli("suspend", "1") == (5, "", "Job <1>: Job has already finished\n")
    assert xcecli("suspend", "99") == (4, "", "Job <99>: No matching job found\n")
    assert xcecli("resume", "g1") == (4, "", "Group <g1>: No matching group found\n")


def test_a_held_job_says_why_it_waits(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-H", "sleep", "60")
    why = "  The job was suspended while pending; `xcecli resume` lets it go"
    assert xcecli("explain", "1")[1].splitlines() == ["Job <1> is PSUSP", why]
    assert xcecli("job", "1")[1].splitlines()[-2:] == [" PENDING REASONS:", why]


def test_a_waiting_job_shows_its_reason_and_a_running_one_of_its_class_none(
    live: Live, xcecli: Cli
) -> None:
    """The stand-in gives one reason for everything."""
    for _ in range(2):
        xcecli("submit", "sleep", "60")
    live.put("job", 2, state="RUNNING")
    why = [
        " PENDING REASONS:",
        "  needs 8 gpu on one host; best host n1 has 6 free",
        "  hosts: 2 x short of gpu",
    ]
    assert xcecli("job", "1")[1].splitlines()[-3:] == why
    assert "PENDING REASONS" not in xcecli("job", "2")[1]
    assert xcecli("explain", "2")[1] == "Job <2> is RUN\n"
    parts = xcecli("jobs", "-l")[1].split("\n\n")
    assert [part.splitlines()[0].split(",")[0] for part in parts] == ["Job <1>", "Job <2>"]
    assert parts[0].splitlines()[-3:] == why
    assert xcecli("jobs", "-l", "2")[1] == xcecli("job", "2")[1]


def test_a_suspended_job_shows_who_stopped_it_and_what_it_waits_for(
    live: Live, xcecli: Cli
) -> None:
    xcecli("submit", "sleep", "60")
    us = 1_796_040_000_000_000
    live.put(
        "job", 1, state="RUNNING", suspension="SUSPENDED", suspended_by="user",
        suspend_since_us=us, started_us=us,
    )  # fmt: skip
    assert xcecli("jobs", "1")[1].splitlines()[1].split()[2] == "USUSP"
    assert xcecli("jobs", "-s")[1].splitlines()[1].split()[0] == "1"
    assert xcecli("jobs", "-r")[1] == ""
    assert xcecli("explain", "1")[1].splitlines() == ["Job <1> is USUSP", "  Suspended by user"]
    live.put("job", 1, suspended_by="system", suspend_why="preempted by job 7", resume_us=us)
    assert xcecli("explain", "1")[1].splitlines()[:2] == [
        "Job <1> is SSUSP",
        "  Suspended by the system (preempted by job 7); it was asked to go on",
    ]
    lines = xcecli("job", "1")[1].splitlines()
    assert " SUSPENDING REASONS:" in lines


def test_a_gang_is_suspended_by_its_id(live: Live, xcecli: Cli, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("group: g\nroles: [{name: w, count: 2, command: ['true']}]\n")
    assert xcecli("group", "submit", "m.yaml")[0] == 0
    assert xcecli("group", "suspend", "g1") == (0, "Group <g1> is being stopped\n", "")
    assert {live.engine.state.jobs[key].state for key in (1, 2)} == {"HELD"}
    assert xcecli("resume", "g1") == (0, "Group <g1> is being resumed\n", "")
    assert {live.engine.state.jobs[key].state for key in (1, 2)} == {"PENDING"}
    refused = xcecli("suspend", "1")
    assert refused[0] == 5
    assert refused[2].splitlines() == [
        "Job <1>: it is a member of group <g1>, which is suspended and resumed whole",
        "hint: `xcecli group suspend g1`",
    ]

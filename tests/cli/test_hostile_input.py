"""Odd words on the command line, odd places and streams, and texts that would steer a terminal."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Live, Told
from xce.model.job import Exit
from xcecli import say, wire

Cli = Callable[..., Told]
ROOT = Path(__file__).parents[2]
ODD = "\x1b[2J\nJob <1> is done\u202e"
SHOWN = "\\x1b[2J\\nJob <1> is done\\u202e"


def test_what_others_wrote_is_shown_and_not_obeyed() -> None:
    assert say.line(ODD) == SHOWN
    assert say.line("plain é 東") == "plain é 東"
    assert say.line("a\tb") == "a b"
    assert say.table((("A", 0),), [[ODD]], wide=False) == f"A\n{SHOWN}"


@pytest.mark.parametrize(
    "argv",
    [
        ["job", ODD],
        ["jobs", ODD],
        ["jobs", "-g", ODD],
        ["kill", ODD],
        ["wait", ODD],
        ["logs", ODD],
        ["explain", ODD],
        ["history", ODD],
        ["submit", "-q", ODD, "true"],
        ["submit", "-J", ODD, "true"],
        ["submit", "-R", f"select[{ODD}]", "true"],
        ["submit", "--script", ODD],
        ["claim", "show", ODD],
        ["instances", "--host", ODD],
        ["group", "show", f"g{ODD}"],
        ["group", "kill", ODD],
        ["group", "submit", ODD],
        ["group", "list", "-u", ODD],
        ["resreq", "check", f"select[{ODD}]"],
        ["jobs", "--format", ODD],
        ["jobs", "--url", ODD],
    ],
)
def test_no_answer_holds_a_control_character(live: Live, xcecli: Cli, argv: list[str]) -> None:
    code, out, err = xcecli(*argv)
    assert code in (0, 1, 2, 3, 4, 125)
    assert (out + err).replace("\n", "").isprintable()
    assert "Job <1> is done\n" not in out + err


def test_a_job_with_odd_paths_is_shown_in_its_own_lines(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "-o", f"o{ODD}", "printf", ODD)
    lines = xcecli("job", "1")[1].splitlines()
    assert f"Output File <{live.home.parent}/o{SHOWN}>" in lines[1]
    assert lines[0].endswith(f"Command <printf {SHOWN}>")
    assert "printf" in xcecli("jobs", "-w")[1].splitlines()[1]


def test_a_manifests_odd_field_names_are_shown_escaped(xcecli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text('group: g\nroles: [{name: a, command: [x], "\\e[2J": 1}]\n')
    code, out, _ = xcecli("group", "lint", str(file))
    assert code == 3
    assert "roles[0].\\x1b[2J: unknown field" in out


@pytest.mark.parametrize(
    "argv",
    [
        ["jobs", ""],
        ["job", ""],
        ["kill", ""],
        ["logs", ""],
        ["explain", ""],
        ["history", ""],
        ["group", "show", ""],
        ["claim", "show", ""],
    ],
)
def test_an_empty_id_names_nothing(live: Live, xcecli: Cli, argv: list[str]) -> None:
    code, out, err = xcecli(*argv)
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == "an id is empty"


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 19, "1e3", "-1", "0x10", ""])
def test_what_is_no_number_is_a_usage_fault(live: Live, xcecli: Cli, number: str) -> None:
    code, _, err = xcecli("submit", "-n", number, "true")
    assert (code, "is not a whole number of 0 or more" in err) == (2, True)
    assert not live.engine.state.jobs


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "x"])
def test_a_timeout_is_a_finite_number(live: Live, xcecli: Cli, seconds: str) -> None:
    assert xcecli("wait", "--timeout", seconds, "1")[:2] == (2, "")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["submit", "\udcff"], "a word of the command is not UTF-8. Job not submitted.\n"),
        (["submit", "-J", "\udcff", "true"], "--name is not UTF-8. Job not submitted.\n"),
        (["submit", "-R", "\udcff", "true"], "--resreq is not UTF-8. Job not submitted.\n"),
    ],
)
def test_bytes_that_are_no_text_are_refused(
    live: Live, xcecli: Cli, argv: list[str], said: str
) -> None:
    assert xcecli(*argv) == (3, "", said)


def test_a_gangs_kill_ends_no_plain_job(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "true")
    assert xcecli("group", "kill", "1") == (4, "", "Group <1>: No matching group found\n")
    assert live.engine.state.jobs[1].state == "PENDING"
    assert xcecli("kill", "g99") == (4, "", "Group <g99>: No matching group found\n")


def test_the_end_of_a_wait_tells_what_the_last_start_failed_by(live: Live, xcecli: Cli) -> None:
    xcecli("submit", "true")
    ended = Exit(how="none", reason="start_failed")
    live.put("job", 1, state="EXITED", exit=ended, last_failure="bad_task: no such command")
    assert xcecli("wait", "1") == (
        125,
        "",
        (
            "Job <1> ended without an exit code: start_failed\n"
            "last failed start: bad_task: no such command\n"
        ),
    )


def test_a_text_that_is_no_yaml_is_a_fault_with_its_place(xcecli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_bytes(b"group: g\nroles: a\x1bb\n")
    code, out, err = xcecli("group", "lint", "--json", str(file))
    told = json.loads(out)
    assert (code, told["ok"]) == (3, False)
    assert [(one["line"], one["column"]) for one in told["faults"]] == [(2, 9)]
    assert err.startswith(f"{file}:2:9: a character that YAML does not allow: U+001B\n")


@pytest.mark.parametrize(
    "argv",
    [
        ["jobs", "-a"],
        ["job", "1"],
        ["hosts"],
        ["queues"],
        ["instances"],
        ["claim", "list"],
        ["group", "list"],
        ["explain", "1"],
        ["history", "1"],
        ["submit", "true"],
        ["kill", "1"],
        ["kill", "99"],
        ["jobs", "99"],
        ["resreq", "check", "mem>1"],
    ],
)
def test_json_is_one_document_on_stdout(live: Live, xcecli: Cli, argv: list[str]) -> None:
    xcecli("submit", "-J", "odd \u00e9 name", "printf", ODD)
    family = argv[:2] if argv[0] in ("claim", "group", "resreq") else argv[:1]
    code, out, _ = xcecli(*family, "--json", *argv[len(family) :])
    assert code in (0, 4)
    assert isinstance(json.loads(out), dict | list)
    assert out.isascii()


# -- places ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://evil.example:80",
        "http://127.0.0.1:65536",
        "http://127.0.0.1:\u0663",
        "ftp://127.0.0.1:1",
        "http://10.0.0.1:80",
        "http://127.0.0.1.evil.example:80",
        "http://:80",
        "http://127.0.0.1",
    ],
)
def test_a_token_is_sent_to_this_machine_only(
    live: Live, xcecli: Cli, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire.socket.socket, "connect", None)
    code, _, err = xcecli("jobs", "--url", url)
    assert code == 2
    assert err.startswith("XCE_URL: ")


@pytest.mark.parametrize("kind", ["folder", "bytes"])
def test_a_token_file_that_holds_none_is_told(tmp_path: Path, xcecli: Cli, kind: str) -> None:
    token = tmp_path / "token"
    if kind == "folder":
        token.mkdir()
    else:
        token.write_bytes(b"\xff\xfe")
    told = xcecli("jobs", "--home", str(tmp_path), "--url", "http://127.0.0.1:1")
    assert told == (1, "", f"{token} holds no token\n")


def test_followed_output_that_may_not_be_read_is_told(live: Live, xcecli: Cli) -> None:
    folder = live.home.parent / "out"
    folder.mkdir()
    xcecli("submit", "-o", str(folder).removesuffix("/"), "true")
    told = (1, "", f"{folder}: Is a directory\n")
    assert xcecli("logs", "-f", "1") == told
    assert xcecli("logs", "1") == told


# -- streams and signals --------------------------------------------------------------------------


def shell(live: Live, line: str, **env: str) -> tuple[int, str, str]:
    """A line of bash in which `$X` is the command."""
    base = {"XCE_HOME": str(live.home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", f'X="{sys.executable} -m xcecli.main"; {line}'],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=live.home,
        env={**base, **env},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.processes
def test_streams_that_are_closed_or_full_give_no_stack_trace(live: Live) -> None:
    assert shell(live, "$X queues >&-") == (0, "", "")
    assert shell(live, "$X job 7 2>&-") == (4, "", "")
    assert shell(live, "$X submit <&-") == (3, "", "No command is specified. Job not submitted.\n")
    assert shell(live, "$X queues >/dev/full") == (1, "", "No space left on device\n")


@pytest.mark.processes
def test_a_directory_that_is_gone_is_told(live: Live) -> None:
    code, _, err = shell(live, "mkdir d; cd d; rmdir ../d; $X submit true")
    assert (code, err) == (1, "the current directory is gone: No such file or directory\n")


@pytest.mark.processes
def test_what_a_character_set_lacks_is_escaped(live: Live) -> None:
    line = "$X submit -J caf\u00e9 true >/dev/null; PYTHONIOENCODING=ascii $X jobs -w"
    code, out, err = shell(live, line, PYTHONUTF8="1")
    assert (code, err) == (0, "")
    assert "caf\\xe9" in out


@pytest.mark.processes
@pytest.mark.parametrize("argv", [["wait", "1"], ["submit", "--wait", "true"]])
def test_an_interrupt_ends_a_wait_with_130_and_leaves_the_job(
    live: Live, xcecli: Cli, argv: list[str]
) -> None:
    xcecli("submit", "true")
    process = subprocess.Popen(
        [sys.executable, "-m", "xcecli.main", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "XCE_HOME": str(live.home)},
    )
    deadline = time.monotonic() + 20
    while not asked_to_wait(live) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert {job.state for job in live.engine.state.jobs.values()} == {"PENDING"}


def asked_to_wait(live: Live) -> bool:
    """Whether somebody sleeps until the log grows."""
    return bool(live.engine._grown._waiters)

"""The command against a real cluster with real processes: jobs, the examples' gangs, outputs.

One service serves all tests of this file; each test has a directory of its own.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kit.cluster_process import cluster_words

pytestmark = [pytest.mark.processes, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
GANGS = ROOT / "examples" / "gangs"
UP_S, LINE_S = 40, 60

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of a running controller with the emulated cluster of the examples."""
    folder = tmp_path_factory.mktemp("up") / "home"
    cluster = ROOT / "examples" / "clusters" / "dgx-4.toml"
    command = cluster_words("--home", folder, "--cluster", cluster, "--allow-root")
    up = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_up(up, folder)
        yield folder
    finally:
        up.send_signal(signal.SIGINT)
        up.communicate(timeout=UP_S)


def wait_up(up: "subprocess.Popen[bytes]", home: Path) -> None:
    end = time.monotonic() + UP_S
    while time.monotonic() < end:
        assert up.poll() is None, up.communicate()[0].decode()
        told = line(home, home.parent, "hosts", "--json")
        if told.returncode == 0:
            items = json.loads(told.stdout)["items"]
            if len([one for one in items if one["status"] == "ok"]) == 4:
                return
        time.sleep(0.1)
    raise AssertionError(f"not up within {UP_S} s: {told.stderr}")


def line(home: Path, where: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "XCE_HOME": str(home), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "xcecli.main", *words],
        cwd=where,
        env=env,
        capture_output=True,
        text=True,
        timeout=LINE_S,
        **more,  # type: ignore[call-overload]
    )


@pytest.fixture
def xce(home: Path, tmp_path: Path) -> Run:
    return lambda *words, **more: line(home, tmp_path, *words, **more)


def test_a_job_runs_and_its_code_and_output_come_back(xce: Run, tmp_path: Path) -> None:
    done = xce(
        "submit", "--wait", "-o", "out.%J", "sh", "-c", "echo at $PWD; echo oops >&2; exit 3"
    )
    assert done.returncode == 3
    job = done.stderr.split("<")[1].split(">")[0]
    assert (tmp_path / f"out.{job}").read_text() == f"at {tmp_path}\noops\n"
    assert xce("logs", job).stdout == f"at {tmp_path}\noops\n"
    told = json.loads(xce("job", "--json", job).stdout)
    assert (told["stat"], told["exit_code"], told["ended_on"]) == ("EXIT", 3, "n1")
    kinds = [step["kind"] for step in json.loads(xce("history", "--json", job).stdout)["records"]]
    assert kinds == ["JobSubmitted", "Planned", "LaunchStarted", "LaunchEnded"]


def test_a_script_with_options_runs_in_its_interpreter(xce: Run, tmp_path: Path) -> None:
    script = "#!/bin/bash\n#BSUB -J scripted -e errors\na=(one two)\necho ${a[1]}\necho no >&2\n"
    done = xce("submit", "--wait", input=script)
    assert done.returncode == 0, done.stderr
    job = done.stderr.split("<")[1].split(">")[0]
    assert (tmp_path / f"xce-{job}.out").read_text() == "two\n"
    assert (tmp_path / "errors").read_text() == "no\n"
    assert xce("logs", "-e", job).stdout == "no\n"


def test_elements_run_within_their_limit_and_write_their_own_files(
    xce: Run, tmp_path: Path
) -> None:
    (tmp_path / "in.2").write_text("two\n")
    told = "echo $XCE_JOB $LSB_JOBINDEX $LSB_JOBINDEX_STEP $LSB_JOBINDEX_END; cat"
    times = f"date +%s.%N; {told}; sleep 0.3; date +%s.%N"
    words = ("-J", "par[2-24:2]%3", "-o", "out.%I", "-i", "in.%I", "sh", "-c", times)
    for index in range(4, 25, 2):
        (tmp_path / f"in.{index}").write_text("")
    done = xce("submit", "--wait", *words)
    assert done.returncode == 0, done.stderr
    job = done.stderr.split("<")[1].split(">")[0]
    spans = []
    for index in range(2, 25, 2):
        lines = (tmp_path / f"out.{index}").read_text().split("\n")
        assert lines[1] == f"{job}[{index}] {index} 2 24"
        spans.append((float(lines[0]), float(lines[-2])))
    assert (tmp_path / "out.2").read_text().splitlines()[2] == "two"
    most = max(sum(a <= begun < b for a, b in spans) for begun, _ in spans)
    assert most <= 3
    assert most > 1
    row = xce("jobs", "-A", "-a", job).stdout.splitlines()[1].split()
    assert (row[1], row[3:]) == ("par[2-24:2]%3", ["12", "0", "12", "0", "0", "0", "0", "0"])
    assert xce("logs", f"{job}[2]").stdout == (tmp_path / "out.2").read_text()


def test_a_running_job_is_listed_followed_and_killed(xce: Run) -> None:
    job = xce("submit", "--id", "sh", "-c", "echo begun; exec sleep 60").stdout.strip()
    end = time.monotonic() + 20
    while "begun" not in xce("logs", job).stdout and time.monotonic() < end:
        time.sleep(0.05)
    row = xce("jobs", job).stdout.splitlines()[1].split()
    assert row[2] == "RUN"
    assert xce("kill", job).stdout == f"Job <{job}> is being terminated\n"
    assert xce("wait", job).returncode == 143
    assert xce("logs", "-f", job).stdout == "begun\n"


def test_what_can_never_run_says_why(xce: Run) -> None:
    job = xce("submit", "--id", "-n", "9", "-R", "span[hosts=1]", "true").stdout.strip()
    end = time.monotonic() + 20
    told = xce("explain", job).stdout
    while "can never" not in told and time.monotonic() < end:
        time.sleep(0.05)
        told = xce("explain", job).stdout
    why = "can never fit: needs 9 slots on one host and no host has more than 8"
    assert why in told
    for line in (("job", job), ("jobs", "-l", job)):
        assert xce(*line).stdout.splitlines()[-3:-1] == [" PENDING REASONS:", f"  {why}"]
    assert xce("kill", job).returncode == 0


def test_a_suspended_job_runs_only_when_it_is_resumed(xce: Run) -> None:
    held = xce("submit", "--id", "-H", "true").stdout.strip()
    assert xce("submit", "--wait", "true").returncode == 0
    assert xce("jobs", held).stdout.splitlines()[1].split()[2] == "PSUSP"
    assert xce("resume", held).stdout == f"Job <{held}> is being resumed\n"
    assert xce("wait", "--timeout", "30", held).returncode == 0
    assert xce("suspend", held).stderr == f"Job <{held}>: Job has already finished\n"


@pytest.mark.parametrize(
    ("name", "outputs"),
    [
        (
            "pair.yaml",
            {"twin-0": "rank 0 of 2\n", "twin-1": "rank 1 of 2\n"},
        ),
        (
            "pipeline.yaml",
            {"prepare-0": "", "load-0": "got prepared\n", "load-1": "got prepared\n"},
        ),
    ],
)
def test_the_gangs_of_the_examples_run_whole(
    xce: Run, tmp_path: Path, name: str, outputs: dict[str, str]
) -> None:
    done = xce("group", "submit", "--wait", str(GANGS / name))
    group = done.stderr.split("<")[1].split(">")[0]
    assert done.returncode == 0, xce("group", "show", group).stdout
    found = {member: (tmp_path / f"xce-{group}-{member}.out").read_text() for member in outputs}
    assert found == outputs
    told = json.loads(xce("group", "show", "--json", group).stdout)
    assert told["group"]["state"] == "DONE"
    assert {member["stat"] for member in told["members"]} == {"DONE"}


def test_a_dry_run_of_what_can_never_run_fails(xce: Run, tmp_path: Path) -> None:
    manifest = tmp_path / "huge.yaml"
    manifest.write_text('group: huge\nroles:\n  - {name: w, count: 999, command: ["true"]}\n')
    done = xce("group", "submit", "--dry-run", str(manifest))
    assert done.returncode == 1
    assert done.stdout.startswith("It would never run: can never fit")


def test_a_dry_run_of_the_large_example_names_hosts_and_submits_nothing(xce: Run) -> None:
    before = xce("group", "list", "-a").stdout
    done = xce("group", "submit", "--dry-run", str(GANGS / "pretrain.yaml"))
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "It would be placed now:"
    assert [part.split(":")[0].strip() for part in lines[1:]] == [
        "launcher 0",
        "worker 0",
        "worker 1",
        "worker 2",
        "worker 3",
    ]
    assert xce("group", "list", "-a").stdout == before

"""The README's first command: `xce demo` from any folder, and what its example says."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ops.xce_up import processes_of, until, words

GANGS = Path(__file__).resolve().parents[2] / "examples" / "gangs"


@pytest.mark.processes
def test_the_demo_runs_the_gang_and_leaves_no_process(home: Path) -> None:
    done = subprocess.run(
        words("demo", "--home", home), cwd="/", capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout
    assert re.search(r"worker\[0\] is placed on n\d: 4 tasks, GPUs 0 1 2 3$", said, re.MULTILINE)
    assert re.search(
        r"rendezvous \(port\) on n\d is READY 127\.0\.0\.1:210\d\d$", said, re.MULTILINE
    )
    assert "BARRIER passed: 3 ARMED, 3 READY; now they may run" in said
    assert said.index("BARRIER passed") < said.index("launcher[0] on n1 runs")
    assert said.index("role launcher is ready") < said.index("next wave may run: worker[0]")
    assert said.count("the sum over 8 ranks is right") == 8
    assert "8 of 8 ranks have the right sum (432432000)" in said
    assert f"worker[1] wrote {home}/gang/xce-g1-worker-1.out" in said
    assert "Verdict: the gang is DONE, every rank has the right sum." in said
    assert processes_of(home) == []


@pytest.mark.processes
def test_a_demo_that_is_killed_leaves_no_process_either(home: Path) -> None:
    demo = subprocess.Popen(words("demo", "--home", home), stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    until(lambda: "is placed on" in demo.stdout.readline(), "the gang is placed")
    demo.kill()
    demo.communicate()
    until(lambda: not processes_of(home), "nothing runs")


def test_a_rank_with_a_wrong_number_makes_the_example_fail(tmp_path: Path) -> None:
    """One rank lies about its vector: every rank finds the sum wrong, the launcher says so."""
    program = (GANGS / "allreduce.py").read_text()
    liar = program.replace("float((member + 1) * (index % 1000 + 1))", "float(member)")
    assert liar != program
    (tmp_path / "liar.py").write_text(liar)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {"XCE_RENDEZVOUS": f"127.0.0.1:{port}", "XCE_WORLD_SIZE": "3"}

    def start(rank: int, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env={**env, "XCE_RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )

    launcher = start(0, GANGS / "allreduce.py", "--launcher")
    assert launcher.stdout is not None
    assert "2 workers are to meet" in launcher.stdout.readline()
    ranks = [start(1, GANGS / "allreduce.py"), start(2, tmp_path / "liar.py")]
    said = [process.communicate(timeout=30)[0] for process in (launcher, *ranks)]
    assert [process.returncode for process in (launcher, *ranks)] == [1, 1, 1]
    assert "0 of 2 ranks have the right sum" in said[0]
    assert "WRONG at" in said[1]

"""`xce up`, `xce controller`, `xce agent`: what starts, what is refused, what stays running."""

import json
import os
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.ops.xce_up import Service, processes_of, until, words, xce
from xce.ops.agents import holder_of
from xce.ops.main import main
from xce.ops.talk import Said

pytestmark = pytest.mark.processes
Serve = Callable[..., Service]


@pytest.fixture
def serve(serve: Serve) -> Serve:
    """Start `xce up` itself: this file is about it."""
    return partial(serve, command="up")


def here(*arguments: object) -> Result:
    """Run `xce` in this process; for what is refused at once."""
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_a_job_runs_and_stopping_ends_every_process(serve: Serve, home: Path) -> None:
    up = serve()
    assert f"home {home}, hosts n1" in up.ready()
    done = up.submit("sh", "-c", "echo done > mark")
    up.await_state(done, "DONE")
    assert (home / "mark").read_text() == "done\n"
    running = up.submit("sleep", "600")
    up.await_state(running, "RUNNING")
    assert up.stop() == (0, "")
    assert processes_of(home) == []
    assert not (home / "api.sock").exists()


def test_a_second_up_is_refused_with_who_holds_the_home(serve: Serve, home: Path) -> None:
    up = serve()
    up.ready()
    second = here("up", "--home", home)
    assert second.exit_code == 5
    assert second.stderr.startswith(f"xce: {home} is in use by process {up.process.pid} (")
    assert second.stderr.count("\n") == 1
    assert up.ask("GET", "/readyz")["status"] == "ok"


def test_a_port_in_use_is_told_and_no_home_is_left(home: Path, one_host: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = here("up", "--home", home, "--cluster", one_host, "--port", port)
    assert done.exit_code == 1
    assert done.stderr == f"xce: cannot listen on port {port}: Address already in use\n"
    assert not home.exists()


def test_a_home_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        other, uid = tmp_path / "theirs", 65534
        other.mkdir()
        os.chown(other, uid, uid)
    else:
        other, uid = Path("/usr"), 0
    done = here("up", "--home", other)
    assert done.exit_code == 1
    assert done.stderr == (
        f"xce: {other} belongs to uid {uid}; this process runs as {os.geteuid()}\n"
    )


def test_a_home_that_cannot_be_made_is_one_line() -> None:
    done = here("up", "--home", "/proc/xce/home")
    assert done.exit_code == 1
    assert done.stderr == "xce: cannot make /proc/xce/home: No such file or directory\n"


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, 16_384))


def test_a_full_disk_is_one_line_and_nothing_half_made_stays(home: Path, one_host: Path) -> None:
    done = xce("up", "--home", home, "--cluster", one_host, preexec_fn=_small_files)
    assert done.returncode in (1, 70)
    assert done.stderr.startswith("xce: ")
    assert done.stderr.count("\n") == 1
    assert not home.exists()
    assert processes_of(home) == []


def test_a_failed_commit_ends_the_controller_and_jobs_go_on(serve: Serve, home: Path) -> None:
    up = serve()
    up.ready()
    job = up.submit("sh", "-c", "while [ ! -e go ]; do sleep 0.05; done")
    up.await_state(job, "RUNNING")
    resource.prlimit(up.process.pid, resource.RLIMIT_FSIZE, (4_096, 4_096))
    with pytest.raises(Said) as lost:
        up.submit("true")
    assert (lost.value.status, lost.value.body["code"]) == (503, "outcome_unknown")
    _, said = up.process.communicate(timeout=20)
    assert up.process.returncode == 70
    assert "this controller ends, jobs go on; start it again" in said
    again = serve()
    again.ready()
    assert again.ask("GET", f"/v1/jobs/{job}")["state"] == "RUNNING"
    (home / "go").touch()
    again.await_state(job, "DONE")


def test_after_kill_9_the_next_up_takes_over_and_jobs_survive(serve: Serve, home: Path) -> None:
    """The next one is started without a file: the home knows its cluster."""
    up = serve()
    up.ready()
    job = up.submit("sh", "-c", "echo once >> mark; while [ ! -e go ]; do sleep 0.05; done")
    up.await_state(job, "RUNNING")
    until((home / "mark").exists, "the job has begun")
    up.kill()
    assert (home / "api.sock").exists()
    again = serve(cluster=None)
    said = again.ready()
    assert "was left behind; it is replaced" in said
    assert "hosts n1;" in said
    assert again.ask("GET", f"/v1/jobs/{job}")["attempt"] == 1
    (home / "go").touch()
    again.await_state(job, "DONE")
    assert (home / "mark").read_text() == "once\n"
    assert again.stop()[0] == 0
    assert processes_of(home) == []


def test_a_second_signal_does_not_wait_for_stubborn_jobs(serve: Serve, home: Path) -> None:
    up = serve()
    up.ready()
    job = up.submit("sh", "-c", "trap '' TERM; touch begun; while :; do sleep 0.1; done")
    up.await_state(job, "RUNNING")
    until((home / "begun").exists, "the job has begun")
    began_s = time.monotonic()
    up.process.terminate()
    time.sleep(0.3)
    code, said = up.stop()
    assert code == 0
    assert "is killed" in said
    assert time.monotonic() < began_s + 8
    until(lambda: not processes_of(home), "nothing runs")


def test_an_agent_that_dies_is_started_again_and_its_job_goes_on(serve: Serve, home: Path) -> None:
    up = serve()
    up.ready()
    job = up.submit("sh", "-c", "while [ ! -e go ]; do sleep 0.05; done")
    up.await_state(job, "RUNNING")
    first = holder_of(home / "hosts" / "n1" / "agent.lock")
    os.kill(first, signal.SIGKILL)
    until(
        lambda: holder_of(home / "hosts" / "n1" / "agent.lock") not in (0, first),
        "another agent is there",
    )
    (home / "go").touch()
    assert up.await_state(job, "DONE")["attempt"] == 1


def test_controller_and_agent_run_apart(serve: Serve, home: Path, one_host: Path) -> None:
    controller = serve("--log", "json", command="controller")
    told = json.loads(controller.ready())
    assert (told["level"], told["text"].split()[:2]) == ("info", ["up", "at"])
    agent = subprocess.Popen(
        words("agent", "--home", home, "--host", "n1", "--cluster", one_host, "--allow-root"),
        stderr=subprocess.PIPE,
    )
    job = controller.submit("true")
    controller.await_state(job, "DONE")
    assert controller.ask("GET", "/v1/hosts")["items"][0]["slots"] == 4
    assert controller.stop() == (0, "")
    refused = here("up", "--home", home)
    assert refused.exit_code == 1
    assert refused.stderr == (
        f"xce: host n1 has an agent that `xce up` did not start: process {agent.pid}; "
        "stop it first\n"
    )
    agent.terminate()
    assert agent.communicate(timeout=20)[1] == b""
    assert agent.returncode == 0
    until(lambda: not processes_of(home), "nothing runs")


def test_an_operator_drains_and_opens_a_host(serve: Serve, home: Path) -> None:
    up = serve()
    up.ready()
    drained = xce("host", "drain", "n1", "--why", "new disks", "--home", home)
    assert drained.stdout == "host n1 is CLOSED\n"
    assert up.ask("GET", "/v1/hosts")["items"][0]["status"] == "closed_Adm"
    opened = xce("host", "open", "n1", "--home", home, "--json")
    assert '"admin":"OPEN"' in opened.stdout
    lost = xce("host", "lost", "n1", "n9", "--home", home)
    assert lost.stderr.splitlines() == [
        "xce: host n1 is UP; only a silent host can be declared lost",
        "xce: n9: No such host",
    ]
    assert lost.returncode == 5

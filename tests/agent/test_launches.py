"""The life of a launch, with a real agent, a real supervisor and real processes."""

import os
import resource
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.conftest import Host
from tests.agent.fake_controller import FakeController, until
from xce.dispatch.protocol import Armed, Ended, Probed, Reconciled, Started


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    fake = FakeController()
    host = Host(tmp_path_factory.mktemp("home"), fake)
    host.start()
    fake.await_report(Reconciled)
    yield host
    host.close()
    fake.close()


@pytest.fixture
def up(shared: Host) -> Host:
    shared.controller.fresh()
    for path in shared.home.iterdir():
        if not path.is_dir():
            path.unlink()
    return shared


@pytest.fixture
def controller(up: Host) -> FakeController:
    return up.controller


def test_a_launch_is_armed_let_go_and_its_exit_reported(
    up: Host, controller: FakeController
) -> None:
    controller.prepare(1, up.shell("echo hello $XCE_RENDEZVOUS; exit 3"))
    controller.await_report(Armed, 1)
    assert up.text() == ""
    controller.go(1, XCE_RENDEZVOUS="n2:99")
    started = controller.await_report(Started, 1)
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.ran, ended.cause_of_end) == ("exited", 3, "yes", "")
    assert ended.started_us == started.at_us <= ended.ended_us
    assert ended.generation == 7
    assert up.text() == "hello n2:99\n"


def test_prepare_and_go_may_come_as_one_order_and_armed_is_not_told(
    up: Host, controller: FakeController
) -> None:
    controller.go(1, up.shell("echo quick"))
    assert controller.await_report(Ended, 1).code == 0
    assert up.text() == "quick\n"
    assert controller.of(Armed) == []
    assert len(controller.of(Started, 1)) == 1


def test_an_armed_launch_that_is_wanted_gone_never_runs(
    up: Host, controller: FakeController
) -> None:
    controller.prepare(1, up.shell("echo ran"))
    controller.await_report(Armed, 1)
    controller.gone(1, "start_failed")
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.ran, ended.cause_of_end) == ("aborted", "no", "stopped")
    controller.go(1)
    controller.await_stamp()
    assert up.text() == ""


def test_gone_before_prepared_means_that_it_never_starts(
    up: Host, controller: FakeController
) -> None:
    controller.gone(1)
    assert controller.await_report(Ended, 1).ran == "no"
    controller.go(1, up.shell("echo ran"))
    controller.await_stamp()
    assert {(one.how, one.ran) for one in controller.of(Ended, 1)} == {("aborted", "no")}
    assert up.text() == ""


def test_an_acknowledged_outcome_is_told_again_to_who_asks(
    up: Host, controller: FakeController
) -> None:
    controller.go(1, up.shell("exit 5"))
    first = controller.await_report(Ended, 1)
    controller.await_acknowledged(first.seq)
    controller.go(1)
    again = controller.await_report(Ended, 1, nth=2)
    assert (again.how, again.code, again.seq > first.seq) == ("exited", 5, True)


def test_repeated_orders_run_the_command_once(up: Host, controller: FakeController) -> None:
    task = up.shell("echo once")
    for _ in range(3):
        controller.prepare(1, task)
    controller.await_report(Armed, 1)
    for _ in range(3):
        controller.go(1, task)
    controller.await_report(Ended, 1)
    controller.prepare(1, task)
    controller.await_stamp()
    assert {one.ran for one in controller.of(Ended, 1)} == {"yes"}
    assert up.text() == "once\n"


def test_go_for_a_launch_the_host_never_saw_is_lost_and_not_guessed(
    up: Host, controller: FakeController
) -> None:
    controller.go(1)
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.ran) == ("lost", "unknown")


def test_what_cannot_be_executed_exits_as_in_a_shell_and_says_so(
    up: Host, controller: FakeController
) -> None:
    cases = (
        ("no-such-command", 127, "no-such-command: command not found"),
        ("/no/such", 127, "/no/such: No such file or directory"),
        ("/etc/passwd", 126, "/etc/passwd: Permission denied"),
    )
    for launch, (command, code, line) in enumerate(cases, 1):
        controller.prepare(launch, up.task(command, stdout=f"out{launch}"))
        controller.await_report(Armed, launch)
        controller.go(launch)
        ended = controller.await_report(Ended, launch)
        assert (ended.how, ended.code, ended.ran) == ("exited", code, "yes")
        assert (up.home / f"out{launch}").read_text() == f"{line}\n"


UNPREPARABLE = [
    ({"command": ()}, "there is no command"),
    ({"cwd": "/a\0b"}, "the task cannot be understood: embedded null byte"),
    ({"cwd": "/no/such/place"}, "working directory /no/such/place: No such file"),
    ({"stdout": "missing/out"}, "output file missing/out: No such file or directory"),
    ({"stdin": "missing"}, "input file missing: No such file or directory"),
    ({"stdout": "link"}, "output file link: is a symbolic link, which is not followed"),
    ({"stderr": "link"}, "error output file link: is a symbolic link"),
    ({"stdout": "pipe"}, "output file pipe: No such device or address"),
]


def test_what_cannot_be_prepared_is_aborted_with_the_reason(
    up: Host, controller: FakeController
) -> None:
    target = up.home / "target"
    target.write_text("precious")
    os.symlink(target, up.home / "link")
    os.mkfifo(up.home / "pipe")
    for launch, (more, why) in enumerate(UNPREPARABLE, 1):
        controller.prepare(launch, up.task(**{"command": ("/bin/true",), **more}))
        ended = controller.await_report(Ended, launch)
        assert (ended.how, ended.ran, ended.cause_of_end) == ("aborted", "no", "bad_task")
        assert why in ended.message
    assert target.read_text() == "precious"


def test_a_launch_without_processes_is_armed_runs_and_ends_when_wanted_gone(
    up: Host, controller: FakeController
) -> None:
    controller.prepare(1, up.task("/bin/false", processes=0))
    controller.await_report(Armed, 1)
    controller.go(1)
    controller.await_report(Started, 1)
    assert controller.of(Ended) == []
    controller.gone(1, "stopped")
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.cause_of_end, ended.ran) == ("exited", 0, "stopped", "yes")


def test_each_process_knows_its_rank_and_all_must_end(up: Host, controller: FakeController) -> None:
    text = "echo $XCE_RANK $XCE_LOCAL_RANK"
    controller.prepare(1, up.shell(text, processes=4, first_rank=8))
    controller.await_report(Armed, 1)
    controller.go(1)
    assert controller.await_report(Ended, 1).code == 0
    assert sorted(up.text().splitlines()) == ["10 2", "11 3", "8 0", "9 1"]


def test_the_first_process_that_fails_stops_the_rest_and_gives_the_code(
    up: Host, controller: FakeController
) -> None:
    text = "if [ $XCE_RANK = 2 ]; then exit 9; fi; exec sleep 60"
    controller.go(1, up.shell(text, processes=4))
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.cause_of_end) == ("exited", 9, "")


def test_a_signal_ends_and_is_told_apart_from_a_code(up: Host, controller: FakeController) -> None:
    controller.go(1, up.shell("kill -SEGV $$"))
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code) == ("signalled", 11)


def test_a_run_limit_is_enforced_on_the_host(up: Host, controller: FakeController) -> None:
    controller.go(1, up.shell("exec sleep 60", run_limit_us=100_000))
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.cause_of_end) == ("signalled", 15, "run_limit")
    assert 100_000 <= ended.ended_us - ended.started_us < 3_000_000


def test_an_open_port_is_told_once_also_to_a_restarted_agent(
    up: Host, controller: FakeController
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = (
        "import os, socket, time\n"
        "while not os.path.exists('open'): time.sleep(0.01)\n"
        f"s = socket.create_server(('127.0.0.1', {port}))\n"
        "time.sleep(60)\n"
    )
    controller.go(1, up.task(sys.executable, "-S", "-c", server, ready_port=port))
    controller.await_report(Started, 1)
    up.kill_agent()
    up.start()
    controller.await_report(Reconciled)
    assert controller.of(Probed) == []
    (up.home / "open").touch()
    assert controller.await_report(Probed, 1).generation == 7


def test_signals_act_once_however_often_they_are_ordered(
    up: Host, controller: FakeController
) -> None:
    script = "trap 'echo got' USR1; echo up; while [ ! -e end ]; do sleep 0.02; done"
    task = up.task("/bin/sh", "-c", script)
    controller.go(1, task)
    until(lambda: "up" in up.text())
    for _ in range(3):
        controller.launch(1, "RUNNING", task, signals=((1, "URG"), (2, "USR1")))
        stamp = controller.await_stamp()
        assert stamp > 0
    until(lambda: "got" in up.text())
    (up.home / "end").touch()
    controller.await_report(Ended, 1)
    assert up.text().count("got") == 1


def test_a_script_is_run_by_a_shell_and_its_file_removed(
    up: Host, controller: FakeController
) -> None:
    controller.go(1, up.task("a", "b c", script='echo "$#:$2"\n'))
    controller.await_report(Ended, 1)
    controller.go(2, up.task(script="#!/usr/bin/env python3\nprint(6 * 7)\n", stdout="two"))
    controller.await_report(Ended, 2)
    assert (up.text(), up.text("two")) == ("2:b c\n", "42\n")
    assert list((up.folder / "scripts").iterdir()) == []


def test_the_environment_is_the_tasks_alone(up: Host, controller: FakeController) -> None:
    controller.prepare(1, up.task("env", env={"PATH": "/usr/bin:/bin", "A": "1"}))
    controller.await_report(Armed, 1)
    controller.go(1, A="2", XCE_LAUNCH="forged")
    controller.await_report(Ended, 1)
    found = dict(line.split("=", 1) for line in up.text().splitlines())
    assert sorted(found) == [
        "A", "HOME", "LOGNAME", "PATH", "PWD", "USER", "XCE_LAUNCH", "XCE_LOCAL_RANK", "XCE_RANK",
    ]  # fmt: skip
    assert found["A"] == "2"
    assert found["XCE_LAUNCH"].endswith("001.7")


def test_a_process_begins_with_ordinary_signals_and_no_foreign_files(
    up: Host, controller: FakeController
) -> None:
    text = "grep -E 'Sig(Ign|Blk)' /proc/self/status; ls -l /proc/self/fd | grep -c /; ulimit -n"
    controller.go(1, up.shell(text))
    controller.await_report(Ended, 1)
    blocked, ignored, files, limit = up.text().splitlines()
    assert (blocked.split()[1], ignored.split()[1]) == ("0" * 16, "0" * 16)
    assert files == "3"
    assert int(limit) == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_job_runs_as_its_user_who_alone_opens_the_files(
    up: Host, controller: FakeController, tmp_path: Path
) -> None:
    work = Path("/tmp") / f"xce-test-{os.getpid()}"
    work.mkdir(mode=0o755)
    os.chown(work, 65534, 65534)
    try:
        whoami = "id -u; id -g; umask; grep -c NoNewPrivs:.1 /proc/self/status"
        more = {"cwd": str(work), "uid": 65534, "gid": 65534, "umask": 0o077}
        controller.go(1, up.shell(whoami, **more))
        assert controller.await_report(Ended, 1).code == 0
        assert (work / "out").read_text() == "65534\n65534\n0077\n1\n"
        assert (work / "out").stat().st_uid == 65534
        controller.go(2, up.shell("true", **{**more, "stdout": "/etc/xce-no"}))
        assert (
            "output file /etc/xce-no: Permission denied"
            in controller.await_report(Ended, 2).message
        )
    finally:
        for path in work.iterdir():
            path.unlink()
        work.rmdir()

"""Files that a task brings: written for the job's user alone, and gone with the launch."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.conftest import ENV, Host
from tests.agent.fake_controller import FakeController, until
from xce.agent.supervisor.wire import TASK, PeerBroken, check
from xce.dispatch.protocol import Armed, Ended, Reconciled, Started

SHOW = 'cat $LSB_DJOB_HOSTFILE; stat -c "%a %u" $LSB_DJOB_HOSTFILE; echo $LSB_DJOB_HOSTFILE'
TWO = {"LSB_DJOB_HOSTFILE": "n1\nn1\nn2\n"}
NOBODY = 65534


@pytest.fixture
def open_host(controller: FakeController) -> Iterator[Host]:
    """A host whose folder other users may pass through."""
    folder = Path(tempfile.mkdtemp(prefix="xce-test-"))
    folder.chmod(0o755)
    host = Host(folder, controller)
    host.start()
    controller.await_report(Reconciled)
    yield host
    host.close()
    shutil.rmtree(folder)


def names(host: Host) -> list[str]:
    return sorted(path.name for path in (host.folder / "scripts").iterdir())


def test_a_process_reads_its_files_which_are_gone_with_the_launch(
    open_host: Host, controller: FakeController
) -> None:
    forged = {**ENV, "LSB_DJOB_HOSTFILE": "/forged"}
    controller.prepare(1, open_host.shell(SHOW, files=TWO, env=forged, script="", umask=0o777))
    controller.await_report(Armed, 1)
    assert names(open_host) == ["1.7.lsb_djob_hostfile"]
    controller.go(1)
    assert controller.await_report(Ended, 1).code == 0
    path = open_host.folder / "scripts" / "1.7.lsb_djob_hostfile"
    (open_host.home / "out").chmod(0o600)
    assert open_host.text() == f"n1\nn1\nn2\n600 {os.geteuid()}\n{path}\n"
    assert names(open_host) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_files_are_the_users_and_no_other_user_reads_them(
    open_host: Host, controller: FakeController
) -> None:
    work = open_host.home / "work"
    work.mkdir()
    os.chown(work, NOBODY, NOBODY)
    user = {"cwd": str(work), "uid": NOBODY, "gid": NOBODY}
    controller.prepare(1, open_host.shell(SHOW, files=TWO, **user))
    controller.await_report(Armed, 1)
    path = open_host.folder / "scripts" / "1.7.lsb_djob_hostfile"
    other = {**user, "uid": NOBODY - 1, "stdout": ""}
    controller.go(2, open_host.shell(f"test ! -r {path}; exit $?", **other))
    assert controller.await_report(Ended, 2).code == 0
    controller.go(1)
    assert controller.await_report(Ended, 1).code == 0
    assert (work / "out").read_text() == f"n1\nn1\nn2\n600 {NOBODY}\n{path}\n"
    assert names(open_host) == []


def test_thousands_of_lines_arrive_and_bind(open_host: Host, controller: FakeController) -> None:
    mine = max(os.sched_getaffinity(0))
    lines = "".join(f"host-number-{n} 0\n" for n in range(20_000)) + f"n1 {mine}\n"
    show = (
        "import os; text = open(os.environ['LSB_AFFINITY_HOSTFILE']).read();"
        "print(text.count('\\n'), text[-20:].split()[-2:], sorted(os.sched_getaffinity(0)))"
    )
    task = open_host.task(
        sys.executable,
        *("-I", "-S", "-c", show),
        env={**ENV, "XCE_HOST": "n1"},
        files={"LSB_AFFINITY_HOSTFILE": lines},
    )
    controller.go(1, task)
    assert controller.await_report(Ended, 1).code == 0
    assert open_host.text() == f"20001 ['n1', '{mine}'] [{mine}]\n"


def test_files_of_what_never_ran_or_has_no_processes_do_not_stay(
    open_host: Host, controller: FakeController
) -> None:
    controller.prepare(1, open_host.shell("true", files=TWO))
    controller.await_report(Armed, 1)
    controller.gone(1)
    controller.await_report(Ended, 1)
    controller.go(2, open_host.shell("true", files=TWO, cwd="/no/such/place"))
    controller.await_report(Ended, 2)
    controller.prepare(3, open_host.shell("true", files=TWO, processes=0))
    controller.await_report(Armed, 3)
    assert names(open_host) == []


def test_files_of_launches_that_outlived_their_supervisor_are_removed(
    open_host: Host, controller: FakeController
) -> None:
    controller.go(1, open_host.shell("exec sleep 60", files=TWO, script=""))
    controller.await_report(Started, 1)
    (open_host.folder / "scripts" / "9.9.sh").touch()
    open_host.kill_supervisor()
    assert controller.await_report(Ended, 1).cause_of_end == "supervisor_died"
    until(lambda: names(open_host) == [])


@pytest.mark.parametrize("files", [[], {"../up": ""}, {"A": 1}, {"": ""}])
def test_what_is_no_variable_with_text_is_no_request(files: object) -> None:
    task = {name: kind() for name, kind in TASK.items()}
    known = {"do": "prepare", "launch": 1, "generation": 7}
    assert check({**known, "task": task}) == "prepare"
    with pytest.raises(PeerBroken, match="file"):
        check({**known, "task": {**task, "files": files}})

"""Agents, supervisors and controllers die; no job runs twice and no outcome is lost."""

import os
import signal
import time

import pytest

from tests.agent.conftest import Host, is_alive
from tests.agent.fake_controller import FakeController, until
from xce.dispatch.protocol import (
    Armed,
    AttachmentResult,
    Ended,
    Reconciled,
    Started,
)


@pytest.fixture
def up(host: Host, controller: FakeController) -> Host:
    host.start()
    controller.await_report(Reconciled)
    return host


def test_jobs_outlive_a_killed_agent_and_are_reported_once(
    up: Host, controller: FakeController
) -> None:
    controller.go(1, up.shell("echo begin; while [ ! -e end ]; do sleep 0.01; done; echo end"))
    controller.prepare(2, up.shell("echo no"))
    controller.await_report(Started, 1)
    controller.await_report(Armed, 2)
    up.kill_agent()
    supervisor = up.supervisor_pid()
    up.start()
    found = controller.await_report(Reconciled, nth=2)
    assert [(one.launch, one.state) for one in found.launches] == [(1, "running"), (2, "armed")]
    assert up.supervisor_pid() == supervisor
    (up.home / "end").touch()
    assert controller.await_report(Ended, 1).code == 0
    assert up.text() == "begin\nend\n"
    assert len(controller.of(Ended, 1)) == 1


def test_an_exit_while_no_agent_runs_is_reported_before_the_reconciliation(
    up: Host, controller: FakeController
) -> None:
    controller.go(1, up.shell("while [ ! -e end ]; do sleep 0.01; done; exit 6"))
    controller.await_report(Started, 1)
    up.kill_agent()
    (up.home / "end").touch()
    time.sleep(0.1)
    up.start()
    found = controller.await_report(Reconciled, nth=2)
    assert found.launches == ()
    ended = controller.of(Ended, 1)
    assert [(one.how, one.code) for one in ended] == [("exited", 6)]
    assert ended[0].seq < found.seq


def test_an_outcome_is_told_again_until_it_is_acknowledged(
    up: Host, controller: FakeController
) -> None:
    controller.await_stamp()
    controller.swallow = 2
    controller.go(1, up.shell("exit 2"))
    controller.await_report(Ended, 1, nth=2)
    up.kill_agent()
    up.start()
    controller.await_report(Reconciled, nth=2)
    assert {one.code for one in controller.of(Ended, 1)} == {2}


def test_a_killed_supervisor_loses_what_ran_and_aborts_what_was_armed(
    up: Host, controller: FakeController
) -> None:
    escaped = "setsid sh -c 'echo $$ > escaped; sleep 60' & sleep 60"
    controller.go(1, up.shell(escaped))
    controller.prepare(2, up.shell("echo ran", stdout="two"))
    controller.await_report(Started, 1)
    controller.await_report(Armed, 2)
    until(lambda: up.text("escaped"))
    pid = int(up.text("escaped"))
    up.kill_supervisor()
    first, second = controller.await_report(Ended, 1), controller.await_report(Ended, 2)
    assert (first.how, first.ran, first.cause_of_end) == ("lost", "yes", "supervisor_died")
    assert (second.how, second.ran, second.cause_of_end) == ("aborted", "no", "supervisor_died")
    assert not is_alive(pid)
    controller.go(2)
    controller.await_stamp()
    assert up.text("two") == ""
    controller.go(3, up.shell("echo new life", stdout="three"))
    controller.await_report(Ended, 3)
    assert up.text("three") == "new life\n"


def test_a_supervisor_that_crashes_by_itself_is_started_again(
    up: Host, controller: FakeController
) -> None:
    pid = up.supervisor_pid()
    (up.folder / "scripts").rmdir()
    os.kill(pid, signal.SIGSEGV)
    until(lambda: up.supervisor_pid() != pid)
    controller.go(1, up.task(script="echo again"))
    controller.await_report(Ended, 1)
    assert up.text() == "again\n"


def test_leftovers_without_control_groups_are_found_by_their_cookie(
    host: Host, controller: FakeController
) -> None:
    host.start(cgroup="none")
    controller.await_report(Reconciled)
    controller.go(1, host.shell("setsid sh -c 'echo $$ > escaped; sleep 60' & sleep 60"))
    until(lambda: host.text("escaped"))
    pid = int(host.text("escaped"))
    host.kill_supervisor()
    assert controller.await_report(Ended, 1).how == "lost"
    assert not is_alive(pid)


def test_after_a_reboot_everything_of_before_is_lost_or_aborted(
    host: Host, controller: FakeController
) -> None:
    host.start(boot_id="first")
    controller.await_report(Reconciled)
    controller.go(1, host.shell("sleep 60"))
    controller.prepare(2, host.shell("sleep 60"))
    controller.await_report(Started, 1)
    controller.await_report(Armed, 2)
    host.kill_agent()
    host.kill_supervisor()
    host.start(boot_id="second")
    first, second = controller.await_report(Ended, 1), controller.await_report(Ended, 2)
    assert (first.how, first.ran, first.cause_of_end) == ("lost", "yes", "reboot")
    assert (second.how, second.ran, second.cause_of_end) == ("aborted", "no", "reboot")
    assert controller.registers[-1].boot_id == "second"


# The supervisor's commits here: 1 host and boot, 2 epoch, 3 intent, 4 started, 5 exited.
POINTS = [
    ("journal.before_write", 2, "exited", "ran\n"),
    ("journal.before_write", 3, "exited", "ran\n"),
    ("journal.after_write", 3, "aborted", ""),
    ("launch.before_fork", 1, "aborted", ""),
    ("launch.before_started", 1, "aborted", ""),
    ("journal.before_write", 4, "aborted", ""),
    ("journal.after_sync", 4, "lost", ""),
    ("launch.after_started", 1, "lost", ""),
    ("journal.before_write", 5, "lost", "ran\n"),
    ("journal.after_write", 5, "exited", "ran\n"),
    ("launch.after_exited", 1, "exited", "ran\n"),
]


@pytest.mark.kill
@pytest.mark.parametrize(("point", "nth", "how", "text"), POINTS)
def test_a_supervisor_killed_at_a_point_runs_the_command_at_most_once(
    host: Host, controller: FakeController, point: str, nth: int, how: str, text: str
) -> None:
    host.start(env={"XCE_CRASH_AT_SUPERVISOR": f"{point}:{nth}"})
    controller.await_report(Reconciled)
    controller.go(1, host.shell("echo ran"))
    ended = controller.await_report(Ended, 1)
    assert (ended.how, host.text()) == (how, text)
    assert ended.ran == ("no" if how == "aborted" else "yes")
    assert len(controller.of(Ended, 1)) == 1


@pytest.mark.kill
@pytest.mark.parametrize("point", ["order.received", "report.before_post", "report.after_post"])
def test_an_agent_killed_at_a_point_reports_the_same_end(
    host: Host, controller: FakeController, point: str
) -> None:
    host.start(env={"XCE_CRASH_AT": f"{point}:{1 if point.startswith('order') else 2}"})
    controller.await_report(Reconciled)
    controller.go(1, host.shell("echo ran; exit 4"))
    assert host.agent is not None
    host.agent.wait(10)
    assert host.agent.returncode == -signal.SIGKILL
    host.agent.communicate()
    host.start()
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code) == ("exited", 4)
    assert host.text() == "ran\n"


@pytest.mark.kill
def test_a_child_killed_before_exec_ran_nothing(host: Host, controller: FakeController) -> None:
    host.start(env={"XCE_CRASH_AT_SUPERVISOR": "launch.before_exec:1"})
    controller.await_report(Reconciled)
    controller.go(1, host.shell("echo ran"))
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code) == ("signalled", signal.SIGKILL)
    assert host.text() == ""


def test_a_new_leader_is_registered_with_and_an_old_one_refused(
    up: Host, controller: FakeController
) -> None:
    controller.prepare(1, up.shell("echo ran"))
    controller.await_report(Armed, 1)
    controller.new_epoch()
    found = controller.await_report(Reconciled, nth=2)
    assert [(one.launch, one.state) for one in found.launches] == [(1, "armed")]
    controller.epoch = 1
    polls = len(controller.polls)
    controller.go(1)
    controller.wait(lambda: len(controller.polls) > polls + 2)
    assert up.text() == ""
    assert controller.of(Started, 1) == []
    up.kill_agent()
    controller.epoch = 3
    up.start()
    controller.await_registered(3)
    assert controller.registers[-1].epoch == 2
    assert controller.registers[-1].anchor_lsn >= 1


def test_a_controller_may_ask_for_a_reconciliation_at_any_time(
    up: Host, controller: FakeController
) -> None:
    controller.attach(5, "READY", "static", value="v")
    controller.await_report(AttachmentResult, 5)
    with controller._changed:
        controller.wants_reconcile = 77
        controller._changed.notify_all()
    found = controller.await_report(Reconciled, nth=2)
    assert found.question == 77
    assert [(one.attachment, one.state, one.value) for one in found.attachments] == [
        (5, "ready", "v")
    ]


def test_an_agent_that_is_told_to_stop_leaves_its_launches_running(
    up: Host, controller: FakeController
) -> None:
    controller.go(1, up.shell("echo $$ > pid; exec sleep 60"))
    until(lambda: up.text("pid"))
    assert up.leave() == 0
    assert is_alive(int(up.text("pid")))


def test_an_agent_may_be_told_to_stop_its_launches_too(
    host: Host, controller: FakeController
) -> None:
    host.start(on_leave="stop")
    controller.await_report(Reconciled)
    controller.go(1, host.shell("echo $$ > pid; exec sleep 60"))
    until(lambda: host.text("pid"))
    supervisor = host.supervisor_pid()
    assert host.leave() == 0
    assert not is_alive(int(host.text("pid")))
    until(lambda: not is_alive(supervisor))
    ended = controller.await_report(Ended, 1, limit_s=0.1)
    assert (ended.how, ended.cause_of_end) == ("signalled", "stopped")


def test_an_idle_supervisor_ends_with_its_agent(up: Host, controller: FakeController) -> None:
    supervisor = up.supervisor_pid()
    assert up.leave() == 0
    until(lambda: not is_alive(supervisor))

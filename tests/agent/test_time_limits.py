"""Limits of time are the host's to enforce: real processes, with and without a controller."""

import time

import pytest

from tests.agent.conftest import Host, is_alive
from tests.agent.fake_controller import FakeController, until
from xce.dispatch.protocol import RUNNING, Ended, Reconciled, Started


@pytest.fixture
def up(host: Host, controller: FakeController) -> Host:
    host.start()
    controller.await_report(Reconciled)
    return host


def test_a_run_limit_is_enforced_while_nobody_gives_orders(
    up: Host, controller: FakeController
) -> None:
    controller.go(1, up.shell("echo $$ > pid; exec sleep 60", run_limit_us=1_000_000))
    controller.await_report(Started, 1)
    until(lambda: up.text("pid"))
    up.kill_agent()
    assert is_alive(int(up.text("pid")))
    until(lambda: not is_alive(int(up.text("pid"))))
    up.start()
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.cause_of_end) == ("signalled", 15, "run_limit")
    assert 1_000_000 <= ended.ended_us - ended.started_us < 4_000_000


def test_a_termination_time_is_enforced_on_the_host(up: Host, controller: FakeController) -> None:
    end_us = time.time_ns() // 1000 + 400_000
    controller.go(1, up.shell("exec sleep 60", terminate_us=end_us))
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.cause_of_end) == ("signalled", 15, "deadline")
    assert 0 <= ended.ended_us - end_us < 3_000_000


def test_what_ignores_its_limit_is_killed_after_its_grace(
    up: Host, controller: FakeController
) -> None:
    text = "trap '' TERM; while :; do sleep 0.1; done"
    controller.go(1, up.shell(text, run_limit_us=300_000, kill_grace_us=400_000))
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.cause_of_end) == ("signalled", 9, "run_limit")
    assert 700_000 <= ended.ended_us - ended.started_us < 4_000_000


def test_a_signal_of_its_own_asks_a_job_to_end(up: Host, controller: FakeController) -> None:
    text = "trap 'echo two; exit 7' USR2; trap 'exit 8' TERM; echo go; while :; do sleep 0.1; done"
    controller.go(1, up.shell(text, stop_signal="USR2"))
    until(lambda: "go" in up.text())
    controller.gone(1, "user")
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.cause_of_end) == ("exited", 7, "killed")
    assert up.text().split()[-1] == "two"


def test_a_file_is_emptied_by_each_attempt_or_added_to(
    up: Host, controller: FakeController
) -> None:
    for launch, anew in ((1, ()), (2, ()), (3, ("stdout",))):
        controller.go(
            launch, up.shell(f"echo {launch}; echo e{launch} >&2", stderr="err", anew=anew)
        )
        controller.await_report(Ended, launch)
        assert up.text() == {1: "1\n", 2: "1\n2\n", 3: "3\n"}[launch]
    assert up.text("err") == "e1\ne2\ne3\n"


def test_limits_move_and_go_away_while_it_runs(up: Host, controller: FakeController) -> None:
    controller.go(1, up.shell("exec sleep 60", run_limit_us=60_000_000))
    controller.go(2, up.shell("sleep 1.5; exit 4", run_limit_us=1_000_000))
    controller.await_report(Started, 1)
    controller.await_report(Started, 2)
    controller.launch(2, RUNNING, run_limit_us=0, terminate_us=0)
    controller.launch(1, RUNNING, run_limit_us=500_000, terminate_us=0)
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.cause_of_end) == ("signalled", "run_limit")
    ended = controller.await_report(Ended, 2)
    assert (ended.how, ended.code, ended.cause_of_end) == ("exited", 4, "")

"""Freezing a launch, with real processes: its whole tree stands still and goes on, or is killed."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.agent.conftest import Host, is_alive
from tests.agent.fake_controller import FakeController, until
from xce.dispatch.protocol import GONE, RUNNING, Ended, Frozen, Reconciled, Started

DRIVERS = pytest.mark.parametrize("driver", ["auto", "v1", "none"])
# Counts in the main process, in a child, and in what has a session of its own and lost its parent.
COUNT = """
import os, sys, time
def count(name):
    number = 0
    while True:
        number += 1
        with open(name + ".new", "w") as out: out.write(str(number))
        os.rename(name + ".new", name)
        time.sleep(0.002)
if os.fork() == 0:
    count("child")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open("escaped.pid", "w") as out: out.write(str(os.getpid()))
        count("escaped")
    os._exit(0)
count("main")
"""
NAMES = ("main", "child", "escaped")


def counting(host: Host, **more: object) -> object:
    return host.task(sys.executable, "-I", "-S", "-c", COUNT, **more)


def counts(host: Host) -> list[int]:
    return [int((host.home / name).read_text()) for name in NAMES]


def run(host: Host, controller: FakeController, driver: str, **more: object) -> None:
    """Launch 1 counts in three processes."""
    host.start(cgroup=driver)
    controller.await_report(Reconciled)
    controller.go(1, counting(host, **more))
    until(lambda: all((host.home / name).exists() for name in NAMES))


def freeze(controller: FakeController, number: int) -> None:
    """Order it, and wait until the host has done it."""
    controller.launch(1, RUNNING, freeze=number)
    controller.wait(lambda: any(one.freeze == number for one in controller.of(Frozen, 1)))


def stands(host: Host) -> bool:
    before = counts(host)
    time.sleep(0.1)
    return counts(host) == before


def goes_on(host: Host) -> None:
    before = counts(host)
    until(lambda: all(now > then for now, then in zip(counts(host), before, strict=True)))


@DRIVERS
def test_a_whole_tree_stands_still_and_goes_on(
    host: Host, controller: FakeController, driver: str
) -> None:
    run(host, controller, driver)
    for number in (1, 3):
        freeze(controller, number)
        assert stands(host)
        freeze(controller, number + 1)
        goes_on(host)
    assert [one.freeze for one in controller.of(Frozen, 1)] == [1, 2, 3, 4]


@DRIVERS
def test_crossed_and_repeated_orders_do_no_harm(
    host: Host, controller: FakeController, driver: str
) -> None:
    run(host, controller, driver)
    freeze(controller, 3)
    for late in (1, 2, 0, 3):
        controller.launch(1, RUNNING, freeze=late)
        controller.await_stamp()
        assert stands(host)
    freeze(controller, 4)
    controller.launch(1, RUNNING, freeze=3)
    controller.await_stamp()
    goes_on(host)


@DRIVERS
def test_what_was_to_be_frozen_before_it_was_let_go_is_frozen_then(
    host: Host, controller: FakeController, driver: str
) -> None:
    host.start(cgroup=driver)
    controller.await_report(Reconciled)
    controller.launch(1, RUNNING, counting(host), freeze=1)
    controller.await_report(Frozen, 1)
    seen = {name for name in NAMES if (host.home / name).exists()}
    time.sleep(0.2)
    assert {name for name in NAMES if (host.home / name).exists()} == seen
    freeze(controller, 2)
    until(lambda: all((host.home / name).exists() for name in NAMES))


@DRIVERS
def test_a_frozen_tree_is_killed_without_running_again(
    host: Host, controller: FakeController, driver: str
) -> None:
    run(host, controller, driver)
    freeze(controller, 1)
    before = counts(host)
    escaped = int((host.home / "escaped.pid").read_text())
    controller.launch(1, GONE, freeze=1)
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code) == ("signalled", signal.SIGKILL)
    assert not is_alive(escaped)
    assert counts(host) == before


@DRIVERS
def test_what_has_lent_nothing_may_end_itself_gently(
    host: Host, controller: FakeController, driver: str
) -> None:
    host.start(cgroup=driver)
    controller.await_report(Reconciled)
    script = "trap 'echo saved; exit 5' TERM; echo up; while :; do sleep 0.02; done"
    controller.go(1, host.shell(script, kill_grace_us=5_000_000))
    until(lambda: "up" in host.text())
    freeze(controller, 1)
    controller.launch(1, GONE, freeze=2)
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code) == ("exited", 5)
    assert host.text().splitlines()[-1] == "saved"


@DRIVERS
def test_it_stays_frozen_when_the_agent_is_killed_and_a_new_one_tells_it(
    host: Host, controller: FakeController, driver: str
) -> None:
    run(host, controller, driver)
    freeze(controller, 1)
    host.kill_agent()
    assert stands(host)
    told = len(controller.of(Frozen, 1))
    host.start(cgroup=driver)
    controller.await_report(Frozen, 1, nth=told + 1)
    assert stands(host)
    freeze(controller, 2)
    goes_on(host)


@DRIVERS
def test_a_frozen_tree_is_cleaned_up_when_the_supervisor_dies(
    host: Host, controller: FakeController, driver: str
) -> None:
    run(host, controller, driver)
    freeze(controller, 1)
    escaped = int((host.home / "escaped.pid").read_text())
    host.kill_supervisor()
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.cause_of_end) == ("lost", "supervisor_died")
    assert not is_alive(escaped)


@DRIVERS
def test_frozen_time_does_not_count_toward_the_run_limit(
    host: Host, controller: FakeController, driver: str
) -> None:
    run(host, controller, driver, run_limit_us=1_000_000, kill_grace_us=100_000)
    freeze(controller, 1)
    time.sleep(1.5)
    assert not controller.of(Ended, 1)
    freeze(controller, 2)
    goes_on(host)
    ended = controller.await_report(Ended, 1)
    started = controller.await_report(Started, 1)
    assert ended.cause_of_end == "run_limit"
    assert ended.ended_us - started.at_us > 2_400_000


def test_a_journal_tells_how_far_it_had_come(tmp_path: Path) -> None:
    from xce.agent.supervisor.journal import Journal
    from xce.agent.supervisor.ledger import Ledger

    ledger = Ledger(Journal(str(tmp_path / "journal")))
    ledger.note_intent(1, 7)
    for number in (1, 2, 1):
        ledger.note_frozen(1, number)
    ledger.commit()
    again = Ledger(Journal(str(tmp_path / "journal")))
    assert again.pages[1].freeze == 2
    assert again.pages[1].entry()["freeze"] == 2


__all__ = ["os"]

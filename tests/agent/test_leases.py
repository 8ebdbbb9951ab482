"""Work with a lease is stopped by the supervisor when its host is cut off, whoever is gone."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.agent.conftest import Host, is_alive
from tests.agent.fake_controller import FakeController, until
from xce.agent import runtime
from xce.agent.runtime import Agent
from xce.agent.settings import AgentConfig
from xce.agent.supervisor.endings import Endings
from xce.agent.supervisor.journal import Journal
from xce.agent.supervisor.launch import Launch, LaunchState
from xce.agent.supervisor.ledger import Ledger
from xce.agent.supervisor.processes.cgroup import Group
from xce.agent.supervisor.processes.tree import Tree
from xce.dispatch.protocol import (
    LEASES,
    PROTOCOL,
    RUNNING,
    UNKILLABLE,
    Armed,
    Ended,
    Frozen,
    Orders,
    Reconciled,
    Started,
)
from xce.model.host import HostFacts

LEASE_S = 1.5
LEASE_US = int(LEASE_S * 1_000_000)


@pytest.fixture
def up(host: Host, controller: FakeController) -> Host:
    controller.heartbeat_us = 200_000
    host.start()
    controller.await_report(Reconciled)
    return host


def running(up: Host, controller: FakeController) -> int:
    """A launch with a lease runs; the pid of its process."""
    controller.go(1, up.shell("echo $$ > pid; exec sleep 60", lease_us=LEASE_US))
    controller.await_report(Started, 1)
    until(lambda: up.text("pid").strip())
    return int(up.text("pid"))


def test_an_agent_says_that_it_keeps_leases(up: Host, controller: FakeController) -> None:
    assert {LEASES, UNKILLABLE} <= set(controller.registers[0].can)


def test_polls_that_are_answered_keep_work_alive(up: Host, controller: FakeController) -> None:
    pid = running(up, controller)
    time.sleep(2.5 * LEASE_S)
    assert is_alive(pid)
    up.kill_agent()
    up.start()
    time.sleep(2 * LEASE_S)
    assert is_alive(pid)


def test_the_supervisor_stops_it_without_an_agent_and_tells_the_next_one(
    up: Host, controller: FakeController
) -> None:
    pid = running(up, controller)
    up.kill_agent()
    killed_s = time.monotonic()
    time.sleep(LEASE_S / 2)
    assert is_alive(pid)
    until(lambda: not is_alive(pid))
    assert time.monotonic() - killed_s < LEASE_S + 1.0
    up.start()
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.code, ended.cause_of_end) == ("signalled", signal.SIGTERM, "lease")
    assert ended.message == "the controller did not answer this host for 1.5 s"


def test_what_ignores_the_stop_is_killed_when_its_grace_is_over(
    up: Host, controller: FakeController
) -> None:
    text = "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done"
    task = up.shell(text, lease_us=LEASE_US, kill_grace_us=500_000)
    controller.go(1, task)
    until(lambda: up.text("pid").strip())
    pid = int(up.text("pid"))
    up.kill_agent()
    began_s = time.monotonic()
    until(lambda: not is_alive(pid))
    assert time.monotonic() - began_s < LEASE_S + 0.5 + 1.0
    up.start()
    assert controller.await_report(Ended, 1).code == signal.SIGKILL


def test_a_controller_that_answers_nothing_renews_nothing(
    up: Host, controller: FakeController
) -> None:
    pid = running(up, controller)
    controller.refuse = (503, "not now")
    until(lambda: not is_alive(pid), LEASE_S + 2.0)
    controller.refuse = None
    assert controller.await_report(Ended, 1).cause_of_end == "lease"


def test_an_agent_that_was_stopped_lets_nothing_go_afterwards(
    up: Host, controller: FakeController
) -> None:
    controller.prepare(1, up.shell("echo ran", lease_us=LEASE_US))
    controller.await_report(Armed, 1)
    assert up.agent is not None
    os.kill(up.agent.pid, signal.SIGSTOP)
    try:
        time.sleep(LEASE_S + 0.5)
        controller.go(1)
        controller.go(2, up.shell("echo ran too", lease_us=LEASE_US))
    finally:
        os.kill(up.agent.pid, signal.SIGCONT)
    ended = controller.await_report(Ended, 1)
    assert (ended.how, ended.cause_of_end, ended.ran) == ("aborted", "lease", "no")
    # What is ordered by a poll of afterwards is let go as always.
    assert controller.await_report(Ended, 2).code == 0
    assert up.text() == "ran too\n"


def test_a_supervisor_that_was_stopped_stops_its_work_as_soon_as_it_goes_on(
    up: Host, controller: FakeController
) -> None:
    pid = running(up, controller)
    supervisor = up.supervisor_pid()
    up.kill_agent()
    os.kill(supervisor, signal.SIGSTOP)
    time.sleep(2 * LEASE_S)
    assert is_alive(pid)
    os.kill(supervisor, signal.SIGCONT)
    until(lambda: not is_alive(pid), 5.0)


def test_work_without_a_lease_runs_on(up: Host, controller: FakeController) -> None:
    controller.go(2, up.shell("echo $$ > other; exec sleep 60"))
    controller.await_report(Started, 2)
    pid = running(up, controller)
    up.kill_agent()
    until(lambda: not is_alive(pid))
    until(lambda: up.text("other").strip())
    assert is_alive(int(up.text("other")))


def test_a_lease_counts_from_when_the_answered_poll_was_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    clock = [1_000_000]
    monkeypatch.setattr(runtime, "clock_us", lambda: clock[0])
    config = AgentConfig(host="n1", home=str(tmp_path), controllers=("http://127.0.0.1:1",))
    agent = Agent(config, HostFacts(), "boot", "")
    agent.session.incarnation, agent.session.can = 1, (LEASES,)
    sent: list[object] = []
    monkeypatch.setattr(agent.supervised, "send", lambda *messages: sent.extend(messages))

    def ask(*_question: object) -> Orders:
        clock[0] += 5_000_000
        return Orders(protocol=PROTOCOL, epoch=0, incarnation=1, stamp=0)

    monkeypatch.setattr(agent, "_ask", ask)
    agent._poll(agent._line())
    assert sent == [{"do": "renewed", "at_us": 1_000_000}]
    # An answer to another incarnation renews nothing, and a supervisor of before is not asked.
    agent.session.can = ()
    agent._poll(agent._line())
    agent.session.can, agent.session.incarnation = (LEASES,), 2
    agent._poll(agent._line())
    assert len(sent) == 1


@pytest.mark.parametrize("driver", ["auto", "v1", "none"])
def test_what_is_suspended_is_killed_too_and_does_not_go_on_first(
    host: Host, controller: FakeController, driver: str
) -> None:
    host.start(cgroup=driver)
    controller.await_report(Reconciled)
    text = "echo $$ > pid; trap 'echo went on > out2' TERM; while :; do sleep 0.05; done"
    controller.go(1, host.shell(text, lease_us=LEASE_US))
    until(lambda: host.text("pid").strip())
    controller.launch(1, RUNNING, freeze=1)
    controller.wait(lambda: controller.of(Frozen, 1))
    host.kill_agent()
    until(lambda: not is_alive(int(host.text("pid"))), LEASE_S + 2.0)
    host.start()
    ended = controller.await_report(Ended, 1)
    assert (ended.code, ended.cause_of_end) == (signal.SIGKILL, "lease")
    assert host.text("out2") == ""


def test_a_lease_goes_by_the_clock_that_runs_since_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asleep, a machine's lease runs on; its wall clock may be set to anything."""
    clock, wall = [1_000.0], [1_700_000_000 * 10**9]
    monkeypatch.setattr("xce.agent.supervisor.endings.clock_s", lambda: clock[0])
    monkeypatch.setattr("time.time_ns", lambda: wall[0])
    endings = Endings(Ledger(Journal(str(tmp_path / "journal"))), lambda told: None)
    endings.renewed_s = 1_000.0
    live = Launch(1, 7, Tree("cookie", Group()))
    live.state, live.lease_s = LaunchState.ARMED, 300.0
    endings.ledger.note_intent(1, 7)
    endings.add(live)
    for jump_s in (-86_400, 86_400 * 365):
        wall[0] += jump_s * 10**9
        endings.tick()
        assert live.state == LaunchState.ARMED
    assert endings.next_wake_s() == 1.0
    clock[0] += 299.9
    endings.tick()
    assert live.state == LaunchState.ARMED
    # The machine slept for an hour, in which nothing here ran.
    clock[0] += 3_600.0
    endings.tick()
    assert (live.state, live.cause) == (LaunchState.ENDED, "lease")


def test_what_is_being_stopped_has_no_longer_grace_than_the_lease_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1_000.0]
    monkeypatch.setattr("xce.agent.supervisor.endings.clock_s", lambda: clock[0])
    endings = Endings(Ledger(Journal(str(tmp_path / "journal"))), lambda told: None)
    endings.renewed_s = 1_000.0
    live = Launch(1, 7, Tree("cookie", Group()))
    live.state, live.lease_s, live.lease_grace_s = LaunchState.STOPPING, 300.0, 10.0
    live.kill_at_s = 9_999.0
    endings.add(live)
    clock[0] = 1_299.0
    endings.tick()
    assert live.kill_at_s == 9_999.0
    clock[0] = 1_300.0
    endings.tick()
    assert live.kill_at_s == 1_310.0
    assert endings.next_wake_s() == 1.0

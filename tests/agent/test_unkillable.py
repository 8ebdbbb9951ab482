"""A process that SIGKILL does not end is told of, keeps its launch alive, and ends like others."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.conftest import Host, is_alive
from tests.agent.fake_controller import FakeController, until
from tests.kit.frozen import Frozen, freezer
from xce.agent.supervisor.endings import Endings
from xce.agent.supervisor.journal import Journal
from xce.agent.supervisor.launch import Launch, LaunchState
from xce.agent.supervisor.ledger import Ledger
from xce.agent.supervisor.processes.cgroup import Group
from xce.agent.supervisor.processes.tree import Tree
from xce.dispatch.protocol import UNKILLABLE, Ended, Reconciled, Started, Unkillable


@pytest.fixture
def frozen() -> Iterator[Frozen]:
    with freezer(f"xce-test-{os.getpid()}") as one:
        yield one


@pytest.fixture
def up(host: Host, controller: FakeController) -> Host:
    controller.can = (UNKILLABLE,)
    host.start()
    controller.await_report(Reconciled)
    return host


def stuck(up: Host, controller: FakeController, frozen: Frozen) -> int:
    """A launch that was to be stopped and whose process is frozen."""
    task = up.shell(
        "echo $$ > pid; exec sleep 60", kill_grace_us=100_000, unkillable_after_us=500_000
    )
    controller.go(1, task)
    controller.await_report(Started, 1)
    until(lambda: up.text("pid").strip())
    pid = int(up.text("pid"))
    frozen.take(pid)
    controller.gone(1, "kill")
    return pid


def test_it_is_told_once_and_its_end_when_it_comes(
    up: Host, controller: FakeController, frozen: Frozen
) -> None:
    pid = stuck(up, controller, frozen)
    told = controller.await_report(Unkillable, 1)
    assert told.message.startswith(f"process {pid} is there ")
    time.sleep(1.0)
    assert len(controller.of(Unkillable, 1)) == 1
    assert controller.of(Ended, 1) == []
    frozen.thaw()
    assert controller.await_report(Ended, 1).cause_of_end == "killed"
    assert not is_alive(pid)


def test_an_agent_that_comes_later_tells_it_too(
    up: Host, controller: FakeController, frozen: Frozen
) -> None:
    stuck(up, controller, frozen)
    controller.await_report(Unkillable, 1)
    up.kill_agent()
    up.start()
    controller.await_report(Unkillable, 1, nth=2)
    found = controller.await_report(Reconciled, nth=2)
    assert [(one.launch, one.state) for one in found.launches] == [(1, "stopping")]


def test_a_controller_of_before_is_told_nothing_that_it_does_not_know(
    host: Host, controller: FakeController, frozen: Frozen
) -> None:
    host.start()
    controller.await_report(Reconciled)
    stuck(host, controller, frozen)
    time.sleep(1.5)
    assert controller.of(Unkillable) == []
    frozen.thaw()
    controller.await_report(Ended, 1)


class Stubborn(Tree):
    """A tree that is not empty, whatever is done to it."""

    def __init__(self) -> None:
        super().__init__("cookie", Group())
        self.is_there = True

    def kill(self, others: set[int]) -> None:
        """Nothing happens."""

    def is_empty(self, others: set[int]) -> bool:
        return not self.is_there


def test_not_before_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("xce.agent.supervisor.endings.clock_s", lambda: clock[0])
    told: list[dict[str, object]] = []
    endings = Endings(Ledger(Journal(str(tmp_path / "journal"))), told.append)
    tree = Stubborn()
    live = Launch(1, 7, tree)
    live.state = LaunchState.ARMED
    endings.ledger.note_intent(1, 7)
    endings.add(live)
    endings.bring_down(live)
    for at_s, times in ((129.9, 0), (130.0, 1), (200.0, 1)):
        clock[0] = at_s
        endings.tick()
        assert [one["event"] for one in told] == ["unkillable"] * times
    tree.is_there = False
    clock[0] += 1.0
    endings.tick()
    assert live.state == LaunchState.ENDED

"""Seeded torture of one host: orders repeated and crossed, agent and supervisor killed at random.

The long form is on demand: `XCE_TORTURE=40 pytest tests/agent/test_torture.py`. Whatever happens,
each launch has one outcome, however often it is told; the command ran at most once; what is told as
never run did not run; what is told as exited did; and nothing of it is left.
"""

import os
import random
import time

import pytest

from tests.agent.conftest import Host
from tests.agent.fake_controller import FakeController, until
from tests.agent.test_trees import carriers, controller_cookie
from xce.dispatch.protocol import GONE, PREPARED, RUNNING, Ended, LaunchOrder, Reconciled

SEEDS = range(int(os.environ.get("XCE_TORTURE", "2")))
LAUNCHES = 30
KILLS = 4


class Torture:
    """One seeded run."""

    def __init__(self, seed: int, host: Host, controller: FakeController) -> None:
        self.chance = random.Random(seed)
        self.host = host
        self.controller = controller
        self.wanted: dict[int, str] = {}

    def order(self, launch: int, stale: float = 0.2) -> LaunchOrder:
        """The order for what is wanted now, or a stale one of what was wanted before."""
        wanted = self.wanted[launch]
        late = self.chance.random() < stale
        target = PREPARED if late and wanted == RUNNING else wanted
        text = f"echo $XCE_RANK >> mark.{launch}; sleep 0.0{self.chance.randrange(10)}; exit 3"
        return LaunchOrder(
            launch=launch,
            job=launch,
            attempt=1,
            generation=7,
            target=target,
            task=self.host.shell(text, stdout="", kill_grace_us=50_000),
        )

    def push(self) -> None:
        """Begin some launches, let some go, want some gone; say some things again."""
        for launch in range(1, LAUNCHES + 1):
            chance = self.chance.random()
            if launch not in self.wanted:
                if chance < 0.4:
                    self.wanted[launch] = self.chance.choice(
                        (PREPARED, PREPARED, RUNNING, RUNNING, GONE)
                    )
            elif self.wanted[launch] == PREPARED and chance < 0.4:
                self.wanted[launch] = self.chance.choice((RUNNING, RUNNING, RUNNING, GONE))
            elif self.wanted[launch] == RUNNING and chance < 0.05:
                self.wanted[launch] = GONE
        said = [launch for launch in self.wanted if self.chance.random() < 0.7]
        self.chance.shuffle(said)
        self.controller.order(*(self.order(launch) for launch in said))

    def kill(self) -> None:
        """Kill one of the two, and start an agent again where it was the one."""
        if self.chance.random() < 0.5:
            self.host.kill_agent()
            self.host.start()
        else:
            pid = self.host.supervisor_pid()
            self.host.kill_supervisor()
            until(lambda: self.host.supervisor_pid() != pid)

    def run(self) -> None:
        for _ in range(KILLS):
            for _ in range(self.chance.randrange(1, 4)):
                self.push()
                time.sleep(self.chance.choice((0, 0.02, 0.1)))
            self.kill()
        for launch in range(1, LAUNCHES + 1):
            self.wanted[launch] = GONE if self.wanted.get(launch) != RUNNING else RUNNING
        self.controller.order(*(self.order(launch, stale=0) for launch in self.wanted))
        self.controller.wait(lambda: len({one.launch for one in self.ends()}) == LAUNCHES)

    def ends(self) -> list[Ended]:
        return self.controller.of(Ended)


@pytest.mark.kill
@pytest.mark.parametrize("seed", SEEDS)
def test_no_order_and_no_death_runs_a_command_twice_or_loses_its_end(
    seed: int, host: Host, controller: FakeController
) -> None:
    host.start()
    controller.await_report(Reconciled)
    torture = Torture(seed, host, controller)
    torture.run()
    outcomes: dict[int, set[tuple[str, int, str]]] = {}
    for end in torture.ends():
        outcomes.setdefault(end.launch, set()).add((end.how, end.code, end.ran))
    for launch, found in outcomes.items():
        assert len(found) == 1, (launch, found)
        how, code, ran = found.pop()
        marks = host.text(f"mark.{launch}")
        assert marks in ("", "0\n"), launch
        if how == "exited":
            assert (code, marks, ran) == (3, "0\n", "yes"), launch
        if ran == "no":
            assert marks == "", launch
    assert carriers(f"{controller_cookie(host)}:".encode()) == []

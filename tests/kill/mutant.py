"""Planted faults that the kill runs must find: `python -m tests.kill.mutant NAME MODULE WORD...`
plants one and runs the module as `python -m` would. Two plants are no faults but other figures.

The product has no switch for any of this: functions are replaced from outside, in the process of
the controller, the agent or (by way of the agent) the supervisor. The supervisor runs without
site packages, so this file imports what it needs where it needs it.
"""

import runpy
import sys
import time
from collections.abc import Callable
from typing import Any

LATE_S = 0.03
SEEN_S = 0.1


def answer_before_commit() -> None:
    """Answers and orders go out while the commit is still waiting for its turn."""
    from concurrent.futures import ThreadPoolExecutor

    from xce.controller.loop import Controller
    from xce.controller.writer import Writer

    commit, end = Writer.commit, Controller._end
    later = ThreadPoolExecutor(1)

    def late(self: Any, batch: Any) -> None:
        time.sleep(LATE_S)
        commit(self, batch)

    def drained(self: Any) -> None:
        later.shutdown(wait=True)
        end(self)

    Writer.commit = lambda self, batch: later.submit(late, self, batch) and None
    Controller._end = drained


def anchor_skipped() -> None:
    """What was acknowledged is kept nowhere but in the database."""
    from xce.wal.anchor import Anchor

    Anchor.write = lambda self, head: None


def go_before_pass() -> None:
    """A launch is wanted RUNNING from its plan on."""
    from xce.controller.core.orders import wanted

    target = wanted.launch_target
    wanted.launch_target = lambda launch: "GONE" if target(launch) == "GONE" else "RUNNING"


def attachments_not_awaited() -> None:
    """The barrier does not look at attachments."""
    from xce.dispatch import barrier

    missing = barrier.missing
    barrier.complete = lambda armed, launches, ready, attachments: armed == launches
    barrier.missing = lambda launches, attachments, hosts: missing(launches, (), hosts)


def launches_not_awaited() -> None:
    """The barrier does not look at launches."""
    from xce.dispatch import barrier

    missing = barrier.missing
    barrier.complete = lambda armed, launches, ready, attachments: ready == attachments
    barrier.missing = lambda launches, attachments, hosts: missing((), attachments, hosts)


def hosts_not_asked() -> None:
    """The barrier believes what was heard by an earlier leader."""
    from xce.dispatch import barrier

    missing = barrier.missing
    barrier.missing = lambda launches, attachments, hosts: missing(launches, attachments, ())


def keys_forgotten() -> None:
    """No answer is kept under its key."""
    from xce.controller.writer import Writer

    Writer._answers = lambda self, done, commands: ()


def exec_before_started() -> None:
    """The supervisor lets processes go before `started` is durable."""
    from xce.agent import supervised

    plant_first = f"from tests.kill.mutant import plant; plant('{_let_go_first.__name__}'); "
    head, _, tail = supervised.BOOT.partition("from xce.agent")
    supervised.BOOT = f"{head}{plant_first}from xce.agent{tail}"


def _let_go_first() -> None:
    from xce.agent.supervisor.core import Core

    start = Core._start

    def _start(self: Any, live: Any) -> None:
        for process in live.processes:
            process.let_go(live.go_env)
        time.sleep(SEEN_S)
        start(self, live)

    Core._start = _start


def small_cuts() -> None:
    """No fault: cuts come every few records, in small slices, so that deaths fall into them."""
    from xce.controller import cuts

    cuts.RECORDS_BETWEEN = 40
    cuts.Cutter.next_slice.__defaults__ = (8,)


def short_lease() -> None:
    """No fault: a leadership on PostgreSQL lasts two seconds."""
    from xce.controller import leading

    leading.TTL_US, leading.RENEW_EVERY_S, leading.RENEW_MARGIN_US = 2_000_000, 0.4, 500_000


MUTANTS: dict[str, Callable[[], None]] = {
    one.__name__: one
    for one in (
        answer_before_commit,
        anchor_skipped,
        go_before_pass,
        attachments_not_awaited,
        launches_not_awaited,
        hosts_not_asked,
        keys_forgotten,
        exec_before_started,
    )
}


def plant(name: str) -> None:
    """Put a fault into this process."""
    (MUTANTS.get(name) or globals()[name])()


if __name__ == "__main__":
    plant(sys.argv[1])
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

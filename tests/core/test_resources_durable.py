"""Types, pools and what ticks said are read back from SQLite and PostgreSQL to the last field."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.kit.words import BOSS, SETTINGS, machine, settings
from xce.controller.core import commands as c
from xce.controller.core.fold.encode import digest
from xce.controller.core.resources.pools import total_of
from xce.controller.recover import recover
from xce.controller.step import decide_all
from xce.controller.writer import Writer
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US, PoolConfig, TypeConfig
from xce.wal.open import open_sqlite
from xce.wal.port import Log
from xce.wal.postgres import open_postgres

NOW_US = 1_700_000_000 * SECOND_US
SEATS = TypeConfig(name="seats", scope="shared", interval_us=10 * SECOND_US)


@pytest.fixture(params=["sqlite", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Log]]:
    """Opens the one log again and again; the handle before is given back first."""
    logs: list[Log] = []

    def open_again() -> Log:
        while logs:
            logs.pop().close()
        if request.param == "sqlite":
            logs.append(open_sqlite(tmp_path / "xce.db"))
        else:
            logs.append(open_postgres(request.getfixturevalue("postgres_url")))
        return logs[-1]

    yield open_again
    for log in logs:
        log.close()


class Leading:
    """A state over a real log, step by step."""

    def __init__(self, log: Log) -> None:
        epoch = log.lead("home", NOW_US, 10 * SECOND_US)
        self.state, self.cutter = recover(log)
        self.state.epoch = epoch
        self.writer = Writer(self.state, log, None, self.cutter, lambda name: None)
        self.write(
            c.StartLeading(
                actor=CONTROLLER, holder="home", version="t", database="d", boot_id="b",
                resumed_lsn=self.state.lsn,
            )
        )  # fmt: skip

    def write(self, *commands: c.Command) -> None:
        done = decide_all(self.state, list(commands), NOW_US + self.state.lsn)
        self.writer.commit(self.writer.batch(done, list(commands)))

    def cut(self) -> None:
        self.cutter.begin()
        while self.cutter.under_way:
            batch = self.writer.batch(decide_all(self.state, [], NOW_US), [])
            self.writer.commit(batch)
            if batch.cut_close is not None:
                self.cutter.closed()


def scene() -> Sequence[c.Command]:
    pool = PoolConfig(type="seats", hosts=("all", "~n2"), reported=True)
    values = (
        c.Sample(of="n1", values=(("r1m", 500),)),
        c.Sample(of="seats@1", values=(("seats", 7),)),
    )
    facts = machine(4)
    return (
        c.LoadConfig(actor=CONTROLLER, config=settings(observe=("r1m",)), digest="f1"),
        c.RegisterHost(actor=CONTROLLER, host="n1", boot_id="b", facts=facts),
        c.AddType(actor=BOSS, type=SEATS),
        c.AddPool(actor=BOSS, pool=pool),
        c.TakeTick(actor=CONTROLLER, samples=values),
    )


@pytest.mark.parametrize("cut_after", [0, 3, 5])
def test_what_is_read_back_is_what_was_written(opened: Callable[[], Log], cut_after: int) -> None:
    live = Leading(opened())
    for number, command in enumerate(scene(), 1):
        live.write(command)
        if number == cut_after:
            live.cut()
    before = digest(live.state)
    assert total_of(live.state, live.state.config.pools[0]) == 7
    state, _ = recover(opened())
    assert digest(state) == before
    assert dict(state.observed["n1"].values) == {"r1m": 500}
    assert [one.name for one in state.config.types] == ["seats"]


def test_the_next_leader_has_types_and_pools_and_knows_no_values(
    opened: Callable[[], Log],
) -> None:
    first = Leading(opened())
    first.write(*scene())
    first.cut()
    second = Leading(opened())
    assert second.state.observed == {}
    pool = second.state.config.pools[0]
    assert (pool.label, pool.hosts, total_of(second.state, pool)) == ("1", ("all", "~n2"), 0)
    second.write(c.LoadConfig(actor=CONTROLLER, config=SETTINGS, digest="f2"))
    assert [one.name for one in second.state.config.types] == ["seats"]

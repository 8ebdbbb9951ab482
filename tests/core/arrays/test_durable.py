"""Arrays come back from SQLite and PostgreSQL to the last letter; finished ones are told."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.core.test_resources_durable import Leading
from tests.kit.words import ANNA, BOSS, SETTINGS, array
from xce.controller.core import commands as c
from xce.controller.core.fold.check import check
from xce.controller.core.fold.encode import digest
from xce.controller.recover import recover
from xce.wal.open import open_sqlite
from xce.wal.port import Log
from xce.wal.postgres import open_postgres


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


def test_arrays_come_back_from_a_cut_and_from_the_records_behind_it(
    opened: Callable[[], Log],
) -> None:
    leading = Leading(opened())
    leading.write(c.LoadConfig(actor=BOSS, config=SETTINGS, digest="d"))
    leading.write(array((1, 1_000_000, 1), limit=5), array((3, 3_000, 3), held=True))
    leading.write(c.Kill(actor=ANNA, job=1, elements=((7, 900_000, 7),)))
    leading.cut()
    leading.write(c.Kill(actor=ANNA, job=1, elements=((500_000, 600_000, 1),)))
    leading.write(c.Resume(actor=ANNA, job=2, elements=((3, 300, 3),)))
    leading.write(c.LimitArray(actor=ANNA, job=1, limit=9))
    again, _ = recover(opened())
    again.epoch = leading.state.epoch
    check(again)
    assert digest(again) == digest(leading.state)
    array_ = again.arrays[1]
    assert (array_.limit, array_.letter(7), array_.letter(8), array_.letter(555_555)) == (
        9, "K", "P", "K",
    )  # fmt: skip
    assert again.arrays[2].tally == (100, 900, 0, 0, 0, 0)


def test_an_array_that_ended_is_in_the_history(opened: Callable[[], Log]) -> None:
    leading = Leading(opened())
    leading.write(c.LoadConfig(actor=BOSS, config=SETTINGS, digest="d"))
    leading.write(array((1, 50, 1)))
    leading.write(c.Kill(actor=ANNA, job=1))
    row = opened().history("1")
    assert row is not None
    assert b'"killed_by":"user:1000"' in row.body

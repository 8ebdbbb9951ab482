"""Reservations are read back from SQLite and PostgreSQL to the last field: cuts and records."""

from collections.abc import Callable

import pytest
from msgspec import structs

from tests.core.test_resources_durable import NOW_US, Leading, opened
from tests.kit.words import ANNA, BOSS, job, machine
from xce.controller.core import commands as c
from xce.controller.core.fold.encode import digest
from xce.controller.core.time.reservations import reservations
from xce.dispatch import protocol as p
from xce.model.actor import CONTROLLER, HOST, Actor
from xce.model.placing import Share
from xce.scheduler.time.terms import Reserve
from xce.wal.port import Log

__all__ = ["opened"]
MINUTE_US = 60_000_000


def led(log: Log) -> Leading:
    """A host that is UP, a job that waits with a reservation, and one in advance."""
    leading = Leading(log)
    n1 = Actor(kind=HOST, name="n1")
    leading.write(c.RegisterHost(actor=n1, host="n1", boot_id="b", facts=machine(4)))
    incarnation = leading.state.hosts["n1"].incarnation
    answered = p.Reconciled(seq=1, launches=(), attachments=())
    leading.write(c.TakeReport(actor=n1, host="n1", incarnation=incarnation, report=answered))
    leading.write(job(2, run_limit_us=MINUTE_US))
    share = Share(host="n1", tasks=2, counters=(("slots", 2),))
    begins_us = NOW_US + 5 * MINUTE_US
    reserve = Reserve(job=1, from_us=begins_us, end_us=begins_us + MINUTE_US, shares=(share,))
    plan = c.CommitPlan(
        actor=CONTROLLER, session=1, slice=0, snapshot_lsn=leading.state.lsn, config_lsn=0,
        snapshot_us=NOW_US, digest="", placements=(), reserves=(reserve,),
    )  # fmt: skip
    leading.write(plan)
    moved = structs.replace(
        reserve, number=1, from_us=begins_us + 1, before_us=begins_us, cause="n1 was busy"
    )
    leading.write(structs.replace(plan, session=2, reserves=(moved,)))
    leading.write(
        c.AddReservation(
            actor=BOSS, name="course", users=(ANNA.uid,), tasks=1,
            from_us=begins_us + 9 * MINUTE_US, until_us=begins_us + 20 * MINUTE_US,
        )
    )  # fmt: skip
    return leading


@pytest.mark.parametrize("cut", [False, True], ids=["records", "cut"])
def test_what_is_read_back_is_what_was_written(opened: Callable[[], Log], cut: bool) -> None:
    leading = led(opened())
    found = reservations(leading.state)
    assert [(one.kind, one.slips) for one in found.values()] == [("backfill", 1), ("advance", 0)]
    if cut:
        leading.cut()
    leading.write(c.RemoveReservation(actor=BOSS, name="course"))
    before = digest(leading.state)
    again = Leading.__new__(Leading)
    from xce.controller.recover import recover

    again.state, _ = recover(opened())
    again.state.epoch = leading.state.epoch
    assert digest(again.state) == before
    assert [one.kind for one in reservations(again.state).values()] == ["backfill"]

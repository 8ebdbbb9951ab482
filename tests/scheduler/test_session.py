"""The session as a whole: purity, budgets, versions, digests, and the same bytes every time."""

import os
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec import structs

from tests.kit.cluster import (
    ClaimTemplate,
    dgx,
    gang,
    gpus,
    held,
    host,
    idle_snapshot,
    job,
    need,
    role,
    table,
)
from xce.scheduler.ledger import Ledger, Taking
from xce.scheduler.place import classes
from xce.scheduler.plan import Plan
from xce.scheduler.session import TRY_STEPS, Budget, SessionRun, run_session
from xce.scheduler.snapshot import Snapshot, free_ranges

ROOT = Path(__file__).resolve().parents[2]


def busy_day() -> Snapshot:
    """A bit of everything: gangs, parallel and plain jobs, claims, some that cannot fit."""
    port = ClaimTemplate(name="p", type="port")
    asks = [
        gang(
            1,
            role("launcher", [1]),
            role("w", [2, 3], needs=need(gpu=1, one_host=True), tasks=4),
            required="nvlink",
            claims=[port],
        ),
        gang(2, role("w", range(10, 16), needs=need(gpu=4, one_host=True), least=2)),
        gang(3, role("w", range(20, 25), needs=need(gpu=8, one_host=True))),
        *(job(i, need(gpu=i % 3), class_key=f"j{i % 3}") for i in range(30, 42)),
        job(50, need(ptile=2), tasks=5),
        job(51, need(select="mem>1TB")),
    ]
    return held(idle_snapshot(dgx(6), asks), "n4", gpu=[0, 5], slots=2)


def test_the_same_snapshot_gives_the_same_bytes():
    first, second = run_session(busy_day()), run_session(busy_day())
    assert first == second
    assert first.digest == second.digest
    assert digest_of(first) == first.digest


def digest_of(plan: Plan) -> str:
    """blake2b over the canonical JSON of session, lsn and placements, all at once."""
    body = msgspec.json.encode((plan.session, plan.snapshot_lsn, plan.placements))
    return blake2b(body, digest_size=16).hexdigest()


def test_a_session_changes_nothing_of_its_snapshot():
    snapshot = busy_day()
    before = {name: column.copy() for name, column in snapshot.free.items()}
    masks = dict(snapshot.free_masks)
    run_session(snapshot)
    assert all(np.array_equal(snapshot.free[name], before[name]) for name in before)
    assert snapshot.free_masks == masks


def test_a_session_in_portions_comes_to_the_same_plan():
    whole = run_session(busy_day())
    for steps in (1, 30, 70):
        run = SessionRun(busy_day())
        portions = 1
        while not run.advance(steps):
            portions += 1
        assert run.plan == whole
        assert portions > 1


def test_asks_beyond_the_budget_are_not_looked_at():
    asks = [job(i) for i in range(1, 10)]
    plan = run_session(idle_snapshot(dgx(), asks), Budget(3 * (1 + TRY_STEPS)))
    assert [p.job for p in plan.placements] == [1, 2, 3]
    assert plan.reasons == ()


def test_a_plan_names_host_versions_as_its_earlier_placements_leave_them():
    asks = [job(1, need(gpu=8)), job(2, need(gpu=8)), gang(3, role("w", [3, 4]))]
    snapshot = structs.replace(idle_snapshot(dgx(2), asks), versions=(10, 20))
    plan = run_session(snapshot)
    assert [p.host_versions for p in plan.placements] == [
        (("n1", 10),),
        (("n2", 20),),
        (("n1", 11),),
    ]


def test_a_class_that_does_not_fit_is_looked_at_once(monkeypatch):
    seen = []
    real = SessionRun._try
    monkeypatch.setattr(
        SessionRun,
        "_try",
        lambda self, lane, ask, ways: (seen.append(ask.label), real(self, lane, ask, ways))[1],
    )
    asks = [job(i, need(gpu=9), class_key="big") for i in range(1, 6)]
    run_session(idle_snapshot(dgx(), asks))
    assert seen == ["1"]


def test_reasons_that_still_hold_keep_their_classes_from_being_tried_again():
    asks = [job(1, need(gpu=9), class_key="big"), job(2, need(gpu=9), class_key="big")]
    first = run_session(idle_snapshot(dgx(), asks))
    known = {entry.class_key: entry.reason for entry in first.reasons}
    again = SessionRun(structs.replace(idle_snapshot(dgx(), asks), known=known))
    again.advance()
    assert again._lanes["big"].compiled == {}
    assert again.plan.reasons == first.reasons
    assert again.plan.digest == first.digest
    assert again.plan.steps == 2 < first.steps


def test_serial_jobs_get_the_same_places_as_by_search(monkeypatch):
    asks = [job(i, need(gpu=i % 4, mem=i << 20), class_key=f"c{i % 7}") for i in range(1, 60)]
    snapshot = held(idle_snapshot(dgx(8), asks), "n5", gpu=[1, 2], slots=3)
    direct = run_session(snapshot)
    monkeypatch.setattr(classes, "is_serial", lambda ask, terms: False)
    searched = run_session(snapshot)
    assert [p.members for p in direct.placements] == [p.members for p in searched.placements]
    assert direct.reasons == searched.reasons


def test_a_ledger_goes_back_to_its_mark():
    ledger = Ledger(idle_snapshot(dgx(2)))
    with ledger.trial() as kept:
        ledger.take(Taking(0, (("slots", 3),), (("gpu", 0b11),), (20001,)))
        kept.keep()
    with ledger.trial():
        ledger.take(Taking(0, (("slots", 5),), (("gpu", 0b100),), (20002,)))
        assert ledger.column("slots")[0] == 0
    assert ledger.column("slots").tolist() == [5, 8]
    assert ledger.mask("gpu", 0) == 0b11111100
    assert ledger.count("gpu").tolist() == [6, 8]
    assert ledger.ports.tolist() == [7, 8]
    assert ledger.journal == [0, 0, 0]


def test_a_counter_and_an_instance_type_of_one_name_are_two_things():
    hosts = table(host("a", instances=gpus(2), extra={"gpu": 7}))
    ledger = Ledger(idle_snapshot(hosts))
    ledger.take(Taking(0, (("gpu", 3),), (("gpu", 0b1),)))
    assert (ledger.column("gpu")[0], ledger.count("gpu")[0]) == (4, 1)


@pytest.mark.parametrize(
    "taking",
    [
        Taking(0, (("slots", 9),)),
        Taking(0, (("nothing", 1),)),
        Taking(0, (), (("gpu", 1 << 8),)),
        Taking(0, (), (("seat", 1),)),
        Taking(0, (), (), (20000,)),
    ],
)
def test_a_ledger_refuses_what_is_not_free_and_changes_nothing(taking):
    ledger = Ledger(idle_snapshot(dgx(1)))
    ledger.take(Taking(0, (), (), (20000,)))
    with pytest.raises(ValueError, match="host 0"):
        ledger.take(taking)
    assert ledger.column("slots").tolist() == [8]
    assert ledger.mask("gpu", 0) == 0xFF


@pytest.mark.parametrize(
    ("ports", "taken", "ranges"),
    [
        ((5, 8), (), ((5, 8),)),
        ((5, 8), (5, 8), ((6, 7),)),
        ((5, 8), (6,), ((5, 5), (7, 8))),
        ((5, 5), (5,), ()),
        ((5, 8), (1, 9), ((5, 8),)),
        ((0, 0), (), ()),
    ],
)
def test_free_ports_are_what_lies_between_the_held_ones(ports, taken, ranges):
    assert free_ranges(ports, taken) == ranges


def test_hosts_come_in_name_order_whatever_order_they_are_given_in():
    entries = [dgx(3)]
    assert entries[0].names == ("n1", "n2", "n3")
    assert table().names == ()


PROGRAM = """
from tests.scheduler.test_session import busy_day
from xce.scheduler.session import run_session
print(run_session(busy_day()).digest)
"""


def test_the_digest_does_not_depend_on_how_python_hashes():
    digests = {run_session(busy_day()).digest}
    for seed in ("0", "1", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout.strip())
    assert len(digests) == 1

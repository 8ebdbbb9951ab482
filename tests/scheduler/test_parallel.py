"""Jobs over several hosts: `span[hosts=1]`, `span[ptile=N]`, and tasks that fill hosts."""

import pytest

from tests.kit.cluster import dgx, held, host, idle_snapshot, job, need, table
from xce.model.need import Need
from xce.scheduler.place.parallel import chunks, spreads
from xce.scheduler.session import run_session


def tasks_of(plan):
    return [(s.host, s.tasks) for s in plan.placements[0].members[0].shares]


def test_without_span_tasks_stay_on_one_host_if_one_holds_them():
    plan = run_session(held(idle_snapshot(dgx(), [job(1, tasks=6)]), "n2", slots=2))
    assert tasks_of(plan) == [("n2", 6)]


def test_without_span_tasks_fill_hosts_of_the_tightest_domain_roomiest_host_first():
    snapshot = held(idle_snapshot(dgx(), [job(1, tasks=10)]), "n3", slots=4)
    assert tasks_of(run_session(snapshot)) == [("n4", 8), ("n3", 2)]


def test_span_one_host_waits_rather_than_spread():
    plan = run_session(idle_snapshot(dgx(), [job(1, need(one_host=True), tasks=9)]))
    assert plan.placements == ()
    assert plan.reasons[0].reason.text() == (
        "can never fit: needs 9 slots on one host and no host has more than 8"
    )


@pytest.mark.parametrize(
    ("tasks", "ptile", "expected"),
    [
        (8, 4, [("n1", 4), ("n2", 4)]),
        (10, 4, [("n1", 4), ("n2", 4), ("n3", 2)]),
        (3, 4, [("n1", 3)]),
        (4, 4, [("n1", 4)]),
        (3, 1, [("n1", 1), ("n2", 1), ("n3", 1)]),
    ],
)
def test_ptile_lays_that_many_tasks_on_each_host_and_the_rest_on_the_last(tasks, ptile, expected):
    plan = run_session(
        idle_snapshot(dgx(3, per_domain=3), [job(1, need(ptile=ptile), tasks=tasks)])
    )
    assert tasks_of(plan) == expected


def test_ptile_skips_a_host_that_cannot_take_a_whole_tile_but_uses_it_for_the_rest():
    snapshot = held(idle_snapshot(dgx(2), [job(1, need(ptile=4), tasks=6)]), "n1", slots=6)
    assert tasks_of(run_session(snapshot)) == [("n2", 4), ("n1", 2)]


def test_each_share_has_the_instances_of_its_own_tasks():
    plan = run_session(idle_snapshot(dgx(2), [job(1, need(gpu=2, ptile=2), tasks=3)]))
    shares = plan.placements[0].members[0].shares
    assert shares[0].instances == ("n1/gpu/0", "n1/gpu/1", "n1/gpu/2", "n1/gpu/3")
    assert shares[1].instances == ("n2/gpu/0", "n2/gpu/1")


def test_per_host_amounts_come_with_every_host_and_per_job_amounts_with_the_first():
    needs = Need(ptile=1, per_host=(("scratch", 5),), per_job=(("mem", 7),))
    plan = run_session(idle_snapshot(dgx(2), [job(1, needs, tasks=2)]))
    assert [s.counters for s in plan.placements[0].members[0].shares] == [
        (("mem", 7), ("scratch", 5), ("slots", 1)),
        (("scratch", 5), ("slots", 1)),
    ]


def test_a_first_host_is_found_that_bears_the_per_job_amount():
    entries = [host("a", slots=4, mem=10), host("b", slots=2, mem=100)]
    needs = Need(per_job=(("mem", 50),))
    plan = run_session(idle_snapshot(table(*entries), [job(1, needs, tasks=6)]))
    assert tasks_of(plan) == [("b", 2), ("a", 4)]


def test_spreads_are_met_greediest_first_and_once_each():
    assert list(spreads([2, 1, 2], [2, 1, 2], 3)) == [
        ((0, 2), (1, 1)),
        ((0, 2), (2, 1)),
        ((0, 1), (1, 1), (2, 1)),
        ((0, 1), (2, 2)),
        ((1, 1), (2, 2)),
    ]


def test_a_spot_that_cannot_be_first_is_used_only_behind_another():
    assert list(spreads([2, 2], [0, 2], 2)) == [((1, 2),)]
    assert list(spreads([2, 2], [2, 0], 3)) == [((0, 2), (1, 1)), ((0, 1), (1, 2))]


def test_no_spread_is_tried_when_the_room_is_too_small():
    assert list(spreads([1, 1], [1, 1], 3)) == []


def test_chunks_take_spots_of_their_own_and_the_rest_any_spot_left():
    assert list(chunks([4, 1, 3], [4, 1, 3], 5, 3)) == [((0, 3), (2, 2)), ((2, 3), (0, 2))]

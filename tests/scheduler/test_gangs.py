"""Gangs: all or nothing, minima before growth, ranks in topology order."""

import numpy as np
from msgspec import structs

from tests.kit.cluster import dgx, gang, gpus, held, host, idle_snapshot, job, need, role, table
from xce.scheduler.candidates import Workspace
from xce.scheduler.session import SessionRun, run_session


def counts(plan, at=0):
    found = {}
    for member in plan.placements[at].members:
        found[member.role] = found.get(member.role, 0) + 1
    return found


def w(jobs, gpu=8, **rest):
    return role("w", jobs, needs=need(gpu=gpu, one_host=True), **rest)


def test_a_gang_is_placed_whole_with_its_roles_in_order_and_its_ranks_in_host_order():
    ask = gang(7, role("launcher", [10]), w([11, 12, 13]))
    members = run_session(idle_snapshot(dgx(), [ask])).placements[0].members
    assert [(m.job, m.role, m.rank, m.shares[0].host) for m in members] == [
        (10, "launcher", 0, "n1"),
        (11, "w", 0, "n1"),
        (12, "w", 1, "n2"),
        (13, "w", 2, "n3"),
    ]


def test_a_gang_that_does_not_fit_takes_nothing():
    ask = gang(1, role("launcher", [1]), w(range(2, 7)))
    run = SessionRun(idle_snapshot(dgx(), [ask]))
    run.advance()
    assert run.plan.placements == ()
    fresh = Workspace(idle_snapshot(dgx(), [ask])).ledger
    assert run._work.ledger.rows == fresh.rows
    assert np.array_equal(run._work.ledger.matrix, fresh.matrix)
    assert run._work.ledger.masks == fresh.masks


def test_what_a_gang_could_not_have_goes_to_the_next_ask():
    asks = [gang(1, w(range(1, 6))), job(9, need(gpu=8))]
    plan = run_session(idle_snapshot(dgx(), asks))
    assert [p.job for p in plan.placements] == [9]


def test_two_gangs_that_each_need_more_than_half_one_runs_and_the_other_holds_nothing():
    asks = [gang(1, w([1, 2, 3])), gang(2, w([4, 5, 6]))]
    plan = run_session(idle_snapshot(dgx(), asks))
    assert [p.group for p in plan.placements] == [1]
    assert plan.reasons[0].first == "g2"
    assert plan.reasons[0].reason.text() == (
        "needs room for 3 members of role w at once; 1 fit now"
    )


def test_an_elastic_role_gets_as_many_of_its_lowest_ranks_as_fit():
    plan = run_session(idle_snapshot(dgx(3), [gang(1, w(range(10, 16), least=2))]))
    assert [(m.job, m.rank) for m in plan.placements[0].members] == [(10, 0), (11, 1), (12, 2)]


def test_below_the_minimum_nothing_is_placed():
    plan = run_session(idle_snapshot(dgx(3), [gang(1, w(range(10, 16), least=4))]))
    assert plan.placements == ()


def test_all_minima_come_before_any_role_grows():
    a = role("a", range(10, 14), needs=need(gpu=8, one_host=True), least=1)
    b = role("b", range(20, 24), needs=need(gpu=8, one_host=True), least=1)
    assert counts(run_session(idle_snapshot(dgx(4), [gang(1, a, b)]))) == {"a": 3, "b": 1}


def test_growth_stays_inside_the_required_domain():
    plan = run_session(idle_snapshot(dgx(4), [gang(1, w(range(1, 5), least=1), required="nvlink")]))
    assert [m.shares[0].host for m in plan.placements[0].members] == ["n1", "n2"]


def test_the_domain_that_lets_most_members_run_wins_over_the_tightest():
    ask = gang(1, w(range(1, 5), gpu=4, least=1), required="nvlink")
    snapshot = held(idle_snapshot(dgx(4), [ask]), "n1", gpu=range(8))
    snapshot = held(snapshot, "n3", gpu=[0])
    plan = run_session(snapshot)
    assert [m.shares[0].host for m in plan.placements[0].members] == ["n4", "n4", "n3"]


def test_a_role_with_a_minimum_of_none_may_stay_empty_or_grow():
    plan = run_session(idle_snapshot(dgx(2), [gang(1, w([1, 2], least=2), w_extra([5, 6]))]))
    assert counts(plan) == {"w": 2}
    plan = run_session(idle_snapshot(dgx(3), [gang(1, w([1, 2], least=2), w_extra([5, 6]))]))
    assert counts(plan) == {"w": 2, "extra": 1}


def w_extra(jobs):
    return role("extra", jobs, needs=need(gpu=8, one_host=True), least=0)


def test_a_dead_end_of_an_early_role_is_taken_back():
    small = role("small", [1], needs=need(gpu=2, one_host=True))
    big = role("big", [2], needs=need(gpu=4, one_host=True))
    entries = [host("a", instances=gpus(4)), host("b", instances=gpus(2))]
    members = (
        run_session(idle_snapshot(table(*entries), [gang(1, small, big)])).placements[0].members
    )
    assert [(m.role, m.shares[0].host) for m in members] == [("small", "b"), ("big", "a")]


def test_roles_that_want_any_instance_leave_the_rare_ones_to_those_that_need_them():
    mixed = [*gpus(1, "H100"), *(structs.replace(g, name=f"x{g.name}") for g in gpus(1, "A100"))]
    any_one = role("any", [1], needs=need(gpu=1, one_host=True))
    rare = role("rare", [2], needs=need(gpu=1, one_host=True, gpu_select="model==H100"))
    plan = run_session(idle_snapshot(table(host("a", instances=mixed)), [gang(1, any_one, rare)]))
    assert [m.shares[0].instances for m in plan.placements[0].members] == [
        ("a/gpu/x0",),
        ("a/gpu/0",),
    ]


def test_members_that_span_hosts_are_placed_one_after_the_other():
    pair = role("pair", [1, 2], needs=need(gpu=8, ptile=1), tasks=2)
    members = (
        run_session(idle_snapshot(dgx(4), [gang(1, pair, required="block")])).placements[0].members
    )
    assert [[s.host for s in m.shares] for m in members] == [["n1", "n2"], ["n3", "n4"]]


def test_a_role_of_spanning_members_with_a_required_level_stays_in_one_domain_of_it():
    pair = role("pair", [1, 2], needs=need(gpu=4, ptile=1), tasks=2, required="nvlink")
    snapshot = held(idle_snapshot(dgx(4), [gang(1, pair)]), "n1", gpu=[0])
    members = run_session(snapshot).placements[0].members
    assert [[s.host for s in m.shares] for m in members] == [["n3", "n4"], ["n3", "n4"]]


def scattered(hosts=6):
    """Seven members of three GPUs on hosts of five: each role fits alone, on six hosts not both."""
    roles = [
        role("a", range(1, 5), needs=need(gpu=3, one_host=True)),
        role("b", range(5, 8), needs=need(gpu=3, one_host=True)),
    ]
    entries = [host(f"h{i}", instances=gpus(5)) for i in range(hosts)]
    return idle_snapshot(table(*entries), [gang(1, *roles)])


def test_roles_that_fit_alone_but_not_together_are_told_so():
    plan = run_session(held(scattered(7), "h3", gpu=[0, 1, 2]))
    assert plan.placements == ()
    assert plan.reasons[0].reason.text() == (
        "each role fits alone, but no division of the hosts holds them together now"
    )
    assert plan.reasons[0].reason.cure == "on_free"


def test_roles_that_not_even_empty_hosts_hold_together_can_never_fit():
    plan = run_session(scattered())
    assert plan.reasons[0].reason.text() == (
        "can never fit: each role fits alone, but even with nothing running "
        "no division of the hosts holds them together"
    )
    assert plan.reasons[0].reason.cure == "never"


def test_beyond_the_bound_the_search_stops_and_the_reason_says_so():
    plan = run_session(structs.replace(scattered(), search_bound=5))
    assert plan.placements == ()
    assert plan.reasons[0].reason.text() == (
        "no place found within 5 search steps; a place may exist"
    )


def test_a_gang_of_thousands_is_one_decision():
    entries = [host(f"h{i:03}", slots=64, domains={"nvlink": f"x{i // 10}"}) for i in range(100)]
    ask = gang(1, role("w", range(1, 6001)))
    plan = run_session(idle_snapshot(table(*entries), [ask]))
    assert len(plan.placements[0].members) == 6000
    assert plan.placements[0].steps == 1 + 94  # 94 hosts of 64 slots

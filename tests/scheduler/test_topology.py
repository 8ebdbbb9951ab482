"""`topology.required` and `preferred` over declared levels, in both orders of nvlink and host."""

from msgspec import structs

from tests.kit.cluster import (
    PARTS_LEVELS,
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
    split_hosts,
    table,
)
from xce.scheduler.session import run_session


def places(plan, at=0):
    """role rank -> host, of one placement."""
    return [(m.role, m.rank, m.shares[0].host) for m in plan.placements[at].members]


def hosts_in_rank_order(plan, at=0):
    return [m.shares[0].host for m in plan.placements[at].members]


def workers(count, gpu=8, **rest):
    return role("w", range(1, count + 1), needs=need(gpu=gpu, one_host=True), **rest)


def racks(**rooms):
    """One host per letter and room: racks(a=2, b=1) is a1, a2 in domain a and b1 in domain b."""
    entries = []
    for name, count in rooms.items():
        for i in range(1, count + 1):
            where = {"nvlink": name, "block": "b1"}
            entries.append(host(f"{name}{i}", domains=where, instances=gpus(8)))
    return table(*entries)


def test_required_takes_the_tightest_domain_that_holds_all():
    snapshot = held(
        idle_snapshot(dgx(), [gang(1, workers(2, 4), required="nvlink")]), "n3", gpu=range(4)
    )
    assert hosts_in_rank_order(run_session(snapshot)) == ["n4", "n4"]


def test_equal_domains_go_by_free_slots_then_by_name():
    ask = gang(1, workers(2), required="nvlink")
    assert hosts_in_rank_order(run_session(idle_snapshot(dgx(), [ask]))) == ["n1", "n2"]
    fewer_slots = held(idle_snapshot(dgx(), [ask]), "n4", slots=1)
    assert hosts_in_rank_order(run_session(fewer_slots)) == ["n4", "n3"][::-1]


def test_required_is_not_given_up_when_no_domain_holds_all():
    plan = run_session(idle_snapshot(dgx(), [gang(1, workers(3), required="nvlink")]))
    assert plan.placements == ()
    assert plan.reasons[0].reason.text() == (
        "can never fit: needs room for 3 members of role w in one nvlink domain; "
        "nvl1 holds 2 when empty and no other holds more"
    )


def test_a_coarser_required_level_holds_what_a_finer_one_does_not():
    plan = run_session(idle_snapshot(dgx(), [gang(1, workers(3), required="block")]))
    assert hosts_in_rank_order(plan) == ["n1", "n2", "n3"]


def test_inside_a_domain_sub_domains_are_kept_whole_roomiest_first():
    ask = gang(1, workers(5), required="block")
    assert hosts_in_rank_order(run_session(idle_snapshot(racks(a=1, b=3, c=2), [ask]))) == [
        "b1", "b2", "b3", "c1", "c2",
    ]  # fmt: skip


def test_preferred_takes_one_domain_where_one_holds_all():
    snapshot = idle_snapshot(racks(a=3, b=2), [gang(1, workers(2), preferred="nvlink")])
    assert hosts_in_rank_order(run_session(snapshot)) == ["b1", "b2"]


def test_preferred_falls_back_to_the_fewest_domains_the_last_one_tight():
    snapshot = idle_snapshot(racks(a=2, b=3, c=1), [gang(1, workers(4), preferred="nvlink")])
    assert hosts_in_rank_order(run_session(snapshot)) == ["b1", "b2", "b3", "c1"]


def test_required_and_preferred_together_stay_inside_the_required_domain():
    entries = [
        host(name, domains={"nvlink": nvlink, "block": block}, instances=gpus(8))
        for name, nvlink, block in (
            ("h1", "x1", "b1"), ("h2", "x2", "b1"), ("h3", "x3", "b1"),
            ("h4", "x4", "b2"), ("h5", "x4", "b2"),
        )
    ]  # fmt: skip
    both = gang(1, workers(3), required="block", preferred="nvlink")
    assert hosts_in_rank_order(run_session(idle_snapshot(table(*entries), [both]))) == [
        "h1",
        "h2",
        "h3",
    ]
    two = gang(1, workers(2), required="block", preferred="nvlink")
    assert hosts_in_rank_order(run_session(idle_snapshot(table(*entries), [two]))) == ["h4", "h5"]


def test_hosts_of_unknown_domain_never_serve_a_topology_request():
    entries = [
        host("lost1", instances=gpus(8)),
        host("lost2", instances=gpus(8)),
        host("z1", domains={"nvlink": "x"}, instances=gpus(8)),
    ]
    for request in ({"required": "nvlink"}, {"preferred": "nvlink"}):
        ask = gang(1, workers(2), **request)
        plan = run_session(idle_snapshot(table(*entries), [ask]))
        assert plan.placements == ()
    plain = run_session(idle_snapshot(table(*entries), [gang(1, workers(3))]))
    assert sorted(hosts_in_rank_order(plain)) == ["lost1", "lost2", "z1"]


def test_a_preferred_part_of_a_host_does_not_make_up_for_an_unknown_required_domain():
    entries = [host("a", instances=gpus(8, parts=(4, 4)))]
    hosts = table(*entries, levels=PARTS_LEVELS)
    both = gang(1, workers(1, 2), required="block", preferred="nvlink")
    of_role = gang(2, workers(1, 2, required="block"), preferred="nvlink")
    assert run_session(idle_snapshot(hosts, [both, of_role])).placements == ()


def test_no_host_with_a_known_domain_is_a_reason_of_its_own():
    entries = [host("a", instances=gpus(8))]
    plan = run_session(idle_snapshot(table(*entries), [gang(1, workers(1), required="block")]))
    assert plan.reasons[0].reason.text() == "no matching host names its block domain"


def test_a_role_may_have_its_own_domain_inside_the_groups():
    ask = gang(
        1,
        role("launcher", [9]),
        workers(2, required="nvlink"),
        required="block",
    )
    snapshot = held(idle_snapshot(dgx(), [ask]), "n2", gpu=[0])
    assert places(run_session(snapshot)) == [
        ("launcher", 0, "n3"),
        ("w", 0, "n3"),
        ("w", 1, "n4"),
    ]


def test_a_roles_coarser_level_beats_the_groups():
    ask = gang(
        1,
        workers(2),
        role("loader", [8], needs=need(gpu=8, one_host=True), required="block"),
        required="nvlink",
    )
    assert places(run_session(idle_snapshot(dgx(), [ask]))) == [
        ("w", 0, "n1"),
        ("w", 1, "n2"),
        ("loader", 0, "n3"),
    ]


def test_a_plain_job_may_ask_for_one_domain_too():
    ask = job(1, need(gpu=8, ptile=1), tasks=2, required="nvlink")
    plan = run_session(held(idle_snapshot(dgx(), [ask]), "n1", gpu=[3]))
    assert [s.host for s in plan.placements[0].members[0].shares] == ["n3", "n4"]


def test_an_undeclared_level_is_named():
    plan = run_session(idle_snapshot(dgx(), [gang(1, workers(1), required="rack")]))
    assert plan.reasons[0].reason.text() == (
        'topology level "rack" is not declared; the cluster has: host, nvlink, block'
    )


def test_a_host_takes_the_domain_that_all_its_instances_agree_on():
    agreed = [structs.replace(g, domains=(("nvlink", "x"),)) for g in gpus(2)]
    divided = [structs.replace(g, domains=(("nvlink", f"x{i}"),)) for i, g in enumerate(gpus(2))]
    hosts = table(host("a", instances=agreed), host("b", instances=divided))
    assert hosts.domains["nvlink"] == ("x", "")


# nvlink below the host: its domains are sets of instances


def test_below_the_host_all_instances_come_from_one_part_of_one_host():
    plan = run_session(idle_snapshot(split_hosts(), [gang(1, workers(2, 2), required="nvlink")]))
    assert [m.shares[0].instances for m in plan.placements[0].members] == [
        ("n1/gpu/0", "n1/gpu/1"),
        ("n1/gpu/2", "n1/gpu/3"),
    ]


def test_below_the_host_the_tightest_part_that_holds_all_is_taken():
    ask = gang(1, workers(1, 3), required="nvlink")
    snapshot = held(held(idle_snapshot(split_hosts(), [ask]), "n1", gpu=[0, 1]), "n2", gpu=[4])
    assert run_session(snapshot).placements[0].members[0].shares[0].instances == (
        "n2/gpu/5",
        "n2/gpu/6",
        "n2/gpu/7",
    )


def test_below_the_host_more_than_a_part_holds_can_never_fit():
    plan = run_session(idle_snapshot(split_hosts(), [gang(1, workers(2, 3), required="nvlink")]))
    assert plan.placements == ()
    assert plan.reasons[0].reason.text() == (
        "can never fit: needs room for 2 members of role w in one nvlink domain; "
        "n1/p0 holds 1 when empty and no other holds more"
    )


def test_preferred_below_the_host_keeps_members_whole_and_then_uses_several_parts():
    plan = run_session(idle_snapshot(split_hosts(), [gang(1, workers(3, 4), preferred="nvlink")]))
    assert [m.shares[0].instances[0] for m in plan.placements[0].members] == [
        "n1/gpu/0",
        "n1/gpu/4",
        "n2/gpu/0",
    ]


def test_host_as_a_required_level_puts_all_members_on_one_host():
    snapshot = held(
        idle_snapshot(split_hosts(), [gang(1, workers(4, 2), required="host")]), "n1", gpu=[0]
    )
    assert hosts_in_rank_order(run_session(snapshot)) == ["n2"] * 4


def test_a_job_without_a_request_still_stays_inside_a_part_that_holds_it():
    snapshot = held(idle_snapshot(split_hosts(1), [job(1, need(gpu=2))]), "n1", gpu=[0])
    shares = run_session(snapshot).placements[0].members[0].shares
    assert shares[0].instances == ("n1/gpu/1", "n1/gpu/2")
    three = held(idle_snapshot(split_hosts(1), [job(1, need(gpu=4))]), "n1", gpu=[0])
    shares = run_session(three).placements[0].members[0].shares
    assert shares[0].instances == ("n1/gpu/4", "n1/gpu/5", "n1/gpu/6", "n1/gpu/7")


def test_same_holds_a_claims_instances_in_one_part():
    claim = ClaimTemplate(name="gpus", type="gpu", count=3, same="nvlink")
    free_two_and_two = held(
        held(idle_snapshot(split_hosts(2), [job(1, claims=[claim])]), "n1", gpu=[0, 1, 4, 5]),
        "n2",
        gpu=[0],
    )
    holdings = run_session(free_two_and_two).placements[0].claims[0].holdings
    assert [h.instance for h in holdings] == ["n2/gpu/1", "n2/gpu/2", "n2/gpu/3"]


def test_same_at_a_level_above_the_host_needs_a_host_of_known_domain():
    claim = ClaimTemplate(name="gpus", type="gpu", count=2, same="nvlink")
    entries = [host("a", instances=gpus(8)), host("b", domains={"nvlink": "x"}, instances=gpus(8))]
    plan = run_session(idle_snapshot(table(*entries), [job(1, claims=[claim])]))
    assert plan.placements[0].claims[0].host == "b"

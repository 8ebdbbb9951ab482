"""Claims made from templates: where they sit, what they hold, and how ports turn."""

from msgspec import structs

from tests.kit.cluster import (
    GB,
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
from xce.model.placing import Holding
from xce.scheduler.session import run_session

PORT = ClaimTemplate(name="rendezvous", type="port")
SCRATCH = ClaimTemplate(name="scratch", type="directory", size_bytes=10 * GB)


def claims_of(plan, at=0):
    return plan.placements[at].claims


def test_a_group_claim_sits_with_rank_0_of_the_first_role():
    ask = gang(1, role("launcher", [1]), role("w", [2, 3], needs=need(gpu=8)), claims=[PORT])
    (claim,) = claims_of(run_session(idle_snapshot(dgx(), [ask])))
    assert (claim.scope, claim.role, claim.job, claim.host) == ("group", "", 0, "n1")
    assert claim.template is PORT
    assert claim.holdings == (Holding(host="n1", instance="n1/port/20002"),)


def test_a_group_claim_sits_with_the_first_role_whose_ready_names_it():
    ask = gang(
        1,
        role("helper", [1], needs=need(gpu=8, one_host=True)),
        role("launcher", [2], needs=need(gpu=8, one_host=True), ready_claim="rendezvous"),
        claims=[PORT],
    )
    plan = run_session(idle_snapshot(dgx(), [ask]))
    assert plan.placements[0].members[1].shares[0].host == "n2"
    assert claims_of(plan)[0].host == "n2"


def test_a_role_claim_is_one_for_all_members_of_its_role():
    shared = structs.replace(SCRATCH, scope="role")
    ask = gang(1, role("w", [1, 2], needs=need(gpu=8, one_host=True), claims=[shared]))
    (claim,) = claims_of(run_session(idle_snapshot(dgx(), [ask])))
    assert (claim.scope, claim.role, claim.job, claim.host) == ("role", "w", 0, "n1")
    assert claim.holdings == (Holding(host="n1", counter="scratch", amount=10 * GB),)


def test_member_claims_are_made_for_each_member_and_are_no_part_of_its_share():
    devices = ClaimTemplate(name="gpus", type="gpu", count=4, select="model==H100")
    ask = gang(1, role("w", [1, 2], claims=[devices, SCRATCH]))
    plan = run_session(idle_snapshot(dgx(), [ask]))
    assert [(c.template.name, c.job, c.host, len(c.holdings)) for c in claims_of(plan)] == [
        ("gpus", 1, "n1", 4),
        ("scratch", 1, "n1", 1),
        ("gpus", 2, "n1", 4),
        ("scratch", 2, "n1", 1),
    ]
    assert plan.placements[0].members[0].shares[0].instances == ()
    assert plan.placements[0].members[0].shares[0].counters == (("slots", 1),)
    held_by_both = {h.instance for c in claims_of(plan) for h in c.holdings if h.instance}
    assert held_by_both == {f"n1/gpu/{i}" for i in range(8)}


def test_what_claims_take_is_counted_with_everything_else():
    big = structs.replace(SCRATCH, size_bytes=60 * GB)
    ask = gang(1, role("w", [1, 2, 3], claims=[big]))
    plan = run_session(idle_snapshot(dgx(), [ask]))
    assert [c.host for c in claims_of(plan)] == ["n1", "n2", "n3"]


def test_rank_0_goes_where_the_group_claim_fits():
    entries = [
        host("a", ports=(0, 0), instances=gpus(4)),
        host("b", ports=(7000, 7000), instances=gpus(4)),
    ]
    ask = gang(1, role("w", [1, 2], needs=need(gpu=4, one_host=True)), claims=[PORT])
    plan = run_session(idle_snapshot(table(*entries), [ask]))
    assert [m.shares[0].host for m in plan.placements[0].members] == ["b", "a"]
    assert claims_of(plan)[0].holdings == (Holding(host="b", instance="b/port/7000"),)


def test_the_claims_of_a_member_that_spans_hosts_sit_on_its_first_host():
    entries = [host("a", scratch=0, slots=4), host("b", scratch=20 * GB, slots=2)]
    plan = run_session(idle_snapshot(table(*entries), [job(1, tasks=5, claims=[SCRATCH])]))
    assert [s.host for s in plan.placements[0].members[0].shares] == ["b", "a"]
    assert claims_of(plan)[0].host == "b"


def test_a_static_claim_holds_nothing():
    fixed = ClaimTemplate(name="addr", type="static", parameters=(("value", "x"),))
    (claim,) = claims_of(run_session(idle_snapshot(dgx(), [job(1, claims=[fixed])])))
    assert (claim.host, claim.holdings, claim.scope) == ("n1", (), "member")


def port_of(plan, at=0):
    return claims_of(plan, at)[0].holdings[0].instance.rsplit("/", 1)[1]


def test_the_next_session_takes_another_port():
    ask = gang(1, role("w", [1]), claims=[PORT])
    first = run_session(idle_snapshot(dgx(), [ask], session=1))
    second = run_session(idle_snapshot(dgx(), [ask], session=2))
    assert (port_of(first), port_of(second)) == ("20002", "20003")


def test_a_seed_turns_the_choice_in_place_of_the_session_number():
    ask = gang(1, role("w", [1]), claims=[PORT])
    two_ports = held(idle_snapshot(dgx(1), [ask], session=1), "n1", ports=((7000, 7001),))
    seeded = [structs.replace(two_ports, session=n, seed=n) for n in (1, 2, 3)]
    assert [port_of(run_session(one)) for one in seeded] == ["7000", "7001", "7000"]


def test_ports_of_one_host_are_not_given_twice_and_run_out():
    asks = [gang(i, role("w", [i]), claims=[PORT]) for i in range(1, 4)]
    snapshot = held(idle_snapshot(dgx(1), asks), "n1", ports=((20000, 20000), (20005, 20005)))
    plan = run_session(snapshot)
    assert sorted(port_of(plan, i) for i in range(2)) == ["20000", "20005"]
    assert plan.reasons[0].reason.text() == ("needs 1 port on one host; best host n1 has 0 free")


def test_a_claim_of_several_ports_holds_that_many():
    ask = gang(1, role("w", [1]), claims=[structs.replace(PORT, count=3)])
    (claim,) = claims_of(run_session(idle_snapshot(dgx(), [ask])))
    assert len({h.instance for h in claim.holdings}) == 3


def test_a_resreq_for_a_provisioned_type_makes_a_nameless_member_claim():
    needs = structs.replace(need(), per_task=(("directory", 3 * GB),), span_hosts=1)
    plan = run_session(idle_snapshot(dgx(), [job(1, needs, tasks=2)]))
    (claim,) = claims_of(plan)
    assert (claim.template.name, claim.template.type, claim.scope) == ("", "directory", "member")
    assert claim.holdings == (Holding(host="n1", counter="scratch", amount=6 * GB),)
    assert plan.placements[0].members[0].shares[0].counters == (("slots", 2),)


def test_segments_without_a_level_and_spares_are_refused_in_words():
    segments = gang(2, role("w", [2]))
    segments = structs.replace(segments, topology=structs.replace(segments.topology, segment=4))
    spare = gang(3, structs.replace(role("w", [3]), spares=1))
    plan = run_session(idle_snapshot(dgx(), [segments, spare]))
    assert [entry.reason.text() for entry in plan.reasons] == [
        "can never be placed by this version: topology.segment without a level",
        "can never be placed by this version: spares",
    ]

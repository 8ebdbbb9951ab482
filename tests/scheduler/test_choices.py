"""Which of several possible places is taken: tightest, fewest, most, in topology order; worked
out here from sums over names, not from the scheduler's own columns."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.cluster import (
    PARTS_LEVELS,
    ClaimTemplate,
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
from xce.scheduler.session import run_session

QUICK = settings(max_examples=150, deadline=None, derandomize=True)

# Per domain, the free GPUs of each of its hosts; a member takes two.
RACKS = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=3), min_size=1, max_size=4)


def racks(rooms, slots=8):
    entries = []
    for d, hosts in enumerate(rooms):
        for h, free in enumerate(hosts):
            where = {"nvlink": f"x{d}", "block": "b"}
            entries.append(host(f"h{d}{h}", slots=slots, domains=where, instances=gpus(free)))
    return table(*entries)


def members(count):
    return role("w", range(1, count + 1), needs=need(gpu=2, one_host=True))


def used(plan):
    return [m.shares[0].host for m in plan.placements[0].members] if plan.placements else None


@QUICK
@given(RACKS, st.integers(1, 6))
def test_required_takes_the_holding_domain_with_fewest_gpus_then_slots_then_name(rooms, count):
    plan = run_session(idle_snapshot(racks(rooms), [gang(1, members(count), required="nvlink")]))
    holding = [
        (sum(hosts), 8 * len(hosts), d)
        for d, hosts in enumerate(rooms)
        if sum(free // 2 for free in hosts) >= count
    ]
    places = used(plan)
    if not holding:
        assert places is None
        return
    assert places is not None
    assert {name[1] for name in places} == {str(min(holding)[2])}


@QUICK
@given(RACKS, st.integers(1, 10))
def test_preferred_uses_the_fewest_domains_that_can_hold_all(rooms, count):
    plan = run_session(idle_snapshot(racks(rooms), [gang(1, members(count), preferred="nvlink")]))
    room = sorted((sum(free // 2 for free in hosts) for hosts in rooms), reverse=True)
    enough = [k for k in range(1, len(room) + 1) if sum(room[:k]) >= count]
    places = used(plan)
    if not enough:
        assert places is None
        return
    assert places is not None
    assert len({name[1] for name in places}) == enough[0]


@QUICK
@given(RACKS, st.integers(1, 10), st.sampled_from(["required", "preferred"]))
def test_ranks_never_leave_a_host_or_a_domain_and_come_back(rooms, count, kind):
    plan = run_session(idle_snapshot(racks(rooms), [gang(1, members(count), **{kind: "nvlink"})]))
    places = used(plan) or []
    for names in (places, [name[1] for name in places]):
        seen = list(dict.fromkeys(names))
        assert names == sorted(names, key=seen.index)


@QUICK
@given(RACKS, st.integers(1, 10))
def test_inside_the_block_whole_domains_are_filled_roomiest_first(rooms, count):
    plan = run_session(idle_snapshot(racks(rooms), [gang(1, members(count), required="block")]))
    places = used(plan)
    if places is None:
        return
    key = {
        str(d): (-sum(f // 2 for f in hosts), -sum(serving), -8 * len(serving), d)
        for d, hosts in enumerate(rooms)
        for serving in [[free for free in hosts if free >= 2]]
    }
    order = list(dict.fromkeys(name[1] for name in places))
    assert order == sorted(order, key=key.__getitem__)
    for d in order[:-1]:
        assert sum(name[1] == d for name in places) == sum(f // 2 for f in rooms[int(d)])


@QUICK
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(1, 4))
def test_a_plain_job_takes_the_host_with_the_fewest_gpus_left(free, wanted):
    hosts = table(*(host(f"h{i}", instances=gpus(n)) for i, n in enumerate(free)))
    plan = run_session(idle_snapshot(hosts, [job(1, need(gpu=wanted))]))
    fitting = [(n, i) for i, n in enumerate(free) if n >= wanted]
    assert used(plan) == ([f"h{min(fitting)[1]}"] if fitting else None)


@QUICK
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_claims_of_the_same_part_fill_as_many_parts_as_hold_them(parts, size, count):
    hosts = table(host("h", slots=16, instances=gpus(sum(parts), parts=parts)), levels=PARTS_LEVELS)
    claim = ClaimTemplate(name="g", type="gpu", count=size, same="nvlink")
    ask = gang(1, role("w", range(1, count + 1), least=1, claims=[claim]))
    plan = run_session(idle_snapshot(hosts, [ask]))
    most = min(count, sum(part // size for part in parts))
    assert sum(len(p.members) for p in plan.placements) == most
    part_of = {
        f"h/gpu/{i}": p for i, p in enumerate(p for p, n in enumerate(parts) for _ in range(n))
    }
    for placement in plan.placements:
        for made in placement.claims:
            assert len({part_of[h.instance] for h in made.holdings}) == 1


def test_what_is_held_elsewhere_does_not_count_as_room():
    snapshot = held(
        idle_snapshot(racks([[4, 4], [4, 4]]), [gang(1, members(4), required="nvlink")]),
        "h00",
        gpu=[0],
    )
    assert used(run_session(snapshot)) == ["h10", "h10", "h11", "h11"]

"""Compound and alternative requirements, and pools, on random clusters: all terms or nothing, the
first alternative that has a place, and no pool given twice."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.kit.cluster import held, host, idle_snapshot, job, table
from tests.scheduler.layout_judge import divisions, room, wrongs
from tests.scheduler.test_layout_properties import QUICK
from xce.model.need import Alternative, Need, Part, Term
from xce.scheduler.session import run_session

PARTS = st.builds(
    Part,
    select=st.sampled_from(["", "", "type==X", "type==Y"]),
    span_hosts=st.sampled_from([0, 0, 1]),
    ptile=st.sampled_from([0, 0, 1, 2]),
)


@st.composite
def clusters(draw):
    """One to three hosts of two types with some slots taken."""
    names = "abc"[: draw(st.integers(1, 3))]
    entries = [
        host(name, slots=4, attributes=(("type", draw(st.sampled_from("XY"))),)) for name in names
    ]
    snapshot = idle_snapshot(table(*entries, levels=("host",)))
    for name in names:
        snapshot = held(snapshot, name, slots=draw(st.integers(0, 4)))
    return snapshot


def compound(*terms):
    """A need of these (tasks, part) terms."""
    made = tuple(Term(tasks=tasks, part=part) for tasks, part in terms)
    fields = {name: getattr(terms[0][1], name) for name in Part.__struct_fields__}
    return Need(**fields, terms=made)


def place(snapshot, need, tasks):
    plan = run_session(structs.replace(snapshot, pending=(job(1, need, tasks=tasks),)))
    return plan.placements[0].members[0] if plan.placements else None


def right(snapshot, part, tasks):
    """Every division of so many tasks that is right by one part."""
    need = Need(**{name: getattr(part, name) for name in Part.__struct_fields__})
    kind = part.select.removeprefix("type==")
    for one in divisions(snapshot, tasks):
        hosts = [name for name, n in one.items() if n]
        rows = [snapshot.hosts.attributes[snapshot.hosts.index[name]] for name in hosts]
        if not wrongs(snapshot, need, one) and all(kind in ("", row["type"]) for row in rows):
            yield one


def both(snapshot, left, other):
    return all(left[name] + other[name] <= room(snapshot, name) for name in snapshot.hosts.names)


@QUICK
@given(clusters(), PARTS, PARTS, st.integers(1, 3), st.integers(1, 3))
def test_all_terms_are_placed_exactly_when_some_divisions_go_together(
    snapshot, first, second, ones, others
):
    pairs = product(right(snapshot, first, ones), right(snapshot, second, others))
    expected = [
        {n: a[n] + b[n] for n in a if a[n] + b[n]} for a, b in pairs if both(snapshot, a, b)
    ]
    member = place(snapshot, compound((ones, first), (others, second)), ones + others)
    if member is None:
        assert expected == []
    else:
        assert {share.host: share.tasks for share in member.shares} in expected
        assert all(dict(share.counters)["slots"] == share.tasks for share in member.shares)


@QUICK
@given(clusters(), st.lists(PARTS, min_size=1, max_size=3), st.integers(1, 4))
def test_the_first_alternative_that_has_a_place_by_itself_wins(snapshot, parts, tasks):
    fields = {name: getattr(parts[0], name) for name in Part.__struct_fields__}
    need = Need(**fields, others=tuple(Alternative(part=part) for part in parts[1:]))
    member = place(snapshot, need, tasks)
    alone = [any(True for _ in right(snapshot, part, tasks)) for part in parts]
    assert (member.alternative if member else None) == (alone.index(True) if any(alone) else None)


@QUICK
@given(clusters(), st.integers(0, 6), st.lists(st.integers(1, 3), max_size=5), st.booleans())
def test_no_pool_is_given_twice(snapshot, total, asked, by_task):
    count = len(snapshot.hosts.names)
    snapshot = structs.replace(
        snapshot,
        free={**snapshot.free, "lic": np.full(count, total, dtype=np.int64)},
        pools={"lic": np.zeros(count, dtype=np.int64)},
    )
    jobs = []
    for key, amount in enumerate(asked, 1):
        per = {"per_task" if by_task else "per_job": (("lic", amount),)}
        jobs.append(job(key, Need(**per), tasks=2))
    plan = run_session(structs.replace(snapshot, pending=tuple(jobs)))
    shares = [share for one in plan.placements for share in one.members[0].shares]
    given_out = sum(dict(share.counters).get("lic", 0) for share in shares)
    times = 2 if by_task else 1
    assert given_out == times * sum(asked[one.job - 1] for one in plan.placements) <= total

"""Span, same, compute units and affinity on random clusters, checked by a judge of its own: every
placement is right, and a job is placed exactly when some division of its tasks is right."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.kit.cluster import held, host, idle_snapshot, job, table
from tests.scheduler.layout_judge import bad_bindings, divisions, wrongs
from xce.model.need import CpuNeed, Need, UnitNeed
from xce.scheduler.reasons import Code, Cure
from xce.scheduler.session import run_session
from xce.scheduler.snapshot import Snapshot

QUICK = settings(
    max_examples=250, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@st.composite
def clusters(draw, cpus=False):
    """One to four hosts of one or two types in racks, with some slots taken."""
    entries, taken = [], {}
    for name in "abcd"[: draw(st.integers(1, 4))]:
        rack = draw(st.sampled_from(["r1", "r2", "r3", "r1", ""]))
        slots = draw(st.integers(1, 5))
        kind = draw(st.sampled_from([(("type", "X"),), (("type", "Y"),), (("type", "X"),), ()]))
        if cpus:
            sizes = (draw(st.integers(1, 2)), draw(st.integers(1, 3)), 1)
            kind += tuple(zip(("nprocs", "ncores", "nthreads"), sizes, strict=True))
        domains = {"rack": rack} if rack else {}
        entries.append(host(name, slots=slots, domains=domains, attributes=tuple(sorted(kind))))
        taken[name] = draw(st.integers(0, slots))
    snapshot = idle_snapshot(table(*entries, levels=("host", "rack")))
    for name, slots in taken.items():
        snapshot = held(snapshot, name, slots=slots)
    return snapshot


UNITS = st.one_of(
    st.none(),
    st.builds(
        UnitNeed,
        level=st.just("rack"),
        pref=st.sampled_from(["config", "maxavail", "minavail", "bestfit"]),
        most=st.integers(0, 2),
        least=st.integers(0, 2),
    ),
    st.builds(UnitNeed, level=st.just("rack"), most=st.integers(0, 2), balance=st.just(True)),
)
SPANS = st.sampled_from(
    [
        {},
        {},
        {"span_hosts": 1},
        {"ptile": 1},
        {"ptile": 2},
        {"ptile": 3},
        {"block": 2},
        {"stripe": 1},
        {"stripe": 1, "stripe_most": 2},
    ]
)
SAME = st.sampled_from([(), (), ("type",)])
ORDERS = st.sampled_from([(), (("slots", -1),), (("slots", 1),)])


@QUICK
@given(clusters(), SPANS, SAME, ORDERS, UNITS, st.integers(1, 6))
def test_every_placement_is_right(snapshot, span, same, order, units, tasks):
    need = Need(**span, same=same, order=order, units=units)
    division = placed(snapshot, need, tasks)
    if division is not None:
        assert sum(division.values()) == tasks
        assert wrongs(snapshot, need, division) == []


@QUICK
@given(clusters(), SPANS, SAME, ORDERS, UNITS, st.integers(1, 8))
def test_a_job_is_placed_exactly_when_some_division_is_right(
    snapshot, span, same, order, units, tasks
):
    need = Need(**span, same=same, order=order, units=units)
    possible = any(not wrongs(snapshot, need, one) for one in divisions(snapshot, tasks))
    if need.block and tasks % need.block:
        possible = False
    assert (placed(snapshot, need, tasks) is not None) is possible


@QUICK
@given(clusters(), UNITS, SAME, ORDERS, st.integers(2, 9))
def test_compute_units_without_a_span_as_well(snapshot, units, same, order, tasks):
    need = Need(units=units, same=same, order=order)
    possible = any(not wrongs(snapshot, need, one) for one in divisions(snapshot, tasks))
    assert (placed(snapshot, need, tasks) is not None) is possible


def placed(snapshot: Snapshot, need: Need, tasks: int) -> dict[str, int] | None:
    """Where the tasks go; that they wait for ever is only said of what no empty host holds."""
    plan = run_session(with_job(snapshot, need, tasks))
    if plan.placements:
        return {share.host: share.tasks for share in plan.placements[0].members[0].shares}
    why = plan.reasons[0].reason
    if why.cure is Cure.NEVER and why.code is not Code.NOT_EVEN:
        roomy = structs.replace(snapshot, free=snapshot.hosts.totals)
        assert run_session(with_job(roomy, need, tasks)).placements == ()
    return None


def with_job(snapshot: Snapshot, need: Need, tasks: int) -> Snapshot:
    return structs.replace(snapshot, pending=(job(1, need, tasks=tasks),))


AFFINITY = st.builds(
    CpuNeed,
    unit=st.sampled_from(["core", "core", "thread", "socket", "numa"]),
    count=st.integers(1, 2),
    times=st.integers(1, 2),
    same=st.sampled_from(["", "socket"]),
    exclusive=st.sampled_from(["", "", "socket"]),
    exclusive_scope=st.sampled_from(["injob", "alljobs"]),
    spread=st.sampled_from(["", "any", "balance", "pack"]),
)


@QUICK
@given(clusters(cpus=True), AFFINITY, st.integers(1, 4), st.integers(0, 7))
def test_processors_are_free_whole_and_nobody_elses(snapshot, affinity, tasks, busy):
    masks = {"cpu": tuple(mask & ~busy for mask in snapshot.free_masks["cpu"])}
    snapshot = structs.replace(snapshot, free_masks=masks)
    need = Need(cpus=affinity)
    plan = run_session(with_job(snapshot, need, tasks))
    for placement in plan.placements:
        assert bad_bindings(snapshot, need, placement.members[0]) == []

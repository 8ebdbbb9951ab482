"""What holds for every cluster and every ask, checked by judges that share no code with the
scheduler (checker.py): no over-commitment, topology obeyed, and a place found if there is one."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.kit.cluster import (
    LEVELS,
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
    standing,
    table,
)
from tests.scheduler.checker import can_be_placed, most_units, violations
from xce.scheduler.candidates import emptied
from xce.scheduler.reasons import Cure, PendReason
from xce.scheduler.session import SessionRun, dry_run, run_session

QUICK = settings(
    max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
UNITS = 1 << 20


@st.composite
def clusters(draw, most_hosts=4, most_gpus=4):
    """Small hosts with some GPUs, slots and memory taken; nvlink above or below the host."""
    below = draw(st.booleans())
    entries, taken, down = [], {}, []
    for i in range(draw(st.integers(1, most_hosts))):
        name = f"h{i}"
        count = draw(st.integers(0, most_gpus))
        cut = draw(st.integers(0, count)) if below else 0
        where = {"block": draw(st.sampled_from(["b1", "b1", "b2", ""]))}
        if not below:
            where["nvlink"] = draw(st.sampled_from(["x1", "x2", "x3", ""]))
        entries.append(
            host(
                name,
                slots=draw(st.integers(1, 6)),
                mem=draw(st.integers(1, 6)) * UNITS,
                ports=draw(st.sampled_from([(0, 0), (7000, 7001)])),
                domains={level: domain for level, domain in where.items() if domain},
                instances=mixed(count, draw(st.integers(0, count)), cut if below else None),
            )
        )
        taken[name] = draw(st.sets(st.integers(0, count - 1))) if count else set()
        if draw(st.integers(0, 9)) == 0:
            down.append(name)
    hosts = table(*entries, levels=PARTS_LEVELS if below else LEVELS)
    snapshot = idle_snapshot(hosts)
    for name, bits in taken.items():
        if hosts.instances:
            snapshot = held(snapshot, name, gpu=sorted(bits))
    return standing(snapshot, **dict.fromkeys(down, "host_down"))


def mixed(count, of_first_model, cut):
    """GPUs of two models, in two parts of the host where `cut` says so."""
    all_of_one = gpus(count, parts=() if cut is None else (cut, count - cut))
    return [
        structs.replace(one, attributes=(("model", "H100" if i < of_first_model else "A100"),))
        for i, one in enumerate(all_of_one)
    ]


@st.composite
def one_host_roles(draw, most_roles=3, most_members=2):
    roles, key = [], draw(st.integers(1, 50)) * 100
    for name in "abc"[: draw(st.integers(1, most_roles))]:
        count = draw(st.integers(1, most_members))
        needs = need(
            gpu=draw(st.integers(0, 2)),
            mem=draw(st.integers(0, 3)) * UNITS,
            one_host=True,
            gpu_select=draw(st.sampled_from(["", "", "model==H100", "model==A100"])),
        )
        tasks = draw(st.integers(1, 2))
        least = draw(st.integers(1, count))
        jobs = range(key, key + count)
        roles.append(role(name, jobs, needs=needs, tasks=tasks, least=least))
        key += count
    return roles


LEVEL = st.sampled_from(["", "", "host", "nvlink", "block"])


@st.composite
def any_asks(draw):
    """Gangs and jobs of every shape, with claims and topology requests at both levels."""
    asks = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        claims = draw(
            st.lists(
                st.sampled_from(
                    [
                        ClaimTemplate(name="p", type="port"),
                        ClaimTemplate(name="d", type="directory", size_bytes=1 << 35),
                        ClaimTemplate(name="g", type="gpu", count=1, same="nvlink"),
                    ]
                ),
                max_size=2,
                unique_by=lambda claim: claim.name,
            )
        )
        needs = need(
            gpu=draw(st.integers(0, 2)),
            mem=draw(st.integers(0, 2)) * UNITS,
            ptile=draw(st.sampled_from([0, 0, 1, 2])),
            one_host=draw(st.booleans()),
        )
        tasks = draw(st.integers(1, 4))
        if draw(st.booleans()):
            asks.append(job(number, needs, tasks=tasks, claims=claims, required=draw(LEVEL)))
            continue
        count = draw(st.integers(1, 3))
        first = role(
            "a",
            range(number * 100, number * 100 + count),
            needs=needs,
            tasks=tasks,
            least=draw(st.integers(0, count)),
            required=draw(LEVEL),
            preferred=draw(LEVEL),
            claims=claims,
        )
        second = role("b", [number * 100 + 50], needs=need(one_host=True))
        port = [ClaimTemplate(name="r", type="port")] if draw(st.booleans()) else []
        asks.append(
            gang(
                number,
                *([second, first] if draw(st.booleans()) else [first]),
                required=draw(LEVEL),
                preferred=draw(LEVEL),
                claims=port,
            )
        )
    return asks


def with_asks(snapshot, asks):
    return structs.replace(snapshot, pending=tuple(asks))


@QUICK
@given(clusters(), any_asks())
def test_nothing_is_given_twice_and_every_placement_has_the_shape_that_was_asked(snapshot, asks):
    snapshot = with_asks(snapshot, asks)
    plan = run_session(snapshot)
    assert violations(snapshot, plan) == []
    assert len(plan.placements) + sum(entry.waiting for entry in plan.reasons) == len(asks)


@QUICK
@given(clusters(most_hosts=3), one_host_roles(), LEVEL, st.booleans())
def test_a_gang_is_placed_exactly_when_some_assignment_exists(snapshot, roles, level, port):
    claims = [ClaimTemplate(name="r", type="port")] if port else []
    ask = gang(1, *roles, required=level, claims=claims)
    snapshot = with_asks(snapshot, [ask])
    plan = run_session(snapshot)
    assert violations(snapshot, plan) == []
    assert bool(plan.placements) == can_be_placed(snapshot, ask)


@QUICK
@given(clusters(), st.integers(1, 9), st.integers(0, 2), st.integers(0, 2), LEVEL)
def test_a_job_over_hosts_is_placed_exactly_when_some_domain_has_room(
    snapshot, tasks, gpu, mem, level
):
    ask = job(1, need(gpu=gpu, mem=mem * UNITS), tasks=tasks, required=level)
    snapshot = with_asks(snapshot, [ask])
    plan = run_session(snapshot)
    assert violations(snapshot, plan) == []
    assert bool(plan.placements) == (most_units(snapshot, level, gpu, mem * UNITS) >= tasks)


@QUICK
@given(clusters(), st.integers(2, 9), st.integers(0, 2), LEVEL)
def test_an_elastic_role_grows_as_far_as_the_best_domain_allows(snapshot, count, gpu, level):
    members = role("w", range(1, count + 1), needs=need(gpu=gpu, one_host=True), least=1)
    ask = gang(1, members, required=level)
    snapshot = with_asks(snapshot, [ask])
    plan = run_session(snapshot)
    most = min(count, most_units(snapshot, level, gpu, 0))
    assert sum(len(p.members) for p in plan.placements) == most


@QUICK
@given(clusters(), any_asks())
def test_every_reason_makes_a_sentence_and_counts_every_host_once(snapshot, asks):
    plan = run_session(with_asks(snapshot, asks))
    for entry in plan.reasons:
        assert entry.reason.text()
        if entry.reason.hosts:
            assert sum(count for _, count in entry.reason.hosts) == len(snapshot.hosts.names)


@QUICK
@given(clusters(), any_asks(), st.integers(1, 5))
def test_portions_and_repetition_change_nothing(snapshot, asks, steps):
    snapshot = with_asks(snapshot, asks)
    run = SessionRun(snapshot)
    while not run.advance(steps):
        pass
    assert run.plan == run_session(snapshot)


@QUICK
@given(clusters(), any_asks())
def test_what_can_never_fit_does_not_fit_on_empty_hosts_and_nothing_else_waits_there(
    snapshot, asks
):
    empty = emptied(snapshot)
    never = {
        entry.class_key
        for entry in run_session(with_asks(snapshot, asks)).reasons
        if entry.reason.cure == Cure.NEVER
    }
    for ask in asks:
        alone = dry_run(empty, ask)
        if ask.class_key in never:
            assert isinstance(alone, PendReason)
        if isinstance(alone, PendReason):
            assert alone.cure in (Cure.NEVER, Cure.ON_CHANGE), alone.text()

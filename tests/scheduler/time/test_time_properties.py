"""What holds for every workload and every cluster, however it is drawn."""

from itertools import combinations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.kit.cluster import gang, gpus, host, idle_snapshot, job, need, role, table
from tests.scheduler.time.play import SECOND_US, Play
from xce.model.placing import Share
from xce.scheduler.candidates import Workspace
from xce.scheduler.session import run_session
from xce.scheduler.snapshot import Ask, Snapshot
from xce.scheduler.time.attempt import attempt
from xce.scheduler.time.book import Book
from xce.scheduler.time.terms import (
    CONSERVATIVE,
    EASY,
    FOREVER_US,
    Ending,
    Preempting,
    TimePolicy,
    Victim,
)

QUICK = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@st.composite
def workloads(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, Ask]], dict[str, int]]:
    """Hosts of some slots; jobs on one host, over several, and gangs, some without a limit."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    arrivals, runs = [], {}
    for number in range(1, draw(st.integers(3, 14))):
        length = draw(st.integers(1, 10))
        at = draw(st.integers(0, 15))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            key = 100 * number
            workers = role("w", range(key, key + 2), tasks=draw(st.integers(1, 2)))
            ask = gang(number, workers)
        else:
            tasks = draw(st.integers(1, 4))
            ask = job(number, need(one_host=kind == 1), tasks=tasks)
        endless = draw(st.integers(0, 9)) == 0
        ask = structs.replace(ask, length_us=0 if endless else length * SECOND_US)
        arrivals.append((at, ask))
        runs[ask.label] = length
    arrivals.sort(key=lambda pair: pair[0])
    return sizes, arrivals, runs


def played(workload: tuple[list[int], list[tuple[int, Ask]], dict[str, int]], policy: str) -> Play:
    sizes, arrivals, runs = workload
    hosts = table(*(host(f"h{i}", slots=size) for i, size in enumerate(sizes)))
    depth = 1 if policy == EASY else 50
    play = Play(hosts, TimePolicy(policy=policy, depth=depth), runs)
    play.run(arrivals)
    return play


@QUICK
@given(workloads(), st.sampled_from([EASY, CONSERVATIVE]))
def test_nobody_who_has_a_reservation_is_delayed_by_others(workload, policy) -> None:  # type: ignore[no-untyped-def]
    """Limits are exact here, and nothing is ever exceeded (the play looks)."""
    play = played(workload, policy)
    late = [slip for slip in play.slips if slip[2] > slip[1]]
    assert late == []
    assert play.killed == [], "with exact limits nobody is in the way of a reservation"
    for label, first_us in play.promised.items():
        assert play.starts[label] <= first_us


@QUICK
@given(workloads())
def test_the_same_snapshot_gives_the_same_plan(workload) -> None:  # type: ignore[no-untyped-def]
    one, other = (played(workload, EASY) for _ in range(2))
    assert (one.starts, one.slips) == (other.starts, other.slips)


# --- who gives way --------------------------------------------------------------------------------


@st.composite
def crowded(draw: st.DrawFn) -> Snapshot:
    """Some hosts full of work, part of which may give way, and one ask that does."""
    count = draw(st.integers(1, 3))
    entries = [host(f"h{i}", slots=4, instances=gpus(2)) for i in range(count)]
    snapshot = idle_snapshot(table(*entries))
    free = {name: column.copy() for name, column in snapshot.free.items()}
    masks = {type_: list(row) for type_, row in snapshot.free_masks.items()}
    victims, ends = [], []
    for number in range(1, draw(st.integers(2, 8))):
        at = draw(st.integers(0, count - 1))
        slots = draw(st.integers(1, 3))
        bits = draw(st.sampled_from([(), (0,), (1,), (0, 1)]))
        mask = sum(1 << bit for bit in bits)
        if free["slots"][at] < slots or masks["gpu"][at] & mask != mask:
            continue
        free["slots"][at] -= slots
        masks["gpu"][at] &= ~mask
        names = tuple(f"h{at}/gpu/{bit}" for bit in bits)
        share = Share(host=f"h{at}", tasks=slots, counters=(("slots", slots),), instances=names)
        if draw(st.integers(0, 3)):
            victims.append(
                Victim(
                    job=number, who=str(number), queue="low", priority=10, attempt=1,
                    since_us=draw(st.integers(1, 99)), shares=(share,),
                )
            )  # fmt: skip
        elif draw(st.booleans()):
            ends.append(Ending(end_us=50 * SECOND_US, who=str(number), shares=(share,)))
    ask = job(
        100,
        need(gpu=draw(st.integers(0, 2)), one_host=draw(st.booleans())),
        tasks=draw(st.integers(1, 4)),
        queue="high",
    )
    return structs.replace(
        snapshot, free=free, free_masks={k: tuple(v) for k, v in masks.items()}, pending=(ask,),
        preempting=Preempting(over={"high": ("low",)}, victims=tuple(victims), takes_us=SECOND_US),
        ends=tuple(ends), time_policies={"": TimePolicy()},
    )  # fmt: skip


def fits_without(snapshot: Snapshot, victims: tuple[Victim, ...]) -> bool:
    book = Book(Workspace(snapshot))
    takings = [taking for one in victims for taking in book.takings_of(one.shares)]
    later = book.later(snapshot.now_us, FOREVER_US, without=takings)
    return attempt(Workspace(later), snapshot.pending[0].whole(), snapshot.now_us) is not None


@settings(QUICK, max_examples=250)
@given(crowded())
def test_victims_are_enough_and_no_fewer_would_be(snapshot: Snapshot) -> None:
    plan = run_session(snapshot)
    candidates = snapshot.preempting.victims
    if plan.placements:
        assert plan.evictions == ()
        return
    if not plan.evictions:
        assert not fits_without(snapshot, candidates), "all of them together would help"
        return
    by_job = {one.job: one for one in candidates}
    chosen = [by_job[key] for _, key, _ in plan.evictions[0].victims]
    assert fits_without(snapshot, tuple(chosen))
    for count in range(len(chosen)):
        for fewer in combinations(chosen, count):
            assert not fits_without(snapshot, fewer), "a part of them would be enough"
    alone = [one for one in candidates if fits_without(snapshot, (one,))]
    assert not alone or len(chosen) == 1

"""Ranges of tasks against a search that tries every number from the most down."""

import random

from msgspec import structs

from tests.kit.cluster import dgx, held, idle_snapshot, job, need
from xce.scheduler.place.growth import largest, sizes_of
from xce.scheduler.plan import Placement
from xce.scheduler.session import dry_run, run_session
from xce.scheduler.snapshot import Ask, Snapshot


def ranged(key: int, least: int, most: int, **needs: object) -> Ask:
    """A job of so many tasks to so many."""
    ask = job(key, need(**needs), tasks=least, class_key=f"c{key}")
    return structs.replace(ask, roles=(structs.replace(ask.roles[0], tasks_max=most),))


def tasks_of(placement: Placement) -> int:
    return sum(share.tasks for share in placement.members[0].shares)


def by_trying(snapshot: Snapshot, ask: Ask) -> int:
    """The most tasks of which an ask for exactly so many has a place; 0 for none."""
    role = ask.roles[0]
    for tasks in range(role.tasks_max, role.tasks - 1, -1):
        exact = structs.replace(ask, roles=(structs.replace(role, tasks=tasks, tasks_max=0),))
        if isinstance(dry_run(snapshot, exact), Placement):
            return tasks
    return 0


def test_any_range_gets_what_trying_every_number_gives() -> None:
    chance = random.Random(7)
    for _ in range(150):
        snapshot = idle_snapshot(dgx(3))
        for name in ("n1", "n2", "n3"):
            snapshot = held(
                snapshot,
                name,
                slots=chance.randint(0, 8),
                gpu=sorted(chance.sample(range(8), chance.randint(0, 8))),
            )
        least = chance.randint(1, 6)
        ask = ranged(
            1,
            least,
            least + chance.randint(1, 20),
            gpu=chance.choice((0, 0, 1, 2)),
            one_host=chance.random() < 0.3,
            ptile=chance.choice((0, 0, 2)),
        )
        found = dry_run(snapshot, ask)
        wanted = by_trying(snapshot, ask)
        assert (tasks_of(found) if isinstance(found, Placement) else 0) == wanted


def test_probes_leave_nothing_behind() -> None:
    """What a range does not get is there for the next one, and versions count placements only."""
    snapshot = idle_snapshot(dgx(2), [ranged(1, 1, 11), ranged(2, 1, 9), job(3, class_key="x")])
    plan = run_session(snapshot)
    assert [tasks_of(one) for one in plan.placements] == [11, 5]
    assert plan.placements[0].host_versions == (("n1", 0), ("n2", 0))
    assert plan.placements[1].host_versions == (("n2", 1),)
    assert plan.reasons[0].first == "3"


def test_halving_finds_the_last_that_fits() -> None:
    for last in range(1, 40):
        asked: list[int] = []

        def fits(size: int, last: int = last, asked: list[int] = asked) -> bool:
            asked.append(size)
            return size <= last

        assert largest(range(1, 40), fits) == last
        assert len(asked) <= 7


def test_sizes_go_in_blocks() -> None:
    role = structs.replace(ranged(1, 4, 13).roles[0], need=structs.replace(need(), block=4))
    assert list(sizes_of(role, 0)) == [4, 8, 12]

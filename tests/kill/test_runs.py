"""A slice of the kill runs; docs/how-to/kill-runs.md has the long form."""

import pytest

from tests.kill.one import Plan, Result, run_one
from tests.kill.run import plans
from tests.kit.postgres import find_binaries
from xce import crashpoint

pytestmark = [pytest.mark.processes, pytest.mark.slow, pytest.mark.kill]


def assert_clean(result: Result) -> None:
    """The death came, and nothing is wrong."""
    assert result.finding.faults == []
    assert result.hit
    assert result.finding.marks >= 60


@pytest.mark.parametrize(
    ("part", "point", "arrival"),
    [
        ("controller", "log.written", 30),
        ("controller", "after_anchor", 60),
        ("controller", "before_answer", 25),
        ("agent", "report.after_post", 6),
        ("supervisor", "launch.before_started", 4),
    ],
)
def test_a_death_at_a_point_loses_nothing(part: str, point: str, arrival: int) -> None:
    assert_clean(run_one(Plan(part=part, point=point, arrival=arrival, seed="ci")))


@pytest.mark.postgres
@pytest.mark.skipif(find_binaries() is None, reason="no PostgreSQL binaries")
def test_a_death_on_postgresql_whose_server_stops_hard_too_loses_nothing() -> None:
    plan = Plan(
        part="controller",
        point="log.committed",
        arrival=20,
        seed="ci",
        database="postgresql",
        crash_after=15,
    )
    assert_clean(run_one(plan))


def test_every_point_has_its_turn_and_the_same_seed_gives_the_same_plans() -> None:
    for part, points in crashpoint.PARTS.items():
        drawn = [plan.point for plan in plans(part, 3 * len(points), 7)]
        assert sorted(drawn) == sorted(3 * points)
    assert list(plans("postgres", 20, 7)) == list(plans("postgres", 20, 7))
    assert [plan.crash_after > 0 for plan in plans("postgres", 4, 7)] == [False, True, False, True]

"""Backfill against schedules that others published, and against an independent simulator."""

import os

import pytest

from tests.scheduler.time.judge import easy
from tests.scheduler.time.traces import read
from tests.sim.published import LOGS, played, published, starts
from xce.sim.instant import Order

pytestmark = pytest.mark.skipif("XCE_SHARED" not in os.environ, reason="needs the given traces")


@pytest.mark.parametrize(("log", "jobs"), [("KTH-SP2", 400), ("SDSC-SP2", 300)])
def test_easy_with_exact_estimates_begins_every_job_when_it_was_published(
    log: str, jobs: int
) -> None:
    mine, other = starts(played(log, "easy", jobs=jobs, exact=True)), published(log, exact=True)
    assert len(mine) == jobs
    assert mine == {number: other[number] for number in mine}


@pytest.mark.parametrize("policy", ["easy", "fcfs"])
def test_user_estimates_follow_the_reference_rule(policy: str) -> None:
    works = read("KTH-SP2", 300, exact=False)
    expected = easy(LOGS["KTH-SP2"], works, backfill=policy == "easy")
    assert starts(played("KTH-SP2", policy, jobs=300)) == expected


def test_the_published_event_order_gives_the_published_schedule() -> None:
    """Jobs 722 to 726 are those whose start depends on the order at one second."""
    mine = starts(played("KTH-SP2", "easy", jobs=730, order=Order.APART))
    other = published("KTH-SP2", exact=False)
    assert {n: mine[n] for n in range(700, 727)} == {n: other[n] for n in range(700, 727)}

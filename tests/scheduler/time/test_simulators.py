"""EASY and conservative backfill start every job when independent simulators say."""

import random

import pytest

from tests.kit.cluster import host, job, need, table
from tests.scheduler.time.judge import Work, conservative, easy
from tests.scheduler.time.play import SECOND_US, Play
from xce.scheduler.snapshot import Ask
from xce.scheduler.time.terms import CONSERVATIVE, EASY, STRICT, TimePolicy

SEEDS = range(60)


def workload(seed: int, *, exact: bool) -> tuple[int, list[Work]]:
    """A pool and some jobs that crowd it."""
    chance = random.Random(seed)
    processors = chance.choice((2, 3, 4, 8))
    works = []
    for number in range(1, chance.randint(5, 25)):
        limit = chance.randint(1, 12)
        runs = limit if exact else chance.randint(1, limit)
        at = chance.randint(0, 25)
        works.append(Work(number, at, chance.randint(1, processors), limit, runs))
    works.sort(key=lambda work: work.at)
    return processors, [Work(n, w.at, w.wants, w.limit, w.runs) for n, w in enumerate(works, 1)]


def ask_of(work: Work) -> Ask:
    ask = job(work.number, need(one_host=True), tasks=work.wants)
    return Ask(
        order=ask.order, class_key=f"{work.wants} {work.limit}", roles=ask.roles,
        length_us=work.limit * SECOND_US,
    )  # fmt: skip


def played(processors: int, works: list[Work], policy: TimePolicy) -> Play:
    hosts = table(host("pool", slots=processors))
    play = Play(hosts, policy, {str(work.number): work.runs for work in works})
    play.run([(work.at, ask_of(work)) for work in works])
    return play


def starts(play: Play) -> dict[int, int]:
    return {int(label): at_us // SECOND_US for label, at_us in play.starts.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_easy_with_estimates_that_may_be_too_long(seed: int) -> None:
    processors, works = workload(seed, exact=False)
    play = played(processors, works, TimePolicy(policy=EASY))
    assert starts(play) == easy(processors, works)
    assert play.killed == []


@pytest.mark.parametrize("seed", SEEDS)
def test_strict_is_first_come_first_served(seed: int) -> None:
    processors, works = workload(seed, exact=False)
    play = played(processors, works, TimePolicy(policy=STRICT))
    assert starts(play) == easy(processors, works, backfill=False)


@pytest.mark.parametrize("seed", SEEDS)
def test_conservative_with_exact_estimates(seed: int) -> None:
    processors, works = workload(seed, exact=True)
    play = played(processors, works, TimePolicy(policy=CONSERVATIVE, depth=1_000))
    assert starts(play) == conservative(processors, works)
    assert play.slips == [], "with exact estimates nobody's reservation moves"

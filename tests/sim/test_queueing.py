"""Queues that theory knows: waits of M/M/c and M/D/1 within the confidence interval of a run."""

import math
import random
from collections.abc import Callable
from statistics import mean, stdev

import pytest

from tests.sim.test_world import play
from xce.sim.readers import TraceJob

S = 1_000_000
STUDENT_19 = 2.861
"""Student's t for 99 % and 19 degrees of freedom."""


Runs = Callable[[random.Random], float]


def jobs(count: int, rate: float, run_s: Runs, seed: int) -> list[TraceJob]:
    chance = random.Random(seed)
    at, found = 0.0, []
    for number in range(1, count + 1):
        at += chance.expovariate(rate)
        run_us = max(1, round(run_s(chance) * S))
        found.append(TraceJob(number=number, submit_us=round(at * S), run_us=run_us))
    return found


def interval(servers: int, made: Callable[[int], list[TraceJob]]) -> tuple[float, float]:
    """Mean wait over 20 runs of their own seeds, the first tenth left out; half its interval."""
    means = []
    for seed in range(20):
        rows = play(made(seed), procs=servers, policy="fcfs")[0]
        waits = [(row.start_us - row.submit_us) / S for _, row in sorted(rows.items())]
        means.append(mean(waits[len(waits) // 10 :]))
    return mean(means), STUDENT_19 * stdev(means) / math.sqrt(len(means))


def erlang_c(servers: int, load: float) -> float:
    """The share of those who wait, at `load` servers' worth of work."""
    terms = [load**n / math.factorial(n) for n in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last)


@pytest.mark.slow
def test_the_wait_of_m_m_c() -> None:
    """Erlang C: at 4 servers and a load of 2, 0.1739 wait, 0.0870 of a run time on average."""
    servers, rate, run_s = 4, 0.02, 100.0
    expected = erlang_c(servers, rate * run_s) / (servers / run_s - rate)
    assert expected == pytest.approx(8.696, abs=1e-3)
    found, half = interval(
        servers, lambda seed: jobs(250, rate, lambda chance: chance.expovariate(1 / run_s), seed)
    )
    assert abs(found - expected) <= half
    assert half < expected / 2


@pytest.mark.slow
def test_the_wait_of_m_d_1() -> None:
    """Pollaczek and Khinchine: with a load of 1/2, half a run time."""
    rate, run_s = 0.005, 100.0
    expected = rate * run_s / (1 - rate * run_s) * run_s / 2
    assert expected == 50.0
    found, half = interval(1, lambda seed: jobs(250, rate, lambda chance: run_s, seed))
    assert abs(found - expected) <= half
    assert half < expected / 2

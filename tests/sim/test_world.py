"""The world: the order at one instant, cadence, delays, limits; each worked out by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from xce.controller.core.fold.check import check
from xce.sim import clusters
from xce.sim.agents import Delays
from xce.sim.instant import Order
from xce.sim.readers import TraceJob
from xce.sim.results import Row
from xce.sim.run import Play, Run
from xce.sim.tape import Tape
from xce.sim.world import Rules

S = 1_000_000


def one(
    number: int, submit: int, run: int, tasks: int = 1, limit: int = 0, **more: Any
) -> TraceJob:
    return TraceJob(
        number=number, submit_us=submit * S, run_us=run * S, tasks=tasks, limit_us=limit * S, **more
    )


def play(
    jobs: Sequence[TraceJob], procs: int = 4, policy: str = "easy", how: Play | None = None,
    hosts: str = "", tape: Tape | None = None, **rules: Any,
) -> tuple[dict[int, Row], Run]:  # fmt: skip
    config = clusters.with_policy(clusters.plain_config(), policy, 0, 0)
    machines = clusters.shaped(hosts) if hosts else clusters.pool(procs)
    run = Run(config, machines, Rules(**rules), how or Play(), tape or Tape())
    rows = {row.number: row for row in run.all(jobs)}
    check(run.world.state)
    return rows, run


def starts(rows: dict[int, Row]) -> dict[int, float]:
    return {number: row.start_us / S for number, row in sorted(rows.items())}


def test_what_ends_and_what_arrives_at_one_second_meet_in_one_session() -> None:
    rows, run = play([one(1, 0, 10, 4), one(2, 10, 5, 4)])
    assert starts(rows) == {1: 0, 2: 10}
    assert run.world.counts.sessions == 2


def test_one_session_for_all_arrivals_of_a_second_sees_the_whole_queue() -> None:
    """Job 2 is the head and needs all; 3 would be over in time, 4 would not."""
    jobs = [one(1, 0, 10, 2), one(2, 1, 5, 4), one(3, 1, 9, 2), one(4, 1, 10, 2)]
    rows, _ = play(jobs)
    assert starts(rows) == {1: 0, 2: 10, 3: 1, 4: 15}
    assert [number for number, row in sorted(rows.items()) if row.overtook] == [3]


def test_fcfs_overtakes_nobody_and_none_whoever_fits() -> None:
    jobs = [one(1, 0, 10, 2), one(2, 1, 5, 4), one(3, 1, 100, 2)]
    assert starts(play(jobs, policy="fcfs")[0]) == {1: 0, 2: 10, 3: 15}
    assert starts(play(jobs, policy="none")[0]) == {1: 0, 2: 101, 3: 1}


def test_conservative_keeps_the_second_ones_place_too() -> None:
    """Job 3 is to begin at 15; 4 fits beside job 1 until then only under easy."""
    jobs = [one(1, 0, 10, 3), one(2, 0, 5, 4), one(3, 0, 5, 3), one(4, 0, 10, 1), one(5, 0, 20, 1)]
    assert starts(play(jobs, policy="conservative")[0]) == {1: 0, 2: 10, 3: 15, 4: 0, 5: 15}


def test_an_early_end_lets_the_next_begin_at_once() -> None:
    rows, _ = play([one(1, 0, 3, 4, limit=100), one(2, 1, 5, 4)])
    assert starts(rows) == {1: 0, 2: 3}


def test_what_runs_too_long_is_killed_or_goes_on() -> None:
    jobs = [one(1, 0, 30, 4, limit=10), one(2, 1, 5, 4)]
    assert starts(play(jobs)[0]) == {1: 0, 2: 10}
    assert starts(play(jobs, how=Play(extend=True))[0]) == {1: 0, 2: 30}
    assert starts(play(jobs, how=Play(exact=True))[0]) == {1: 0, 2: 30}


def test_sessions_of_a_cadence_are_at_its_multiples() -> None:
    rows, _ = play([one(1, 0, 10, 4), one(2, 1, 5, 4), one(3, 31, 1)], cadence_us=30 * S)
    assert starts(rows) == {1: 0, 2: 30, 3: 60}


def test_delays_are_between_a_plan_and_the_start_and_behind_an_end() -> None:
    rows, _ = play([one(1, 0, 10, 4), one(2, 1, 5, 4)], delays=Delays(start_us=2 * S, end_us=S))
    assert starts(rows) == {1: 2, 2: 15}
    assert rows[1].end_us == 13 * S


def test_with_events_apart_an_arrival_is_looked_at_before_an_early_end() -> None:
    """At 5 job 3 arrives and job 1 ends early. Together: 2 begins. Apart: 3, which fits beside
    job 1 until 10, is looked at first and takes what 2 would have had."""
    jobs = [one(1, 0, 5, 3, limit=10), one(2, 1, 50, 4), one(3, 5, 5, 1)]
    assert starts(play(jobs)[0]) == {1: 0, 2: 5, 3: 55}
    assert starts(play(jobs, order=Order.APART)[0]) == {1: 0, 2: 10, 3: 5}


def test_a_gang_begins_whole_behind_its_barrier() -> None:
    """Two members of 8 GPUs need both hosts; the second gang waits for the first."""
    jobs = [one(1, 0, 10, gpus=8, members=2), one(2, 1, 5, gpus=8, members=2)]
    rows, run = play(jobs, hosts="2x8gpu", delays=Delays(arm_us=S))
    assert starts(rows) == {1: 1, 2: 12}
    assert [row.processors for row in rows.values()] == [2, 2]
    assert run.left.unfinished == 0


def test_a_wide_job_on_several_hosts_ends_everywhere() -> None:
    rows, run = play([one(1, 0, 10, 12), one(2, 1, 5, 16)], hosts="4x4")
    assert starts(rows) == {1: 0, 2: 10}
    assert not run.world.state.index.live_launches.get("n1")


def test_what_cannot_be_played_is_left_out_and_counted() -> None:
    rows, run = play([one(1, 0, 0), one(2, 0, -1), one(3, 0, 5, 99), one(4, 0, 5)])
    assert list(rows) == [4]
    assert (run.left.never_ran, run.left.too_big) == (2, 1)


def test_memory_of_what_is_over_is_given_back() -> None:
    """Ended jobs leave the state an hour later; what they were is in the log."""
    jobs = [one(n, n * 600, 60) for n in range(1, 101)]
    _, run = play(jobs)
    state = run.world.state
    assert len(state.jobs) < 10
    assert len(state.launches) < 10
    assert not run.world.agents.lives


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_the_same_run_gives_the_same_records(policy: str) -> None:
    count = 12 if policy == "conservative" else 60
    jobs = [one(n, n % 7, 1 + n * 7 % 13, 1 + n % 4, limit=14) for n in range(1, count)]
    first, second = play(jobs, policy=policy)[1], play(jobs, policy=policy)[1]
    assert first.world.tape.hash == second.world.tape.hash

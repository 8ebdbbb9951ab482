"""Dependencies on the core: taken, waited for, latched, met, impossible, refused."""

from typing import Any

import pytest
from msgspec import structs

from tests.core.lab import MINUTE_US, Life, kinds, lab, pair, until_state
from tests.kit.words import ANNA, BERT, BOSS, OPS, job, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import SECOND_US, DependencyConfig
from xce.model.ids import job_text
from xce.model.records import DependencyLatched

END = settings(dependencies=DependencyConfig(impossible="end"))


def refused(world: World, command: c.SubmitJob) -> c.Rejection:
    answer = world.ask(command)
    assert isinstance(answer, c.Rejection), answer
    return answer


def why(world: World, key: int) -> str:
    found = world.sessions.reason_for(job_text(key))
    return found.text() if found is not None else ""


def lasting(world: World, key: int, run_s: float = 60, code: int = 0) -> int:
    """What a job is going to do: run so long, end with that code."""
    world.scripts.lives[str(key)] = Life(run_us=int(run_s * SECOND_US), code=code)
    return key


def started(world: World, **rest: Any) -> int:
    """A job that runs for a minute."""
    key = world.state.last("job") + 1
    lasting(world, key, **rest)
    assert world.submit(job(name=f"job{key}")) == key
    until_state(world, "job", key, "RUNNING")
    return key


def test_a_job_waits_until_what_it_waits_for_is_done_and_says_so() -> None:
    world = lab()
    first = started(world)
    second = world.submit(job(after=f"done({first})"))
    world.run(5 * SECOND_US)
    assert world.state.jobs[second].state == "PENDING"
    assert len(world.state.index.pending) == 0
    assert why(world, second) == (
        "Job dependency condition not satisfied: 0 of 1 conditions hold; done(1): job 1 is RUNNING"
    )
    until_state(world, "job", second, "RUNNING")
    assert world.state.jobs[first].state == "DONE"
    latched = [r.body for r in world.records if isinstance(r.body, DependencyLatched)]
    assert [(one.job, one.conditions, one.met) for one in latched[0].jobs] == [(second, (0,), True)]
    assert "DependencyLatched" in kinds(world, str(second))
    assert world.state.index.links.dependents == {}


@pytest.mark.parametrize(
    ("condition", "code", "met"),
    [
        ("done({0})", 0, True), ("done({0})", 3, False), ("exit({0})", 3, True),
        ("exit({0})", 0, False), ("exit({0}, 3)", 3, True), ("exit({0}, 4)", 3, False),
        ("exit({0}, > 2)", 3, True), ("exit({0}, != 3)", 3, False), ("ended({0})", 3, True),
        ("ended({0})", 0, True), ("post_done({0})", 0, True), ("post_err({0})", 3, False),
        ("!done({0})", 0, True), ("!exit({0}) && done({0})", 0, True), ("{0}", 0, True),
    ],
)  # fmt: skip
def test_a_condition_on_an_end_holds_or_never_will(condition: str, code: int, met: bool) -> None:
    world = lab()
    first = started(world, code=code)
    second = world.submit(job(after=condition.format(first)))
    world.run(MINUTE_US + SECOND_US)
    assert bool(world.state.jobs[second].after_met_us) == met
    if not met:
        assert "never satisfied: " in why(world, second)


def test_started_looks_at_the_present_and_the_whole_is_met_for_good() -> None:
    world = lab(1, slots=2)
    blocker = started(world, run_s=5)
    first = world.submit(job(tasks=2))
    second = world.submit(job(after=f"started({first})"))
    assert why(world, second).endswith("started(2): job 2 is PENDING")
    until_state(world, "job", first, "RUNNING")
    assert world.state.jobs[second].after_met_us
    assert world.state.jobs[blocker].state == "DONE"
    world.rest()


def test_a_reason_names_what_can_never_hold_and_the_cure() -> None:
    world = lab()
    first = started(world, run_s=1, code=3)
    second = world.submit(job(after=f"done({first}) && ended({first})"))
    world.run(2 * SECOND_US)
    assert why(world, second) == (
        "Dependency condition invalid or never satisfied: done(1): job 1 ended with exit code 3; "
        "change it with `xcecli modify -w`, or kill the job"
    )
    assert world.state.jobs[second].after_latched == (1,)


def test_a_job_that_can_never_begin_is_ended_where_the_site_says_so() -> None:
    world = lab(config=END)
    first = started(world, run_s=1, code=3)
    second = world.submit(job(after=f"done({first})"))
    third = world.submit(job(after=f"exit({second})"))
    fourth = world.submit(job(after=f"exit({third})"))
    last = world.submit(job(after=f"ended({third})"))
    until_state(world, "job", last, "DONE")
    jobs = world.state.jobs
    # bg067: the one that never began does not satisfy "if the one before failed".
    assert [jobs[key].state for key in (second, third, fourth)] == ["EXITED"] * 3
    assert {world.exit_of(key).reason for key in (second, third, fourth)} == {"dependency"}
    assert not any(jobs[key].attempt for key in (second, third, fourth))


def test_a_job_may_ask_to_be_ended_and_a_reload_ends_those_that_wait() -> None:
    world = lab()
    first = started(world, run_s=1, code=3)
    asks = world.submit(job(after=f"done({first})", end_if_impossible=True))
    waits = world.submit(job(after=f"done({first})"))
    world.run(2 * SECOND_US)
    assert world.state.jobs[asks].state == "EXITED"
    assert world.state.jobs[waits].state == "PENDING"
    world.ask(c.LoadConfig(actor=BOSS, config=END, digest="end"))
    assert world.state.jobs[waits].state == "EXITED"


def test_it_is_decided_as_soon_as_the_outcome_is_certain() -> None:
    """bg164: with `A && B`, when A failed nobody waits for B."""
    world = lab(config=END)
    first, other = started(world, run_s=1, code=1), started(world, run_s=50)
    third = world.submit(job(after=f"done({first}) && done({other})"))
    either = world.submit(job(after=f"done({first}) || done({other})"))
    world.run(2 * SECOND_US)
    assert world.state.jobs[third].state == "EXITED"
    assert world.state.jobs[either].state == "PENDING"
    until_state(world, "job", either, "DONE")


def test_names_mean_all_of_the_owners_jobs_that_are_called_so() -> None:
    world = lab()
    one, two = (world.submit(job(name="prep")) for _ in range(2))
    world.submit(job(name="prepare", actor=BERT))
    third = world.submit(job(after="done(prep)"))
    wild = world.submit(job(after='ended("pre*") && !exit(prep)'))
    assert world.state.jobs[third].after_ids == f"done({one}) && done({two})"
    assert world.state.jobs[third].after == 'done("prep")'
    expected = f"ended({one}) && ended({two}) && !(exit({one}) && exit({two}))"
    assert world.state.jobs[wild].after_ids == expected
    other = refused(world, job(after="done(prepare)", actor=ANNA))
    assert (other.code, other.message) == ("unknown_job", "prepare: No matching job found")
    assert (other.column, other.text) == (6, "done(prepare)")
    world.rest()


def test_names_mean_the_latest_where_the_site_says_so() -> None:
    world = lab(config=settings(dependencies=DependencyConfig(names="latest")))
    _, two = (world.submit(job(name="prep")) for _ in range(2))
    third = world.submit(job(after="done(prep)"))
    assert world.state.jobs[third].after_ids == f"done({two})"


def test_a_gang_is_waited_for_by_its_id_and_by_its_name() -> None:
    world = lab()
    number = world.submit_gang(pair(name="pretrain"))
    one = world.submit(job(after=f"done(g{number})"))
    two = world.submit(job(after="ended(pretrain)"))
    three = world.submit(job(after=f"exit(g{number})"))
    member = world.submit(job(after="done(1)"))
    assert world.state.jobs[two].after_ids == 'ended("g1")'
    until_state(world, "group", number, "DONE")
    jobs = world.state.jobs
    assert all(jobs[key].after_met_us for key in (one, two, member))
    assert not jobs[three].after_met_us
    assert "exit(g1): gang g1 is done" in why(world, three)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("done(99)", "unknown_job", "99: No matching job found"),
        ("done(nobody)", "unknown_job", "nobody: No matching job found"),
        ("done(g9)", "unknown_job", "g9: No matching job found"),
        ("done(1", "bad_dependency", "Dependency condition syntax error: `)` is missing"),
        ("numdone(1, > 3)", "bad_dependency",
         "Dependency condition error: 1 is no job array, so it has no elements"),
        ("done(1[2])", "bad_dependency",
         "Dependency condition error: 1 is no job array, so it has no elements"),
        ('external(1, "x")', "unsupported", "external(...) is not supported by this version"),
        ("time(8:00-9:00)", "unsupported", "time(...) is not supported by this version"),
        ("done(2)", "unknown_job", "2: No matching job found"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_refused(text: str, code: str, message: str) -> None:
    world = lab()
    world.submit(job())
    answer = refused(world, job(after=text))
    assert (answer.code, answer.message, answer.field) == (code, message, "after")
    assert len(world.state.jobs) == 1


def test_what_is_waited_for_is_not_retired_and_then_it_is() -> None:
    world = lab()
    first = started(world, run_s=1)
    other = started(world, run_s=1)
    second = world.submit(job(after=f"done({first}) && exit({other})"))
    world.run(3 * 3600 * SECOND_US)
    assert {first, other} <= set(world.state.jobs)
    assert world.state.jobs[second].after_latched == (0,)
    world.ask(c.Kill(actor=OPS, job=second))
    world.run(SECOND_US)
    assert not {first, other} & set(world.state.jobs)


def test_a_gang_is_not_retired_while_a_member_of_it_is_waited_for() -> None:
    world = lab()
    number = world.submit_gang(pair())
    second = world.submit(job(after="exit(2)"))
    world.run(3 * 3600 * SECOND_US)
    assert number in world.state.groups
    world.ask(c.Kill(actor=OPS, job=second))
    world.run(SECOND_US)
    assert number not in world.state.groups


@pytest.mark.parametrize("code", [0, 3])
def test_a_retired_job_is_looked_up(code: int) -> None:
    world = lab()
    first = started(world, run_s=1, code=code)
    world.run(2 * 3600 * SECOND_US)
    assert first not in world.state.jobs
    second = world.submit(job(after=f"done({first})"))
    assert bool(world.state.jobs[second].after_met_us) == (code == 0)
    if code:
        assert "done(1): 1 is not there any more" in why(world, second)


def test_what_is_latched_survives_restarts_cuts_and_the_parents_return() -> None:
    world = lab()
    first = started(world, run_s=1)
    other = started(world, run_s=30)
    second = world.submit(job(after=f"done({first}) && done({other})"))
    world.run(2 * SECOND_US)
    assert world.state.jobs[second].after_latched == (0,)
    world.change_leader()
    world.cut()
    world.change_leader()
    assert world.state.jobs[second].after_latched == (0,)
    # As if the first were run again: what it did once counts.
    world.state.put("job", first, structs.replace(world.state.jobs[first], state="PENDING"))
    from xce.controller.core.depending.judge import judge_waiter

    parts = judge_waiter(world.state, world.state.jobs[second]).parts
    assert [part.verdict for part in parts] == ["holds", "waits"]


def test_a_held_job_latches_while_it_is_held_and_waits_to_be_let_go() -> None:
    world = lab()
    first = started(world, run_s=1)
    second = world.submit(job(after=f"done({first})", held=True))
    world.run(2 * SECOND_US)
    assert world.state.jobs[second].after_met_us
    assert world.state.jobs[second].state == "HELD"
    world.ask(c.Resume(actor=OPS, job=second))
    until_state(world, "job", second, "DONE")

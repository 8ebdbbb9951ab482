"""Job groups on the core: made, counted, limited while a session books, checked again, removed."""

import random

import pytest
from msgspec import structs

from tests.core.lab import Life, lab, until_state
from tests.kit.words import ANNA, BERT, OPS, array, job
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.arrays.elements import found_job
from xce.controller.core.fold.check import check
from xce.model.actor import Actor
from xce.model.config import SECOND_US
from xce.model.ids import job_key
from xce.model.waiting.job_group import is_below, lineage, wrong_path


def change(
    world: World, event: str, path: str, limit: int = -1, actor: Actor = ANNA
) -> c.Rejection | None:
    answer = world.ask(c.ChangeJobGroup(actor=actor, path=path, event=event, limit=limit))
    return answer if isinstance(answer, c.Rejection) else None


def running(world: World, top: str) -> int:
    """Jobs under a group that have started, counted one by one."""
    state = world.state
    return sum(
        one.state in ("STARTING", "RUNNING", "ENDING")
        and is_below(state.specs[one.spec].job_group or "-", top)
        for one in state.jobs.values()
    )


def why(world: World, key: int) -> str:
    found = world.sessions.reason_for(str(key))
    return found.text() if found is not None else ""


@pytest.mark.parametrize(
    ("path", "good"),
    [
        ("/a", True), ("/a/b-1/c_2.x", True), ("/", False), ("a/b", False), ("/a/", False),
        ("/a//b", False), ("/a b", False), ("/a*", False), ("", False), ("/" + "x" * 511, True),
        ("/" + "x" * 512, False), ("/ä", False), ("/a:b", False),
    ],
)  # fmt: skip
def test_a_path_is_a_group_or_is_not(path: str, good: bool) -> None:
    assert (wrong_path(path) == "") == good


def test_a_group_is_below_those_whose_levels_it_has() -> None:
    assert lineage("/a/b/c") == ("/a/b/c", "/a/b", "/a", "/")
    assert lineage("") == ()
    assert [is_below(one, "/a") for one in ("/a", "/a/b", "/ab", "/")] == [True, True, False, False]


def test_no_more_jobs_start_than_the_group_and_those_above_it_let() -> None:
    world = lab(2, slots=8)
    assert change(world, "add", "/a", 3) is None
    assert change(world, "add", "/a/b", 2) is None
    world.scripts.default = lambda name, attempt: Life(run_us=5 * SECOND_US)
    low = [world.submit(job(job_group="/a/b")) for _ in range(4)]
    high = [world.submit(job(job_group="/a/c")) for _ in range(4)]
    free = world.submit(job(job_group="/ab"))
    world.run(2 * SECOND_US)
    assert [world.state.jobs[key].state for key in low] == ["RUNNING"] * 2 + ["PENDING"] * 2
    assert [world.state.jobs[key].state for key in high] == ["RUNNING"] + ["PENDING"] * 3
    assert world.state.jobs[free].state == "RUNNING"
    told = "The job group limit has been reached: {} jobs of {} have started, {} may"
    assert why(world, low[2]) == told.format(2, "/a/b", 2)
    assert why(world, high[1]) == told.format(3, "/a", 3)
    world.rest()


def test_a_limit_that_grows_lets_work_go_and_one_that_shrinks_lets_run_what_runs() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=10 * SECOND_US)
    change(world, "add", "/a", 1)
    for _ in range(4):
        world.submit(job(job_group="/a"))
    world.run(SECOND_US)
    assert running(world, "/a") == 1
    assert change(world, "modify", "/a", 3) is None
    world.run(SECOND_US)
    assert running(world, "/a") == 3
    assert change(world, "modify", "/a", 0) is None
    world.run(SECOND_US)
    assert running(world, "/a") == 3
    world.run(10 * SECOND_US)
    assert running(world, "/a") == 0
    assert change(world, "modify", "/a") is None
    world.rest()


def test_elements_of_an_array_count_one_by_one() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=5 * SECOND_US)
    change(world, "add", "/a", 2)
    number = world.submit(array((1, 5, 1), job_group="/a/x"))
    world.run(SECOND_US)
    assert running(world, "/a") == 2
    assert world.state.index.job_groups.own["/a/x"] == {"RUNNING": 2, "PENDING": 3}
    element = found_job(world.state, job_key(number, 4))
    assert element is not None
    assert world.state.index.job_groups.started == {"/a/x": 2, "/a": 2, "/": 2}
    world.rest()


def test_a_session_books_no_more_than_a_group_may_have() -> None:
    world = lab(1)
    change(world, "add", "/a", 2)
    world.step([job(job_group="/a/b") for _ in range(5)])
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    assert len(work.run.plan.placements) == 2
    assert [one.waiting for one in work.run.plan.reasons] == [3]


def test_the_limit_is_checked_again_when_a_plan_is_committed() -> None:
    world = lab(1)
    change(world, "add", "/a", 2)
    keys = [world.submit(job(job_group="/a", tasks=1, after="")) for _ in range(1)]
    world.run(SECOND_US)
    for key in keys:
        until_state(world, "job", key, "DONE")
    world.inbox += [(job(job_group="/a"), None) for _ in range(2)]
    taken, world.inbox = world.inbox, []
    world.step([command for command, _ in taken])
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    slices = list(world.sessions.slices(work))
    assert len(slices[0].placements) == 2
    world.step([c.ChangeJobGroup(actor=ANNA, path="/a", event="modify", limit=1)])
    done = world.step(slices)
    body = getattr(done.answers[0], "body", {})
    assert (body["planned"], len(body["stale"])) == (1, 1)
    world.rest()


@pytest.mark.parametrize(
    ("event", "path", "limit", "actor", "code"),
    [
        ("add", "/a", -1, ANNA, "conflict"), ("add", "/a/b", 6, ANNA, "conflict"),
        ("add", "/a/b", -1, BERT, ""), ("modify", "/a", 1, BERT, "not_allowed"),
        ("modify", "/a", 1, OPS, "conflict"), ("modify", "/a", 3, OPS, ""),
        ("modify", "/b", 1, ANNA, "not_found"), ("modify", "/a/low", 9, ANNA, "conflict"),
        ("remove", "/a", -1, BERT, "not_allowed"), ("remove", "/none", -1, ANNA, "not_found"),
        ("remove", "/a", -1, ANNA, ""), ("add", "a", -1, ANNA, "invalid"),
        ("add", "/c", -2, ANNA, "invalid"), ("remove", "/a/low", -1, ANNA, ""),
    ],
)  # fmt: skip
def test_who_may_ask_what_of_a_group(
    event: str, path: str, limit: int, actor: Actor, code: str
) -> None:
    """/a of Anna's may have 5 jobs, /a/low below it is Bert's and may have 2."""
    world = lab(1)
    change(world, "add", "/a", 5)
    change(world, "add", "/a/low", 2, actor=BERT)
    answer = change(world, event, path, limit, actor)
    assert (answer.code if answer is not None else "") == code


def test_a_group_with_work_is_not_removed_and_without_it_goes_with_those_below() -> None:
    world = lab(1)
    change(world, "add", "/a", 5)
    change(world, "add", "/a/b", 2)
    key = world.submit(job(job_group="/a/b"))
    refused = change(world, "remove", "/a")
    assert refused is not None
    assert refused.message == "Job group </a> still has 1 job not ended"
    until_state(world, "job", key, "DONE")
    assert change(world, "remove", "/a") is None
    assert world.state.job_groups == {}


def test_what_was_made_survives_cuts_and_restarts_and_what_was_only_named_vanishes() -> None:
    world = lab(1)
    change(world, "add", "/a", 5)
    world.submit(job(job_group="/b"))
    world.rest()
    world.cut()
    world.run(SECOND_US)
    world.change_leader()
    assert world.state.job_groups["/a"].limit == 5
    assert world.state.index.job_groups.own == {"/b": {"DONE": 1}}
    world.run(2 * 3600 * SECOND_US)
    assert world.state.index.job_groups.own == {}
    assert list(world.state.job_groups) == ["/a"]


def test_a_bad_name_is_refused_with_what_is_wrong() -> None:
    world = lab(1)
    answer = world.ask(job(job_group="a/b"))
    assert isinstance(answer, c.Rejection)
    assert (answer.code, answer.field) == ("invalid", "job_group")
    assert answer.message.startswith("Bad job group name: a job group begins with `/`")


@pytest.mark.parametrize("seed", range(12))
def test_no_group_ever_has_more_than_it_may(seed: int) -> None:
    """Random trees and limits that do not shrink, kills, restarts, arrays: counted one by one
    after each turn."""
    chance = random.Random(seed)
    world = lab(2, slots=chance.choice((2, 8)), seed=seed)
    world.scripts.default = lambda name, attempt: Life(
        run_us=chance.choice((1_000, SECOND_US, 4 * SECOND_US)), code=chance.choice((0, 0, 1))
    )
    paths = ["/a", "/a/b", "/a/b/c", "/d", "/a/e"]
    for path in paths:
        change(world, "add", path, chance.randint(1, 4))
    limits = {path: group.limit for path, group in world.state.job_groups.items()}
    own_turn = world.turn

    def turn() -> None:
        own_turn()
        check(world.state)
        for path, limit in limits.items():
            assert running(world, path) <= limit, path

    world.turn = turn  # type: ignore[method-assign]
    for _ in range(25):
        path = chance.choice([*paths, "/a/x", "/y"])
        act = chance.randrange(6)
        if act < 3:
            world.submit(job(job_group=path))
        elif act == 3:
            world.submit(array((1, chance.randint(1, 5), 1), job_group=path))
        elif act == 4 and world.state.jobs:
            world.ask(c.Kill(actor=OPS, job=chance.choice(sorted(world.state.jobs))))
        else:
            world.change_leader()
        world.run(chance.choice((0, 1_000, SECOND_US)))
    world.rest()
    assert world.state.index.job_groups.started == {}
    assert structs.asdict(world.state.job_groups["/a"])["limit"] == limits["/a"]

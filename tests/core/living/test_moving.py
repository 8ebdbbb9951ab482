"""Moving jobs in the order of what waits: users among their own, operators over all."""

from typing import Any

import pytest

from tests.core.lab import Life, lab, since, until_state
from tests.kit.words import ANNA, BERT, OPS, job
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.config import QueueConfig

NORMAL = QueueConfig(name="normal")


def full(**rest: Any) -> World:
    """One host of one slot that job 1 fills for good, so that all others wait."""
    world = lab(1, slots=1, **rest)
    world.scripts.lives["1", 1] = Life(run_us=None)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    return world


def order(world: World) -> list[int]:
    return [key for _, key, _ in world.state.index.pending.walk()]


def move(world: World, key: int, to: str, position: int = 1, actor: c.Actor = ANNA) -> Any:
    answer = world.ask(c.MoveJob(actor=actor, job=key, to=to, position=position))
    return answer if isinstance(answer, c.Rejection) else answer.body


def mixed() -> World:
    """Jobs 2, 4, 6, 8 of Anna and 3, 5, 7 of Bert wait in this order."""
    world = full()
    for key in range(2, 9):
        world.submit(job(actor=ANNA if key % 2 == 0 else BERT))
    assert order(world) == [2, 3, 4, 5, 6, 7, 8]
    return world


def test_users_move_among_their_own() -> None:
    world = mixed()
    assert move(world, 6, "top") == {"job": "6", "to": "top", "position": 1}
    assert order(world) == [6, 2, 3, 4, 5, 7, 8]
    assert move(world, 8, "top", 2)["position"] == 2
    assert order(world) == [6, 8, 2, 3, 4, 5, 7]
    assert move(world, 6, "bottom")["position"] == 1
    assert order(world) == [8, 2, 3, 4, 6, 5, 7]
    assert move(world, 8, "bottom", 2)["position"] == 2
    assert order(world) == [2, 3, 4, 8, 6, 5, 7]
    world.change_leader()
    assert order(world) == [2, 3, 4, 8, 6, 5, 7]


def test_a_move_writes_down_the_moved_job_and_what_stands_close_to_it_alone() -> None:
    world = full()
    keys = [world.submit(job()) for _ in range(40)]
    lsn = world.state.lsn
    for key in (keys[30], keys[20], keys[39]):
        move(world, key, "top")
    assert order(world)[:5] == [keys[39], keys[20], keys[30], keys[0], keys[1]]
    move(world, keys[5], "top", 3)
    assert order(world)[:5] == [keys[39], keys[20], keys[5], keys[30], keys[0]]
    assert [len(record.body.then) for record in since(world, lsn)] == [1, 1, 1, 3]


def test_operators_move_over_all_of_the_queue() -> None:
    world = mixed()
    assert move(world, 7, "top", actor=OPS)["position"] == 1
    assert order(world) == [7, 2, 3, 4, 5, 6, 8]
    assert move(world, 5, "top", 3, actor=OPS)["position"] == 3
    assert order(world) == [7, 2, 5, 3, 4, 6, 8]
    assert move(world, 7, "bottom", actor=OPS)["position"] == 1
    assert order(world) == [2, 5, 3, 4, 6, 8, 7]
    assert move(world, 2, "bottom", 2, actor=OPS)["position"] == 2
    assert order(world) == [5, 3, 4, 6, 8, 2, 7]
    assert move(world, 5, "top", actor=OPS) == {"job": "5", "to": "top", "position": 1}


def test_an_operators_word_goes_over_priorities_and_a_users_does_not() -> None:
    world = full()
    low, high, own = (world.submit(job(priority=one)) for one in (10, 90, 10))
    assert order(world) == [high, low, own]
    assert move(world, own, "top")["position"] == 1
    assert order(world) == [high, own, low]
    move(world, low, "top", actor=OPS)
    assert order(world) == [low, high, own]


def test_a_position_beyond_the_end_is_the_end() -> None:
    world = mixed()
    assert move(world, 2, "top", 99)["position"] == 4
    assert order(world) == [3, 4, 5, 6, 7, 8, 2]
    lsn = world.state.lsn
    assert move(world, 2, "bottom")["position"] == 1
    assert world.state.lsn == lsn, "it was there already"


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (1, "Job <1>: Job has started"),
        (2, "Job <2>: Job is suspended"),
        (3, "Job <3>: Job waits for others; it has no place in the order yet"),
        (9, "Job <9>: No matching job found"),
    ],
)
def test_what_has_no_place_is_not_moved(key: int, said: str) -> None:
    world = full()
    world.submit(job(held=True))
    world.submit(job(after="done(1)"))
    refused = move(world, key, "top")
    assert isinstance(refused, c.Rejection)
    assert refused.message == said


def test_a_job_moved_to_the_top_is_the_next_to_run() -> None:
    world = mixed()
    move(world, 7, "top", actor=OPS)
    world.ask_body(c.Kill(actor=ANNA, job=1))
    until_state(world, "job", 7, "RUNNING")
    assert [one.job for one in world.ledger.executed] == ["1", "7"]

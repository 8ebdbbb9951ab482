"""Queues at run time: operators' words, windows, and who may submit how much."""

from typing import Any

import pytest

from tests.core.lab import Life, lab
from tests.kit.words import ANNA, BERT, BOSS, OPS, gang, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.controller.core.fold.check import check
from xce.controller.core.queueing.queues import status
from xce.controller.observing import turned
from xce.controller.step import Answer
from xce.model.actor import CONTROLLER, Actor
from xce.model.config import SECOND_US, QueueConfig, UserConfig, UserGroup
from xce.model.config.windows import is_open

NIGHT = QueueConfig(name="night", dispatch_window=("20:00-8:00",))


def change(world: World, event: str, queue: str = "normal", actor: Actor = OPS) -> Answer:
    return world.ask(c.ChangeQueue(actor=actor, queue=queue, event=event, why="moving"))


def refused(answer: Answer) -> c.Rejection:
    assert isinstance(answer, c.Rejection)
    return answer


def test_operators_close_and_open_a_queue_with_badmin_s_words() -> None:
    world = lab(1)
    answer = change(world, "close")
    assert isinstance(answer, Outcome)
    assert answer.body["said"] == "Queue <normal> is closed."
    assert refused(world.ask(job())).message == "normal: Queue has been closed."
    change(world, "open")
    assert world.submit(job()) == 1
    said = refused(change(world, "close", actor=ANNA))
    assert (said.code, said.message) == ("not_allowed", "normal: User permission denied")
    assert refused(change(world, "close", "norml")).hint == "did you mean 'normal'?"


def test_an_inactive_queue_takes_work_and_gives_none_out() -> None:
    world = lab(1)
    change(world, "inactive")
    world.submit(job())
    world.run(SECOND_US)
    why = world.sessions.reason_for("1")
    assert why is not None
    assert why.text() == "queue normal is inactive (moving)"
    change(world, "active")
    world.rest()
    assert world.state.jobs[1].state == "DONE"


def test_a_plan_does_not_outlive_its_queue_s_inactivation() -> None:
    world = lab(1)
    world.step([job()])
    work = world.sessions.begin(world.now_us)
    assert world.sessions.advance(work)
    slices = list(world.sessions.slices(work))
    world.step([c.ChangeQueue(actor=OPS, queue="normal", event="inactive")])
    world.step(slices)
    assert world.state.jobs[1].state == "PENDING"


def test_an_operator_s_word_lasts_through_reloads_and_leaders() -> None:
    world = lab(1)
    change(world, "inactive")
    change(world, "close")
    world.ask(c.LoadConfig(actor=BOSS, config=settings(priority_default=7), digest="new"))
    world.change_leader()
    (queue,) = (one for one in world.state.config.queues if one.name == "normal")
    assert status(world.state, queue) == "Closed:Inact_Adm"
    check(world.state)


def test_the_same_again_is_no_record() -> None:
    world = lab(1)
    change(world, "close")
    lsn = world.state.lsn
    change(world, "close")
    assert world.state.lsn == lsn


def test_a_window_shuts_until_the_loop_says_otherwise() -> None:
    world = lab(1, config=settings(queues=(NIGHT,), default_queue="night"))
    world.submit(job())
    world.run(SECOND_US)
    why = world.sessions.reason_for("1")
    assert why is not None
    assert why.text() == "queue night is outside its dispatch window 20:00-8:00"
    world.step([c.TurnWindow(actor=CONTROLLER, queue="night", window="dispatches", open=True)])
    world.rest()
    assert world.state.jobs[1].state == "DONE"
    assert status(world.state, NIGHT) == "Open:Active"
    world.step([c.TurnWindow(actor=CONTROLLER, queue="night", window="dispatches", open=False)])
    assert status(world.state, NIGHT) == "Open:Inact_Win"


def test_only_the_controller_turns_windows() -> None:
    world = lab(1, config=settings(queues=(NIGHT,), default_queue="night"))
    turn = c.TurnWindow(actor=BOSS, queue="night", window="dispatches", open=True)
    assert refused(world.ask(turn)).code == "not_allowed"


def test_the_loop_asks_for_what_differs_and_for_nothing_twice() -> None:
    world = lab(1, config=settings(queues=(NIGHT,), default_queue="night"))
    (turn,) = turned(world.state, world.now_us)
    assert (turn.queue, turn.window) == ("night", "dispatches")
    world.step([turn])
    assert list(turned(world.state, world.now_us)) == []
    later = [
        list(turned(world.state, world.now_us + hour * 3600 * SECOND_US)) for hour in range(24)
    ]
    assert sum(bool(one) for one in later) == 12
    assert is_open(NIGHT.dispatch_window, 20 * 60)


def test_queues_name_who_may_use_them() -> None:
    groups = (UserGroup(name="eng", members=("1000",)),)
    queue = QueueConfig(name="normal", users=("@eng",))
    world = lab(1, config=settings(queues=(queue,), user_groups=groups))
    assert world.submit(job()) == 1
    said = refused(world.ask(job(actor=BERT)))
    assert said.message == "normal: User cannot use the queue."
    assert isinstance(world.ask(gang(role("a", 1), actor=BERT)), c.Rejection)
    assert refused(world.ask(job(user_group="ops"))).message == (
        "ops: User not in the specified user group."
    )


def test_users_ask_for_no_more_priority_than_there_is() -> None:
    world = lab(1, config=settings(priority_max=60))
    assert world.submit(job(priority=60)) == 1
    said = refused(world.ask(job(priority=61)))
    assert said.message == "priority 61 is not from 0 to 60 (max_user_priority)"


@pytest.mark.parametrize(
    ("users", "fits"),
    [
        ((UserConfig(who="1000", max_pending_jobs=2),), 2),
        ((UserConfig(who="default", max_pending_jobs=3),), 3),
        ((UserConfig(who="default", max_pending_jobs=1), UserConfig(who="1000", max_slots=1)), 9),
        ((UserConfig(who="@eng", max_pending_jobs=2),), 2),
    ],
)
def test_so_many_jobs_of_a_user_may_wait(users: tuple[UserConfig, ...], fits: int) -> None:
    groups = (UserGroup(name="eng", members=("1000", "1001")),)
    world = lab(1, slots=1, config=settings(users=users, user_groups=groups))
    world.scripts.default = lambda job, attempt: Life(run_us=None)
    answers = [world.ask(job(held=True)) for _ in range(9)]
    assert sum(isinstance(one, Outcome) for one in answers) == fits
    if fits < 9:
        said = refused(answers[-1])
        assert said.code == "too_many_pending"
        assert said.message.startswith(f"Pending job threshold reached: {fits} of {fits} wait for")


def test_who_ages_catches_up() -> None:
    """Ten minutes of waiting add one: a job of 50 is level with one of 52 after twenty minutes."""
    config = settings(age_add=1, age_every_us=600 * SECOND_US)
    world = lab(1, slots=1, config=config)
    world.scripts.default = lambda job, attempt: Life(run_us=3600 * SECOND_US)
    world.submit(job())
    first = world.submit(job(priority=50))
    world.run(19 * 60 * SECOND_US)
    second = world.submit(job(priority=52))
    world.run(2 * 60 * SECOND_US)
    third = world.submit(job(priority=52))
    order = [key for _, key, _ in world.state.index.pending.walk()]
    assert order == [second, first, third]


def test_a_queue_is_served_by_its_hosts_alone() -> None:
    queues = (
        QueueConfig(name="normal", hosts=("all", "~n1")),
        QueueConfig(name="night", hosts=("n9",)),
    )
    world = lab(3, slots=2, config=settings(queues=queues))
    world.scripts.default = lambda job, attempt: Life(run_us=None)
    for _ in range(5):
        world.submit(job())
    world.submit(job(queue="night"))
    world.submit(job(actor=BERT, resreq="select[mem>1TB]"))
    world.run(SECOND_US)
    used = {name for name, one in world.state.index.used.items() if one}
    assert used == {"n2", "n3"}
    assert world.state.jobs[5].state == "PENDING"
    why = [world.sessions.reason_for(str(key)) for key in (6, 7)]
    assert [one.text() for one in why if one is not None] == [
        "no host that serves queue night matches",
        "no host that serves queue normal matches select[mem>1TB]",
    ]


# -- reloads --------------------------------------------------------------------------------------


def reload(world: World, *queues: QueueConfig, **changes: Any) -> Outcome:
    config = settings(queues=queues, **changes)
    answer = world.ask(c.LoadConfig(actor=BOSS, config=config, digest=repr(config)))
    assert isinstance(answer, Outcome)
    return answer


def test_a_queue_that_is_left_out_is_closed_whatever_an_operator_said_before() -> None:
    world = lab(1, config=settings(queues=(QueueConfig(name="normal"), NIGHT)))
    world.submit(job(queue="night"))
    change(world, "close", "night")
    change(world, "open", "night")
    assert reload(world, QueueConfig(name="normal")).body["kept"] == ["queue night (closed)"]
    assert refused(world.ask(job(queue="night"))).message == "night: Queue has been closed."
    reload(world, QueueConfig(name="normal"), NIGHT)
    world.submit(job(queue="night"))
    check(world.state)


def test_a_queue_that_is_taken_away_with_work_in_it_stays_closed() -> None:
    world = lab(1)
    world.scripts.default = lambda job, attempt: Life(run_us=None)
    world.submit(job(queue="night"))
    world.run(SECOND_US)
    answer = reload(world, QueueConfig(name="normal"))
    assert answer.body["kept"] == ["queue night (closed)"]
    assert refused(world.ask(job(queue="night"))).code == "queue_closed"
    assert world.state.jobs[1].state == "RUNNING"
    world.ask_body(c.Kill(actor=ANNA, job=1))
    world.rest()
    assert reload(world, QueueConfig(name="normal"), priority_default=1).body["kept"] == []
    assert [one.name for one in world.state.config.queues] == ["normal"]


def memory(world: World) -> list[int]:
    """What each job asks of memory, in MB."""
    specs = (world.state.specs[one.spec] for one in world.state.jobs.values())
    needs = (dict((*one.need.per_task, *one.need.per_job, *one.need.per_host)) for one in specs)
    return [need.get("mem", 0) >> 20 for need in needs]


def test_pending_work_is_merged_again_and_allocated_work_keeps_its_merge() -> None:
    before = QueueConfig(name="normal", default_resreq="rusage[mem=1GB]")
    world = lab(1, slots=2, config=settings(queues=(before,)))
    world.scripts.default = lambda job, attempt: Life(run_us=None)
    world.submit(job(2))
    world.run(SECOND_US)
    world.submit(job(2))
    world.submit(job(2, resreq="rusage[mem=512MB]"))
    reload(world, QueueConfig(name="normal", default_resreq="rusage[mem=2GB] select[mem>1GB]"))
    assert memory(world) == [1024, 2048, 512]
    world.change_leader()
    reload(world, QueueConfig(name="normal"))
    assert memory(world) == [1024, 0, 512]
    check(world.state)


def test_a_limit_that_is_loaded_holds_at_once_and_ends_nothing() -> None:
    world = lab(1)
    world.scripts.default = lambda job, attempt: Life(run_us=None)
    for _ in range(3):
        world.submit(job())
    world.run(SECOND_US)
    reload(world, QueueConfig(name="normal", job_limit=2))
    world.submit(job())
    world.run(SECOND_US)
    states = [one.state for one in world.state.jobs.values()]
    assert states == ["RUNNING"] * 3 + ["PENDING"]
    check(world.state)

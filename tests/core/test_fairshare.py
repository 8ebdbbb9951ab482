"""Fairshare on the core: whose job goes next, what is charged, and that a week comes out fair."""

from tests.core.lab import Life, lab
from tests.kit.words import ANNA, BERT, job, settings
from tests.kit.world import World
from xce.controller.core.fold.check import check
from xce.controller.core.queueing.fairness import accounts
from xce.model.actor import USER, Actor
from xce.model.config import SECOND_US, Config, ShareTree, UserGroup
from xce.model.waiting.share import Share
from xce.scheduler.sharing.fairshare import HOUR_US

MINUTE_US = 60 * SECOND_US
CARL = Actor(kind=USER, uid=1002)
TREE = ShareTree(name="main", queues=("normal",), shares=(("1000", 3), ("default", 1)))


def shared(**changes: object) -> Config:
    return settings(share_trees=(TREE,), **changes)


def running(world: World) -> list[int]:
    return [key for key, one in world.state.jobs.items() if one.state in ("STARTING", "RUNNING")]


def short(world: World, for_us: int = 10 * MINUTE_US) -> World:
    """A world whose jobs run so long."""
    world.scripts.default = lambda job, attempt: Life(run_us=for_us)
    return world


def test_three_shares_get_three_slots_of_four() -> None:
    world = short(lab(1, slots=4, gpu_count=0, config=shared()))
    world.submit(job(4))
    world.run(SECOND_US)
    for _ in range(4):
        world.submit(job(actor=BERT))
    for _ in range(4):
        world.submit(job(actor=ANNA))
    world.run(10 * MINUTE_US)
    # Anna was charged 40 slot minutes: 3/(0.7*0.667+3(1+k)) and 1/(3(1+m)) give A A B A.
    assert sorted(running(world)) == [2, 6, 7, 8]
    check(world.state)


def test_what_a_job_used_is_charged_when_it_ends() -> None:
    world = short(lab(1, slots=4, gpu_count=0, config=shared()), HOUR_US)
    world.submit(job(2))
    world.rest(5 * HOUR_US)
    (share,) = world.state.shares.values()
    assert share.path == "main/1000"
    ended = world.state.jobs[1]
    assert share.run_us == 2 * (share.at_us - ended.started_us)
    assert 2 * HOUR_US <= share.run_us < 2 * HOUR_US + 2 * MINUTE_US


def test_what_runs_counts_while_it_runs_and_not_twice_when_it_ended() -> None:
    world = short(lab(1, slots=4, gpu_count=0, config=shared()), HOUR_US)
    world.submit(job(2))
    world.run(30 * MINUTE_US)
    begun = world.state.jobs[1].started_us
    at_us = begun + HOUR_US // 2
    # 2 slots for half an hour are one hour: 0.7, and (1 + 2) * 3.0.
    seen = accounts(world.state, ["main/1000"], at_us)["main/1000"]
    assert (seen.shares, seen.weight) == (3, 9_700 * HOUR_US)
    world.rest(5 * HOUR_US)
    used = world.state.shares["main/1000"].run_us
    seen = accounts(world.state, ["main/1000"], world.state.shares["main/1000"].at_us)["main/1000"]
    assert seen.weight == 700 * used + 3_000 * HOUR_US


def test_what_was_used_fades_to_a_tenth_within_the_history() -> None:
    world = short(lab(1, slots=4, gpu_count=0, config=shared()), HOUR_US)
    world.submit(job(2))
    world.rest(5 * HOUR_US)
    share = world.state.shares["main/1000"]
    # (1 + 0) * 3.0, and 0.7 of a tenth, then of a hundredth, of two slot hours.
    for periods, part in ((1, 10), (2, 100)):
        at_us = share.at_us + periods * 5 * HOUR_US
        seen = accounts(world.state, ["main/1000"], at_us)["main/1000"]
        assert seen.weight == 700 * (share.run_us // part) + 3_000 * HOUR_US


def test_a_killed_and_a_failed_start_charge_what_ran_and_nothing_else() -> None:
    world = lab(1, slots=4, gpu_count=0, config=shared())
    world.scripts.default = lambda job, attempt: Life(run_us=-1)
    held = world.submit(job(2, held=True))
    world.run(MINUTE_US)
    assert not world.state.shares
    assert world.state.jobs[held].state == "HELD"


def test_queues_that_are_not_shared_are_not_charged() -> None:
    world = short(lab(1, slots=4, gpu_count=0, config=shared()))
    world.submit(job(2, queue="night"))
    world.rest(5 * HOUR_US)
    assert not world.state.shares


def test_groups_share_first_and_divide_then() -> None:
    groups = (
        UserGroup(name="eng", members=("1000", "1001")),
        UserGroup(name="ops", members=("1002",)),
    )
    tree = ShareTree(name="main", queues=("normal",), shares=(("@eng", 1), ("@ops", 1)))
    world = short(
        lab(1, slots=4, gpu_count=0, config=settings(share_trees=(tree,), user_groups=groups))
    )
    blocker = world.submit(job(4, queue="night"))
    world.run(SECOND_US)
    for actor in (ANNA, ANNA, ANNA, BERT, BERT, BERT, CARL, CARL, CARL):
        world.submit(job(actor=actor))
    assert blocker == 1
    world.run(10 * MINUTE_US)
    # eng, ops, eng, ops; within eng Anna, then Bert.
    assert sorted(running(world)) == [2, 5, 8, 9]


def test_the_group_that_is_named_is_charged() -> None:
    groups = (UserGroup(name="eng", members=("1000",)), UserGroup(name="ops", members=("1000",)))
    tree = ShareTree(name="main", queues=("normal",), shares=(("@eng", 1), ("@ops", 1)))
    world = short(
        lab(1, slots=4, gpu_count=0, config=settings(share_trees=(tree,), user_groups=groups))
    )
    world.submit(job(user_group="ops"))
    world.rest(5 * HOUR_US)
    assert list(world.state.shares) == ["main/ops/1000"]


def test_accounts_and_their_order_come_back_with_the_log() -> None:
    world = short(lab(1, slots=2, gpu_count=0, config=shared()), 5 * MINUTE_US)
    for actor in (ANNA, BERT) * 4:
        world.submit(job(actor=actor))
    world.run(12 * MINUTE_US)
    world.cut()
    before = dict(world.state.shares)
    world.change_leader()
    assert world.state.shares == before
    assert all(isinstance(one, Share) for one in before.values())
    world.rest(5 * HOUR_US)
    check(world.state)


def test_over_a_week_three_shares_get_three_times_the_time() -> None:
    """Two users who always have work: after a week their slot time is 3 : 1 within 5 %."""
    world = short(lab(1, slots=4, gpu_count=0, config=shared(clean_period_us=HOUR_US)), HOUR_US)
    owners: dict[int, int] = {}
    for _ in range(7 * 24):
        waiting = [one for one in world.state.jobs.values() if one.state == "PENDING"]
        for actor in (ANNA, BERT):
            mine = sum(one.owner == actor.uid for one in waiting)
            for _ in range(max(0, 10 - mine)):
                owners[world.submit(job(actor=actor))] = actor.uid
        world.run(HOUR_US)
    ran = dict.fromkeys((ANNA.uid, BERT.uid), 0)
    for record in world.records:
        if record.kind == "LaunchEnded":
            key = next(int(entity) for entity in record.entities if entity.isdigit())
            ran[owners[key]] += 1
    assert sum(ran.values()) > 600
    assert abs(ran[ANNA.uid] - 3 * ran[BERT.uid]) <= 0.05 * ran[ANNA.uid]


def test_where_work_stands_is_told_among_its_account() -> None:
    world = short(lab(1, slots=1, gpu_count=0, config=shared()), HOUR_US)
    for actor in (ANNA, ANNA, BERT, ANNA, BERT):
        world.submit(job(actor=actor))
    world.run(SECOND_US)
    index = world.state.index
    places = {key: index.ordering.of_job(world.state.jobs[key]) for key in (2, 3, 4, 5)}
    told = {key: index.pending.ahead(place) for key, place in places.items()}
    assert told == {2: (0, 2), 4: (1, 2), 3: (0, 2), 5: (1, 2)}

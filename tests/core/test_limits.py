"""Limits: who may have how much at once, what waits says why, and that nothing ever goes over."""

import random
from typing import Any

import pytest
from msgspec import structs

from tests.core.lab import Life, lab
from tests.kit.words import ANNA, BERT, gang, gpus, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.check import check
from xce.controller.core.queueing.limits import Bucket
from xce.model.actor import USER, Actor
from xce.model.config import SECOND_US, LimitConfig, QueueConfig, UserConfig, UserGroup
from xce.scheduler.reasons import Code

GB = 1 << 30
CARL = Actor(kind=USER, uid=1002)


def limit(name: str = "few", **fields: Any) -> LimitConfig:
    """A limit; amounts by name."""
    amounts = tuple(
        (what, fields.pop(what)) for what in ("jobs", "slots", "mem", "gpu") if what in fields
    )
    return LimitConfig(name=name, amounts=amounts, **fields)


def limited(*limits: LimitConfig, hosts: int = 1, slots: int = 8, **changes: Any) -> World:
    """A world under these limits whose jobs run for ever."""
    world = lab(hosts, slots=slots, config=settings(limits=limits, **changes))
    world.scripts.default = lambda job, attempt: Life(run_us=None)
    return world


def running(world: World) -> list[int]:
    world.run(SECOND_US)
    return [key for key, one in world.state.jobs.items() if one.state in ("STARTING", "RUNNING")]


def text(world: World, entity: str) -> str:
    why = world.sessions.reason_for(entity)
    assert why is not None
    return why.text()


def test_slots_of_all_together() -> None:
    world = limited(limit(slots=5))
    for actor in (ANNA, BERT, CARL):
        world.submit(job(2, actor=actor))
    assert running(world) == [1, 2]
    assert text(world, "3") == "limit few is reached: 4 of 5 slots in use, needs 2"
    assert world.state.index.limits.counts == {Bucket("few", "slots"): 4}


def test_each_user_by_himself() -> None:
    world = limited(limit(jobs=1, per_user=("all",)))
    for actor in (ANNA, ANNA, BERT, BERT):
        world.submit(job(actor=actor))
    assert running(world) == [1, 3]
    assert text(world, "2") == "limit few (user 1000) is reached: 1 of 1 jobs in use, needs 1"


def test_users_and_groups_are_named_and_taken_out() -> None:
    groups = (UserGroup(name="eng", members=("1000", "1002")),)
    world = limited(limit(jobs=1, users=("@eng", "~1002")), user_groups=groups)
    for actor in (ANNA, ANNA, BERT, BERT, CARL, CARL):
        world.submit(job(actor=actor))
    assert running(world) == [1, 3, 4, 5, 6]


def test_fields_are_all_to_hold_and_words_are_alternatives() -> None:
    world = limited(limit(jobs=1, queues=("normal", "day"), projects=("red",)))
    world.submit(job(project="red"))
    world.submit(job(project="red", queue="night"))
    world.submit(job(project="blue"))
    world.submit(job(project="red"))
    assert running(world) == [1, 2, 3]


def test_a_blocked_class_blocks_no_other_and_is_let_go_when_the_count_falls() -> None:
    world = limited(limit(slots=2, users=("1000",)))
    first = world.submit(job(2))
    world.submit(job(2))
    world.submit(job(2, actor=BERT))
    assert running(world) == [1, 3]
    world.ask_body(c.Kill(actor=ANNA, job=first))
    assert running(world) == [2, 3]


def test_a_blocked_class_is_not_looked_at_while_its_count_stands() -> None:
    world = limited(limit(slots=1, users=("1000",)))
    world.submit(job())
    world.submit(job())
    other = world.submit(job(actor=BERT))
    assert running(world) == [1, 3]
    world.ask_body(c.Kill(actor=BERT, job=other))
    world.run(SECOND_US)
    known = world.sessions._known()
    assert [why.code for why in known.values()] == [Code.LIMIT_REACHED]


def test_memory_and_gpus_count_what_is_granted() -> None:
    world = limited(limit(mem=6 * GB), limit("cards", gpu=3))
    world.submit(job(2, resreq="rusage[mem=2GB]"))
    world.submit(job(2, resreq="rusage[mem=2GB]"))
    world.submit(job(claims=(gpus(2),)))
    world.submit(job(claims=(gpus(2),)))
    assert running(world) == [1, 3]
    assert text(world, "2") == "limit few is reached: 4GB of 6GB mem in use, needs 4GB"
    assert text(world, "4") == "limit cards is reached: 2 of 3 gpu in use, needs 2"


def test_more_than_a_limit_allows_says_so() -> None:
    world = limited(limit(slots=3))
    world.submit(job(4))
    world.run(SECOND_US)
    assert text(world, "1") == "limit few allows 3 slots and the job needs 4"


def test_each_host_by_itself_spreads_the_work() -> None:
    world = limited(limit(slots=2, per_host=("all",)), hosts=3)
    for _ in range(7):
        world.submit(job())
    assert running(world) == [1, 2, 3, 4, 5, 6]
    tasks = {host: one["slots"] for host, one in world.state.index.used.items() if one}
    assert tasks == {"n1": 2, "n2": 2, "n3": 2}
    said = "limit few on hosts: needs 1 slots, no host has more than 0 left of it"
    assert text(world, "7") == said


def test_each_user_on_each_host_is_lsf_s_jl_u() -> None:
    world = limited(limit(slots=1, per_host=("all",), per_user=("all",)), hosts=2)
    for actor in (ANNA, ANNA, ANNA, BERT):
        world.submit(job(actor=actor))
    assert running(world) == [1, 2, 4]


def test_hosts_together_are_one_count() -> None:
    world = limited(limit(slots=3, hosts=("n1", "n2")), hosts=3, slots=4)
    for _ in range(8):
        world.submit(job())
    assert len(running(world)) == 7
    used = {host: one.get("slots", 0) for host, one in world.state.index.used.items()}
    assert used["n3"] == 4
    assert used.get("n1", 0) + used.get("n2", 0) == 3


def test_shares_name_no_limit() -> None:
    world = limited(limit(slots=2, per_host=("all",)))
    world.submit(job())
    running(world)
    (granted,) = world.state.allocations.values()
    assert [name for name, _ in granted.shares[0].counters] == ["slots"]


def test_a_gang_goes_as_a_whole_and_its_surplus_only_as_far_as_there_is_room() -> None:
    world = limited(limit(slots=5))
    world.submit_gang(gang(role("a", 3), role("b", 3)))
    world.submit_gang(gang(role("c", 9, min=2)))
    world.run(SECOND_US)
    assert world.state.groups[1].state == "PENDING"
    assert text(world, "g1") == "limit few allows 5 slots and the job needs 6"
    running_now = [one.role for one in world.state.jobs.values() if one.state == "RUNNING"]
    assert running_now == ["c"] * 5


@pytest.mark.parametrize(
    ("field", "value", "went"),
    [
        ("job_limit", 3, [1, 2, 3]),
        ("user_job_limit", 2, [1, 2, 4, 5]),
        ("host_job_limit", 1, [1, 2]),
        ("processor_job_limit", 250, [1, 2, 3, 4]),  # a quarter of 8 slots on each of 2 hosts
    ],
)
def test_a_queue_s_own_limits(field: str, value: int, went: list[int]) -> None:
    own = QueueConfig(name="normal", **{field: value})
    world = limited(queues=(own,), hosts=2)
    for actor in (ANNA, ANNA, ANNA, BERT, CARL):
        world.submit(job(actor=actor))
    found = running(world)
    assert found == went


def test_what_users_may_have() -> None:
    users = (UserConfig(who="1000", max_slots=1), UserConfig(who="default", max_jobs=2))
    world = limited(users=users)
    for actor in (ANNA, ANNA, BERT, BERT, BERT, CARL):
        world.submit(job(actor=actor))
    assert running(world) == [1, 3, 4, 6]
    assert text(world, "2") == "limit user 1000 is reached: 1 of 1 slots in use, needs 1"


def test_a_plan_that_another_one_overtook_is_checked_again() -> None:
    """Two slices of one plan: what the first took counts for the second, and so does a reload."""
    world = limited(limit(slots=2))
    world.step([job(), job(), job()])
    work = world.sessions.begin(world.now_us)
    assert world.sessions.advance(work)
    (slice_,) = world.sessions.slices(work)
    assert len(slice_.placements) == 2
    again = c.CommitPlan(
        actor=slice_.actor, session=slice_.session, slice=1, snapshot_lsn=slice_.snapshot_lsn,
        config_lsn=slice_.config_lsn, snapshot_us=slice_.snapshot_us, digest="",
        placements=slice_.placements[1:],
    )  # fmt: skip
    world.step([slice_])
    world.step([again])
    assert world.state.index.limits.counts == {Bucket("few", "slots"): 2}


def test_more_than_one_class_of_a_session_counts_against_one_limit() -> None:
    world = limited(limit(slots=3))
    world.step([job(), job(2), job(3), job(actor=BERT)])
    work = world.sessions.begin(world.now_us)
    assert world.sessions.advance(work)
    assert [one.job for one in work.run.plan.placements] == [1, 2]


def test_what_another_plan_took_meanwhile_counts_at_commit() -> None:
    """Two plans from one snapshot: the second was made before the first was committed."""
    world = limited(limit(slots=2), hosts=2)
    world.step([job(2), job(2, actor=BERT)])
    first, second = (world.sessions.begin(world.now_us) for _ in range(2))
    for work in (first, second):
        assert world.sessions.advance(work)
    (early,) = world.sessions.slices(first)
    world.step([early])
    (late,) = world.sessions.slices(second)
    other = structs.replace(late.placements[0].members[0], job=2)
    host = structs.replace(other.shares[0], host="n2")
    moved = structs.replace(
        late.placements[0],
        members=(structs.replace(other, shares=(host,)),),
        host_versions=(("n2", world.state.index.version["n2"]),),
    )
    world.step([structs.replace(late, placements=(moved,))])
    assert world.state.index.limits.counts == {Bucket("few", "slots"): 2}


def test_counts_come_back_with_the_log_and_end_at_nothing() -> None:
    world = lab(
        2, config=settings(limits=(limit(slots=3), limit("own", jobs=1, per_user=("all",))))
    )
    for actor in (ANNA, BERT, ANNA, CARL, BERT):
        world.submit(job(2, actor=actor))
    world.run(SECOND_US)
    before = dict(world.state.index.limits.counts)
    world.change_leader()
    assert world.state.index.limits.counts == before
    world.rest()
    assert world.state.index.limits.counts == {}


@pytest.mark.parametrize("seed", range(12))
def test_random_worlds_never_go_over(seed: int) -> None:
    """Counted by an own hand from the allocations after each step."""
    dice = random.Random(seed)
    limits = (
        limit("all", slots=dice.randint(3, 9)),
        limit("own", jobs=dice.randint(1, 3), per_user=("all",)),
        limit("red", slots=2, projects=("red",)),
        limit("host", slots=dice.randint(1, 4), per_host=("all", "~n3")),
        limit("pair", jobs=3, hosts=("n1", "n2"), per_queue=("all",)),
    )
    world = lab(3, slots=6, seed=seed, config=settings(limits=limits))
    world.scripts.default = lambda job, attempt: Life(run_us=dice.randint(1, 90) * SECOND_US)
    for _ in range(40):
        who = dice.choice((ANNA, BERT, CARL))
        project, queue = dice.choice(("", "red")), dice.choice(("normal", "night"))
        if dice.random() < 0.2:
            world.submit_gang(gang(role("r", dice.randint(1, 3), min=1), actor=who, queue=queue))
        else:
            tasks = dice.choice((1, 1, 2))
            world.submit(job(tasks, actor=who, project=project, queue=queue))
        world.run(dice.randint(0, 20) * SECOND_US)
        _assert_within(world, limits)
    check(world.state)


def _assert_within(world: World, limits: tuple[LimitConfig, ...]) -> None:
    state = world.state
    slots, jobs, red, hosts = 0, {}, 0, {}
    for granted in state.allocations.values():
        job = state.jobs[granted.job]
        mine = sum(share.tasks for share in granted.shares)
        slots += mine
        jobs[job.owner] = jobs.get(job.owner, 0) + 1
        red += mine if state.specs[job.spec].project == "red" else 0
        for share in granted.shares:
            hosts[share.host] = hosts.get(share.host, 0) + share.tasks
    allowed = {one.name: one.amounts[0][1] for one in limits}
    assert slots <= allowed["all"]
    assert all(count <= allowed["own"] for count in jobs.values())
    assert red <= allowed["red"]
    assert all(count <= allowed["host"] for name, count in hosts.items() if name != "n3")


def test_a_dry_run_keeps_within_limits() -> None:
    world = limited(limit(slots=5))
    world.submit(job(4))
    running(world)
    told = world.sessions.dry_run(gang(role("a", 2)), world.now_us)
    assert not isinstance(told, c.Rejection)
    assert not told["fits"]
    assert told["reason"] == "limit few is reached: 4 of 5 slots in use, needs 2"

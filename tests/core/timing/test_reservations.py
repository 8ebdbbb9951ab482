"""Reservations on the virtual clock, with the real core: set, kept, moved, used, over, obeyed."""

import pytest
from msgspec import structs

from tests.core.lab import MINUTE_US, SECOND_US, Life, lab, until_state
from tests.kit.words import OPS, SETTINGS, gang, job, machine, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.fold.encode import digest
from xce.controller.core.time.reservations import reservations
from xce.controller.recover import recover
from xce.model.config import BackfillConfig, QueueConfig
from xce.model.job import Topology
from xce.model.records import Planned, ReservationEnded, ReservationSet
from xce.scheduler.reasons import Code
from xce.wal.memory import MemoryLog

CONSERVATIVE = structs.replace(SETTINGS, backfill=BackfillConfig(policy="conservative", depth=10))


def busy(slots: int = 4, limit_s: int = 100, count: int = 1, **rest: object) -> World:
    """Hosts of four slots; job 1 has `slots` of them for as long as its limit says."""
    world = lab(count, slots=4, gpu_count=0, **rest)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job(slots, "span[hosts=1]", run_limit_us=limit_s * SECOND_US))
    until_state(world, "job", 1, "RUNNING")
    return world


def sets(world: World) -> list[ReservationSet]:
    return [one.body for one in world.records if isinstance(one.body, ReservationSet)]


def ends(world: World) -> list[tuple[int, str]]:
    found = [one.body for one in world.records if isinstance(one.body, ReservationEnded)]
    return [(one.reservation, one.why) for one in found]


def settled(world: World) -> None:
    world.run(SECOND_US)


def test_the_head_that_does_not_fit_gets_a_reservation_when_the_running_job_ends() -> None:
    world = busy()
    over_us = world.state.jobs[1].started_us + 100 * SECOND_US
    head = world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    settled(world)
    (made,) = sets(world)
    assert (made.kind, made.job, made.from_us) == ("backfill", head, over_us)
    assert made.end_us == over_us + 50 * SECOND_US
    assert made.until_us == over_us + 10 * MINUTE_US
    assert [(share.host, share.counters) for share in made.shares] == [("n1", (("slots", 4),))]
    assert (made.cause, made.before_us, made.slips) == ("", 0, 0)
    until_state(world, "job", head, "RUNNING")
    assert ends(world) == [(1, "used")]
    assert world.state.jobs[head].started_us < over_us + 2 * SECOND_US
    assert len(sets(world)) == 1, "nothing moved"


def test_a_job_that_ends_in_time_is_backfilled_and_must_end_when_the_head_begins() -> None:
    world = busy(slots=3)
    over_us = world.state.jobs[1].started_us + 100 * SECOND_US
    world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    settled(world)
    short = world.submit(job(run_limit_us=60 * SECOND_US))
    until_state(world, "job", short, "RUNNING")
    start = world.state.starts[world.state.jobs[short].start]
    assert start.must_end_us == over_us
    planned = [one.body for one in world.records if isinstance(one.body, Planned)]
    assert planned[-1].groups[0].must_end_us == over_us


@pytest.mark.parametrize(
    ("limit_s", "code"), [(0, Code.NO_RUN_LIMIT), (200, Code.WOULD_DELAY)], ids=["none", "long"]
)
def test_a_job_that_would_delay_the_head_waits_and_is_told_so(limit_s: int, code: Code) -> None:
    world = busy(slots=3)
    head = world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    settled(world)
    other = world.submit(job(run_limit_us=limit_s * SECOND_US))
    settled(world)
    assert world.state.jobs[other].state == "PENDING"
    why = world.sessions.reason_for(str(other))
    assert why is not None
    assert (why.code, why.where, why.needed) == (code, str(head), limit_s)
    assert 90 < why.available <= 100
    until_state(world, "job", head, "RUNNING")


def test_what_would_delay_the_head_is_not_begun() -> None:
    world = busy(slots=3)
    world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    settled(world)
    other = world.submit(job())
    settled(world)
    assert world.state.jobs[other].state == "PENDING"


def test_borrowed_space_is_given_back_by_the_host_when_it_is_due() -> None:
    """The borrower begins late: its own limit would reach beyond the head's start."""
    world = busy(slots=3)
    over_us = world.state.jobs[1].started_us + 100 * SECOND_US
    head = world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    settled(world)
    world.scripts.lives["3"] = Life(prepare_us=30 * SECOND_US, run_us=None)
    short = world.submit(job(run_limit_us=95 * SECOND_US))
    until_state(world, "job", short, "EXITED")
    assert world.exit_of(short).reason == "deadline"
    assert over_us <= world.state.jobs[short].ended_us < over_us + SECOND_US
    until_state(world, "job", head, "RUNNING")
    assert world.state.jobs[head].started_us < over_us + 2 * SECOND_US


def test_a_reservation_moves_ahead_when_something_ends_early() -> None:
    world = busy()
    over_us = world.state.jobs[1].started_us + 100 * SECOND_US
    world.submit(job(4, "span[hosts=1]", run_limit_us=10 * SECOND_US))
    world.submit(job(4, "span[hosts=1]", run_limit_us=10 * SECOND_US))
    settled(world)
    assert [one.from_us for one in sets(world)] == [over_us]
    world.ask_body(c.Kill(actor=OPS, job=1))
    until_state(world, "job", 2, "RUNNING")
    assert world.now_us < over_us
    settled(world)
    (_, second) = sets(world)
    assert second.job == 3
    assert abs(second.from_us - world.state.jobs[2].started_us - 10 * SECOND_US) < SECOND_US


def test_a_reservation_slips_when_its_host_is_lost_and_says_why() -> None:
    world = busy(count=2, config=structs.replace(SETTINGS, host_grace_us=20 * SECOND_US))
    world.submit(job(4, "span[hosts=1]", run_limit_us=300 * SECOND_US))
    until_state(world, "job", 2, "RUNNING")
    world.submit(job(4, "span[hosts=1]", run_limit_us=10 * SECOND_US))
    settled(world)
    first = sets(world)[-1]
    assert first.shares[0].host == "n1"
    world.mute("n1")
    world.run(80 * SECOND_US)
    world.ask_body(c.Kill(actor=OPS, job=2))
    world.submit(job())
    world.run(30 * SECOND_US)
    slipped = [one for one in sets(world) if one.before_us]
    causes = {one.cause for one in slipped}
    assert world.state.jobs[3].state in ("RUNNING", "DONE", "EXITED") or causes
    assert not causes or causes == {"host n1 cannot be used"}


def test_a_reservation_slips_when_what_runs_is_given_longer() -> None:
    """The host was told of its first limit; here the core alone ends what is over."""
    world = lab(1, slots=4, gpu_count=0)
    world.agents["n1"].enforces = False
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job(4, "span[hosts=1]", run_limit_us=100 * SECOND_US))
    until_state(world, "job", 1, "RUNNING")
    world.submit(job(4, "span[hosts=1]", run_limit_us=10 * SECOND_US))
    settled(world)
    (first,) = sets(world)
    world.ask_body(c.ModifyJob(actor=OPS, job=1, spec={"run_limit_us": 200 * SECOND_US}))
    world.run(120 * SECOND_US)
    moved = sets(world)[-1]
    assert (moved.before_us, moved.from_us) == (first.from_us, first.from_us + 100 * SECOND_US)
    assert moved.cause == "1 runs on n1 for longer than expected"


def test_a_holder_that_is_killed_or_held_gives_its_reservation_up() -> None:
    world = busy()
    for how in ("kill", "hold"):
        key = world.submit(job(4, "span[hosts=1]", run_limit_us=10 * SECOND_US))
        settled(world)
        assert [one.job for one in reservations(world.state).values()] == [key]
        if how == "kill":
            world.ask_body(c.Kill(actor=OPS, job=key))
        else:
            world.ask_body(c.Suspend(actor=OPS, job=key))
        assert reservations(world.state) == {}
    assert ends(world) == [(1, "holder_gone"), (2, "holder_gone")]


def test_a_queue_that_gives_nothing_out_gives_up_what_was_reserved_for_its_work() -> None:
    """Job 2 waits for the whole host in a queue that is then turned inactive: job 3 of another
    queue would otherwise wait for room that nobody may take."""
    queues = (QueueConfig(name="normal", priority=30), QueueConfig(name="other", priority=20))
    world = busy(2, config=structs.replace(SETTINGS, queues=queues))
    world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    late = world.submit(job(2, run_limit_us=500 * SECOND_US, queue="other"))
    settled(world)
    assert [one.job for one in sets(world)] == [2]
    assert world.state.jobs[late].state == "PENDING"
    world.ask_body(c.ChangeQueue(actor=OPS, queue="normal", event="inactive"))
    settled(world)
    assert ends(world) == [(1, "holder_gone")]
    assert world.state.jobs[late].state in ("STARTING", "RUNNING")


def test_without_run_limits_nothing_is_reserved() -> None:
    world = lab(1, slots=4, gpu_count=0)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job(4, "span[hosts=1]"))
    world.submit(job(4, "span[hosts=1]", run_limit_us=SECOND_US))
    settled(world)
    assert sets(world) == []


def test_the_policy_none_reserves_nothing_and_strict_lets_nobody_overtake() -> None:
    for policy in ("none", "strict"):
        config = structs.replace(SETTINGS, backfill=BackfillConfig(policy=policy))
        world = busy(slots=3, config=config)
        world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
        settled(world)
        late = world.submit(job(run_limit_us=SECOND_US))
        settled(world)
        assert sets(world) == []
        strict = policy == "strict"
        assert world.state.jobs[late].state == ("PENDING" if strict else "RUNNING")
        if strict:
            why = world.sessions.reason_for(str(late))
            assert why is not None
            assert why.text() == "waits behind 2; nobody overtakes in this queue"


def test_conservative_reserves_for_all_that_wait_and_each_obeys_those_before() -> None:
    world = busy(slots=3, config=CONSERVATIVE)
    over_us = world.state.jobs[1].started_us + 100 * SECOND_US
    world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    world.submit(job(2, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    world.submit(job(2, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    settled(world)
    found = {one.job: one.from_us for one in sets(world)}
    assert found == {2: over_us, 3: over_us + 50 * SECOND_US, 4: over_us + 50 * SECOND_US}


def test_reservations_outlive_a_change_of_leader_and_fold_from_the_log() -> None:
    world = busy()
    over_us = world.state.jobs[1].started_us + 100 * SECOND_US
    head = world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    settled(world)
    world.change_leader()
    assert [one.from_us for one in reservations(world.state).values()] == [over_us]
    world.cut()
    until_state(world, "job", head, "RUNNING")
    again, _ = recover(MemoryLog(world.store))
    again.epoch = world.state.epoch
    assert digest(again) == digest(world.state)


def test_a_reservation_that_nobody_uses_is_over_at_its_deadline() -> None:
    config = structs.replace(SETTINGS, backfill=BackfillConfig(patience_us=5 * SECOND_US))
    world = busy(config=config)
    world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    settled(world)
    made = sets(world)[0]
    world.mute("n1")
    world.run_until(lambda: bool(ends(world)), 200 * SECOND_US)
    assert ends(world)[0] == (1, "deadline")
    assert world.now_us >= made.until_us


# --- a gang that needs a whole domain ---------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_stream_of_small_jobs_delays_a_gang_by_no_more_than_the_longest_of_them(
    seed: int,
) -> None:
    """Two NVLink domains of two hosts, each full of jobs of at most 60 s. The gang needs one
    domain whole: nothing begins there that is not over when the last job of the domain that is
    free soonest is, which began before it. So it waits for one job's limit at the most."""
    hosts = {
        f"n{i}": machine(4, domains={"nvlink": f"v{(i - 1) // 2}", "block": "b"})
        for i in range(1, 5)
    }
    world = World(hosts, seed)
    world.up()
    longest_s = 60
    world.scripts.default = lambda name, attempt: Life(run_us=None)

    def small() -> None:
        limit_s = world.random.randint(5, longest_s)
        world.submit(job(2, "span[hosts=1]", run_limit_us=limit_s * SECOND_US))

    for _ in range(12):
        small()
    world.run(5 * SECOND_US)
    workers = role("worker", 2, tasks=4, resreq="span[hosts=1]", topology=Topology())
    workers = (workers[0], structs.replace(workers[1], run_limit_us=30 * SECOND_US))
    number = world.submit_gang(gang(workers, topology=Topology(required="nvlink")))
    asked_us = world.now_us
    while world.state.groups[number].state == "PENDING":
        small()
        world.run(SECOND_US)
        assert world.now_us - asked_us <= (longest_s + 5) * SECOND_US, "the gang starves"
    assert any(one.group == number for one in sets(world))
    assert not [one for one in sets(world) if one.group == number and one.slips]


# --- estimates on demand ------------------------------------------------------------------------


def test_the_expected_start_of_the_head_is_its_reservation() -> None:
    world = busy()
    over_us = world.state.jobs[1].started_us + 100 * SECOND_US
    head = world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    settled(world)
    found = world.sessions.expected(str(head), world.now_us)
    assert found is not None
    assert (found.at_us, found.hosts, found.reserved) == (over_us, ("n1",), True)


def test_others_are_expected_behind_those_before_them_and_nothing_is_written() -> None:
    world = busy()
    over_us = world.state.jobs[1].started_us + 100 * SECOND_US
    world.submit(job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US))
    third = world.submit(job(3, "span[hosts=1]", run_limit_us=70 * SECOND_US))
    fourth = world.submit(job(2, "span[hosts=1]", run_limit_us=70 * SECOND_US))
    settled(world)
    lsn = world.state.lsn
    found = world.sessions.expected(str(third), world.now_us)
    assert found is not None
    assert (found.at_us, found.reserved, found.ahead) == (over_us + 50 * SECOND_US, False, 1)
    found = world.sessions.expected(str(fourth), world.now_us)
    assert found is not None
    assert (found.at_us, found.ahead) == (over_us + 120 * SECOND_US, 2)
    assert world.state.lsn == lsn


def test_nobody_knows_when_work_begins_that_waits_for_what_has_no_limit() -> None:
    world = lab(1, slots=4, gpu_count=0)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job(4, "span[hosts=1]"))
    waiting = world.submit(job(4, "span[hosts=1]", run_limit_us=SECOND_US))
    settled(world)
    assert world.sessions.expected(str(waiting), world.now_us) is None
    assert world.sessions.expected("1", world.now_us) is None
    assert world.sessions.expected("99", world.now_us) is None


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_what_the_bound_of_looks_kept_from_being_tried_is_tried_next(policy: str) -> None:
    """It could begin at once, so it waits for no other event; what waits is not looked at for
    ever."""
    site = structs.replace(SETTINGS, backfill=BackfillConfig(policy=policy, depth=1, look=2))
    world = busy(slots=3, config=site)
    limits_s = (200, 210, 220, 60, 230, 61)
    head = job(4, "span[hosts=1]", run_limit_us=50 * SECOND_US)
    others = [job(run_limit_us=limit_s * SECOND_US) for limit_s in limits_s]
    world.inbox += [(one, None) for one in (head, *others)]
    settled(world)
    begun = [key for key, one in world.state.jobs.items() if one.state in ("STARTING", "RUNNING")]
    assert begun == [1, 6], "the first that ends in time"
    assert not world.sessions.wanted()
    why = world.sessions.reason_for("8")
    assert why is not None
    assert why.code is Code.SHORT_ON_HOST

"""Suspending what runs: what is lent and when, who goes on, in which order, and what fails then."""

import pytest
from msgspec import structs

from tests.core.lab import Life, kinds, lab, states, until_state
from tests.core.suspended import FOR_EVER, running, stop, used
from tests.kit.words import ANNA, BERT, GB, OPS, job, machine, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US, PoolConfig, TypeConfig

# -- lent, and when -----------------------------------------------------------------------------


def test_slots_are_lent_once_the_host_says_that_nothing_runs_and_not_before() -> None:
    world = running()
    world.submit(job(4))
    world.mute("n1")
    world.step([c.Suspend(actor=ANNA, job=1)])
    assert (world.state.jobs[1].state, world.state.jobs[1].suspension) == ("RUNNING", "SUSPENDED")
    assert used(world)["slots"] == 4
    world.run(2 * SECOND_US)
    assert world.state.jobs[2].state == "PENDING"
    world.unmute("n1")
    until_state(world, "job", 2, "RUNNING")
    assert world.state.allocations[1].lent[0].counters == (("slots", 4),)
    assert used(world)["slots"] == 4
    assert kinds(world, "1")[-2:] == ["SuspendAsked", "LaunchFrozen"]


def test_memory_stays_with_what_is_suspended() -> None:
    world = running(resreq="rusage[mem=10GB]", tasks=1)
    assert used(world) == {"mem": 10 * GB, "slots": 1}
    stop(world)
    assert used(world) == {"mem": 10 * GB}
    world.submit(job(1, "rusage[mem=60GB]"))
    world.run(SECOND_US)
    assert world.state.jobs[2].state == "PENDING", "64 GB less 10 GB is no room for 60 GB"


@pytest.mark.parametrize("releases", [True, False])
def test_a_pool_is_lent_when_its_type_says_so(releases: bool) -> None:
    config = settings(
        types=(TypeConfig(name="lic", scope="shared", release_on_suspend=releases),),
        pools=(PoolConfig(type="lic", amount=2, hosts=("all",), label="1"),),
    )
    world = running(2, resreq="rusage[lic=2]", tasks=1, config=config)
    assert world.state.index.pooled == {"lic@1": 2}
    world.submit(job(1, "rusage[lic=1]"))
    stop(world)
    assert world.state.index.pooled.get("lic@1", 0) == (1 if releases else 2)
    assert world.state.jobs[2].state == ("RUNNING" if releases else "PENDING")
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.run(10 * SECOND_US)
    assert world.state.jobs[1].suspension == "ACTIVE"
    assert world.state.index.pooled["lic@1"] == (2 if releases else 3) - (not releases)


@pytest.mark.parametrize("releases", [True, False])
def test_a_counter_of_the_host_is_lent_when_its_type_says_so(releases: bool) -> None:
    config = settings(types=(TypeConfig(name="seat", release_on_suspend=releases),))
    plain = machine(4)
    facts = structs.replace(plain, counters=tuple(sorted((*plain.counters, ("seat", 3)))))
    world = World({"n1": facts}, config=config)
    world.up()
    world.scripts.default = lambda name, attempt: FOR_EVER
    world.submit(job(1, "rusage[seat=2]"))
    until_state(world, "job", 1, "RUNNING")
    world.submit(job(1, "rusage[seat=2]"))
    stop(world)
    # 3 are there; the second job needs 2, and the first gave its 2 back or keeps them.
    assert used(world)["seat"] == 2
    assert world.state.jobs[2].state == ("RUNNING" if releases else "PENDING")
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.run(SECOND_US)
    assert world.state.jobs[1].suspension == ("SUSPENDED" if releases else "ACTIVE")
    world.ask_body(c.Kill(actor=ANNA, job=2))
    world.run(10 * SECOND_US)
    assert world.state.jobs[1].suspension == "ACTIVE"
    assert used(world) == {"seat": 2, "slots": 1}


@pytest.mark.parametrize("releases", [False, True])
def test_gpus_are_kept_unless_the_site_says_otherwise(releases: bool) -> None:
    own = TypeConfig(
        name="gpu", layer="instance", kind="instance", release_on_suspend=releases, provider="nvml"
    )
    config = settings(types=(own,)) if releases else settings()
    world = running(resreq="rusage[ngpus_physical=3]", tasks=1, config=config)
    assert len(world.state.index.holders) == 3
    stop(world)
    assert len(world.state.index.holders) == (0 if releases else 3)
    world.submit(job(1, "rusage[ngpus_physical=3]"))
    world.run(SECOND_US // 2)
    assert world.state.jobs[2].state == ("RUNNING" if releases else "PENDING")
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.run(10 * SECOND_US)
    assert world.state.jobs[1].suspension == "ACTIVE"
    held = {key for key, (_, number) in world.state.index.holders.items() if number == 1}
    assert held == set(world.state.allocations[1].shares[0].instances)


def test_a_job_over_two_hosts_lends_nothing_before_both_have_frozen_it() -> None:
    world = running(2, slots=4, tasks=8)
    world.mute("n2")
    stop(world)
    assert used(world, "n1") == used(world, "n2") == {"slots": 4}
    world.unmute("n2")
    world.run(3 * SECOND_US)
    assert used(world, "n1") == used(world, "n2") == {}


# -- going on -----------------------------------------------------------------------------------


def test_it_goes_on_at_once_when_nothing_was_lent_yet() -> None:
    world = running()
    world.mute("n1")
    world.step([c.Suspend(actor=ANNA, job=1)])
    world.step([c.Resume(actor=ANNA, job=1)])
    assert world.state.jobs[1].suspension == "RESUMING"
    world.unmute("n1")
    world.run(3 * SECOND_US)
    assert world.state.jobs[1].suspension == "ACTIVE"
    assert "Planned" not in kinds(world, "1")[3:]


def test_it_goes_on_by_a_plan_that_gives_its_slots_back() -> None:
    world = running()
    stop(world)
    lsn = world.state.lsn
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.run(SECOND_US)
    told = [record for record in world.records if record.lsn > lsn]
    assert [record.kind for record in told] == [
        "ResumeAsked", "Planned", "SessionEnded", "LaunchFrozen"
    ]  # fmt: skip
    assert told[1].body.resumed == (1,)  # type: ignore[attr-defined]
    found = world.state.jobs[1]
    assert (found.suspension, found.suspended_by, found.resume_us) == ("ACTIVE", "", 0)
    assert used(world) == {"slots": 4}


def test_a_resume_that_waits_says_for_what_and_goes_before_new_work() -> None:
    world = running()
    stop(world)
    world.scripts.lives["2"] = Life(run_us=20 * SECOND_US)
    world.submit(job(3))
    world.run(SECOND_US)
    world.submit(job(2))
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.run(SECOND_US)
    why = world.sessions.reason_for("1")
    assert why is not None
    assert why.text() == "waits to go on: needs 4 slots back on n1, where 1 are free"
    assert world.state.jobs[1].suspension == "SUSPENDED"
    assert world.state.jobs[3].state == "PENDING"
    world.submit(job(1))
    world.run(SECOND_US)
    assert world.state.jobs[4].state == "PENDING", "it took the slot that job 1 waits for"
    world.run(30 * SECOND_US)
    assert world.state.jobs[1].suspension == "ACTIVE"
    assert {world.state.jobs[key].state for key in (3, 4)} == {"PENDING"}


def test_new_work_of_a_higher_queue_goes_before_a_resume() -> None:
    world = running()
    stop(world)
    world.scripts.lives["2"] = Life(run_us=20 * SECOND_US)
    world.submit(job(4))
    world.run(SECOND_US)
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.scripts.lives["3"] = Life(run_us=20 * SECOND_US)
    world.submit(job(1, queue="night", priority=90))
    world.run(25 * SECOND_US)
    assert world.state.jobs[3].state == "RUNNING" or world.state.jobs[1].suspension == "ACTIVE"


def test_a_resume_that_is_taken_back_lets_others_have_the_room() -> None:
    world = running()
    stop(world)
    world.scripts.lives["2"] = FOR_EVER
    world.submit(job(3))
    world.run(SECOND_US)
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.submit(job(1))
    world.run(SECOND_US)
    assert world.state.jobs[3].state == "PENDING"
    world.ask_body(c.Suspend(actor=ANNA, job=1))
    until_state(world, "job", 3, "RUNNING")


def test_it_is_not_resumed_while_its_host_is_silent() -> None:
    world = running(2)
    stop(world)
    world.mute("n1")
    world.run(40 * SECOND_US)
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.run(SECOND_US)
    why = world.sessions.reason_for("1")
    assert why is not None
    assert why.text() == "waits to go on: its host n1 cannot be told (host_suspect)"
    world.unmute("n1")
    world.run(10 * SECOND_US)
    assert world.state.jobs[1].suspension == "ACTIVE"


def test_a_closed_host_gives_back_what_was_lent_there() -> None:
    world = running()
    stop(world)
    world.ask_body(c.HostEvent(actor=OPS, host="n1", event="close"))
    world.ask_body(c.Resume(actor=ANNA, job=1))
    world.run(SECOND_US)
    assert world.state.jobs[1].suspension == "ACTIVE"


def test_a_host_that_fell_silent_before_the_commit_makes_the_resume_stale() -> None:
    world = running()
    stop(world)
    world.step([c.Resume(actor=ANNA, job=1)])
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    world.step([c.HostEvent(actor=CONTROLLER, host="n1", event="miss")])
    (slice_,) = world.sessions.slices(work)
    world.sessions.committed(work, world.step([slice_]))
    assert (work.planned, work.stale) == (0, 1)
    assert world.state.jobs[1].suspension == "SUSPENDED"


def test_what_others_took_between_the_snapshot_and_the_commit_makes_the_resume_stale() -> None:
    world = running()
    stop(world)
    world.step([c.Resume(actor=ANNA, job=1)])
    late = world.sessions.begin(world.now_us)
    while not world.sessions.advance(late):
        pass
    world.step([c.Suspend(actor=ANNA, job=1)])
    world.step([job(4)])
    world.run(SECOND_US)
    assert world.state.jobs[2].state == "RUNNING"
    world.step([c.Resume(actor=ANNA, job=1)])
    (slice_,) = world.sessions.slices(late)
    world.sessions.committed(late, world.step([slice_]))
    assert (late.planned, late.stale) == (0, 1)


# -- who ----------------------------------------------------------------------------------------


def test_what_an_operator_suspended_its_owner_cannot_resume() -> None:
    world = running()
    stop(world, actor=OPS, job=1)
    assert world.state.jobs[1].suspended_by == "operator"
    answer = world.ask(c.Resume(actor=ANNA, job=1))
    assert isinstance(answer, c.Rejection)
    assert (answer.code, answer.message) == ("not_allowed", "Job <1>: User permission denied")
    world.ask_body(c.Suspend(actor=ANNA, job=1))
    assert world.state.jobs[1].suspended_by == "operator"
    world.ask_body(c.Resume(actor=OPS, job=1))
    world.run(SECOND_US)
    assert world.state.jobs[1].suspension == "ACTIVE"


def test_what_an_operator_holds_its_owner_cannot_let_go() -> None:
    world = lab(1, slots=1)
    world.submit(job(2))
    world.ask_body(c.Suspend(actor=OPS, job=1))
    assert isinstance(world.ask(c.Resume(actor=ANNA, job=1)), c.Rejection)
    world.ask_body(c.Resume(actor=OPS, job=1))
    found = world.state.jobs[1]
    assert (found.state, found.suspended_by) == ("PENDING", "")


def test_another_user_is_refused() -> None:
    world = running()
    for command in (c.Suspend(actor=BERT, job=1), c.Resume(actor=BERT, job=1)):
        answer = world.ask(command)
        assert isinstance(answer, c.Rejection)
        assert answer.code == "not_allowed"


def by_the_system(world: World, key: int) -> None:
    """As preemption will do it."""
    world.step([c.Suspend(actor=CONTROLLER, job=key, why="preempted by job 2")])


def test_what_the_system_suspended_goes_on_by_itself_when_there_is_room() -> None:
    world = running()
    by_the_system(world, 1)
    world.scripts.lives["2"] = Life(run_us=20 * SECOND_US)
    world.submit(job(4, priority=90))
    world.run(5 * SECOND_US)
    assert states(world, "job") == {1: "RUNNING", 2: "RUNNING"}
    assert world.state.jobs[1].suspension == "SUSPENDED"
    answer = world.ask(c.Resume(actor=ANNA, job=1))
    assert isinstance(answer, c.Rejection)
    assert answer.message == "Job <1>: it was suspended by the system (preempted by job 2)"
    until_state(world, "job", 2, "DONE")
    world.run(SECOND_US)
    assert world.state.jobs[1].suspension == "ACTIVE"


def test_what_the_system_suspended_its_owner_may_keep_suspended() -> None:
    world = running()
    by_the_system(world, 1)
    stop(world)
    world.run(10 * SECOND_US)
    found = world.state.jobs[1]
    assert (found.suspension, found.suspended_by, found.resume_us) == ("SUSPENDED", "user", 0)


# -- said twice, too early, too late ------------------------------------------------------------


def test_suspending_twice_is_one_record() -> None:
    world = running()
    for _ in range(3):
        stop(world)
    assert kinds(world, "1").count("SuspendAsked") == 1


def test_what_starts_is_refused_and_so_is_what_was_never_suspended() -> None:
    world = lab(1)
    world.scripts.lives["1"] = Life(prepare="hang")
    world.submit(job())
    until_state(world, "job", 1, "STARTING")
    answer = world.ask(c.Suspend(actor=ANNA, job=1))
    assert isinstance(answer, c.Rejection)
    assert answer.message == "Job <1>: Job is being started; it can be suspended once it runs"
    world = running()
    answer = world.ask(c.Resume(actor=ANNA, job=1))
    assert isinstance(answer, c.Rejection)
    assert answer.message == "Job <1>: Job is not suspended"


def test_a_job_that_ended_before_its_host_froze_it_has_ended() -> None:
    world = lab(1)
    world.scripts.lives["1"] = Life(run_us=2 * SECOND_US)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    world.mute("n1")
    world.step([c.Suspend(actor=ANNA, job=1)])
    world.run(5 * SECOND_US)
    world.unmute("n1")
    world.rest()
    assert (world.state.jobs[1].state, world.state.jobs[1].suspension) == ("DONE", "ACTIVE")
    world.ledger.assert_whole()


@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_suspend_and_resume_in_any_number_end_where_the_last_one_says(times: int) -> None:
    world = running()
    for number in range(times):
        command = c.Resume if number % 2 else c.Suspend
        world.step([command(actor=ANNA, job=1)])
    world.run(5 * SECOND_US)
    assert world.state.jobs[1].suspension == ("SUSPENDED" if times % 2 else "ACTIVE")
    assert world.agents["n1"].launches[1].is_frozen == bool(times % 2)

"""Hosts: silence, drain, removal, rights; and the retirement of finished work."""

import pytest

from tests.core.lab import MINUTE_US, Life, Provision, lab, pair, until_state
from tests.kit.words import ANNA, OPS, host_actor, job, machine
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US
from xce.model.host import HostFacts, InstanceFacts


def event(world: World, name: str, what: str) -> Outcome | c.Rejection:
    return world.ask(c.HostEvent(actor=OPS, host=name, event=what))


def test_silence_is_suspect_then_down_and_no_death() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    world.mute("n1")
    world.run(17 * SECOND_US)
    assert world.state.hosts["n1"].liveness == "SUSPECT"
    world.run(45 * SECOND_US)
    assert world.state.hosts["n1"].liveness == "DOWN"
    assert world.state.launches[1].state == "RUNNING"
    assert world.state.jobs[1].state == "RUNNING"
    world.submit(job())
    world.run(MINUTE_US)
    assert world.state.jobs[2].state == "PENDING"
    world.unmute("n1")
    world.run(SECOND_US)
    assert world.state.hosts["n1"].liveness == "UP"
    assert world.state.jobs[1].state == "RUNNING"
    assert world.state.jobs[2].state == "RUNNING"


def test_a_reboot_is_the_proof_of_a_death() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    world.agents["n1"].reboot()
    world.rest(30 * SECOND_US)
    launch = world.state.launches[1]
    assert (launch.state, launch.ran, launch.cause_of_end) == ("LOST", "yes", "reboot")
    assert (world.state.jobs[1].state, world.exit_of(1).reason) == ("EXITED", "host_lost")
    world.ledger.assert_whole()


def test_a_restart_of_the_agent_is_no_death() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=20 * SECOND_US)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    world.agents["n1"].restart()
    world.rest()
    assert world.state.jobs[1].state == "DONE"
    assert world.ledger.ran(1) == 1


def test_a_drained_host_closes_when_its_last_work_ends() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=20 * SECOND_US)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    event(world, "n1", "drain")
    assert world.state.hosts["n1"].admin == "DRAINING"
    world.submit(job())
    until_state(world, "job", 1, "DONE")
    assert world.state.hosts["n1"].admin == "CLOSED"
    world.run(MINUTE_US)
    assert world.state.jobs[2].state == "PENDING"
    event(world, "n1", "open")
    world.rest()
    assert world.state.jobs[2].state == "DONE"


def test_an_idle_host_that_is_drained_is_closed_at_once() -> None:
    world = lab(1)
    event(world, "n1", "drain")
    assert world.state.hosts["n1"].admin == "CLOSED"


def test_a_host_with_work_or_leftovers_is_not_removed() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(release="hang")
    world.submit_gang(pair())
    until_state(world, "group", 1, "RUNNING")
    answer = event(world, "n1", "remove")
    assert isinstance(answer, c.Rejection)
    assert answer.code == "conflict"
    until_state(world, "group", 1, "DONE")
    holder = world.state.attachments[1].host
    other = "n2" if holder == "n1" else "n1"
    assert isinstance(event(world, holder, "remove"), c.Rejection)
    heard = event(world, other, "remove")
    assert isinstance(heard, c.Rejection)
    assert heard.message == f"host {other} is UP; only a silent host can be removed"
    world.mute(other)
    world.run_until(lambda: world.state.hosts[other].liveness == "DOWN")
    assert isinstance(event(world, other, "remove"), Outcome)
    assert world.state.hosts[other].liveness == "GONE"


def test_a_removed_host_takes_nothing_and_may_come_back() -> None:
    world = lab(1)
    world.mute("n1")
    world.run_until(lambda: world.state.hosts["n1"].liveness == "DOWN")
    event(world, "n1", "remove")
    opened = event(world, "n1", "open")
    assert isinstance(opened, c.Rejection)
    assert opened.message == "host n1 was removed"
    world.submit(job())
    world.run(MINUTE_US)
    assert world.state.jobs[1].state == "PENDING"
    world.unmute("n1")
    world.agents["n1"].restart()
    world.rest()
    assert world.state.jobs[1].state == "DONE"


def test_a_host_that_is_up_cannot_be_declared_lost() -> None:
    answer = event(lab(1), "n1", "lost")
    assert isinstance(answer, c.Rejection)
    assert answer.message == "host n1 is UP; only a silent host can be declared lost"


@pytest.mark.parametrize(
    "what", ["miss", "hear", "grace_end", "lead", "register", "reconcile", "x"]
)
def test_people_cannot_say_what_only_the_clock_and_hosts_know(what: str) -> None:
    world = lab(1)
    world.mute("n1")
    world.run_until(lambda: world.state.hosts["n1"].liveness == "SUSPECT")
    lsn = world.state.lsn
    for actor in (ANNA, OPS, host_actor("n1")):
        answer = world.ask(c.HostEvent(actor=actor, host="n1", event=what))
        assert isinstance(answer, c.Rejection)
    assert world.state.lsn == lsn


@pytest.mark.parametrize("actor", [ANNA, host_actor("n2")])
def test_nobody_registers_a_host_but_itself(actor: c.Actor) -> None:
    world = lab(1)
    command = c.RegisterHost(actor=actor, host="n1", boot_id="evil", facts=machine())
    answer = world.ask(command)
    assert isinstance(answer, c.Rejection)
    assert answer.code == "not_allowed"
    assert world.state.hosts["n1"].boot_id == "n1-boot-1"


GPU = InstanceFacts(type="gpu", name="0")
ODD = (
    (HostFacts(counters=(("mem", 1 << 70),)), f"counter mem must be from 0 to {1 << 60}"),
    (HostFacts(counters=(("mem", -1),)), f"counter mem must be from 0 to {1 << 60}"),
    (HostFacts(counters=(("mem", 1), ("mem", 2))), "a counter is named twice"),
    (HostFacts(instances=(GPU, GPU)), "an instance is named twice"),
    (
        HostFacts(instances=(InstanceFacts(type="port", name="x"),)),
        "port/x is no name for an instance",
    ),
    (
        HostFacts(instances=(InstanceFacts(type="gpu", name="a/b"),)),
        "gpu/a/b is no name for an instance",
    ),
    (HostFacts(ports=(5, 70_000)), "ports 5 to 70000 are no range of ports"),
    (HostFacts(ports=(9, 5)), "ports 9 to 5 are no range of ports"),
)


@pytest.mark.parametrize(("facts", "why"), ODD)
def test_a_host_that_says_what_no_session_can_work_with_is_refused(
    facts: HostFacts, why: str
) -> None:
    world = lab(1)
    command = c.RegisterHost(actor=host_actor("n9"), host="n9", boot_id="b", facts=facts)
    answer = world.ask(command)
    assert isinstance(answer, c.Rejection)
    assert (answer.code, answer.message) == ("invalid", f"host n9: {why}")
    assert list(world.state.hosts) == ["n1"]


def test_users_do_not_drain_hosts() -> None:
    answer = lab(1).ask(c.HostEvent(actor=ANNA, host="n1", event="drain"))
    assert isinstance(answer, c.Rejection)
    assert answer.code == "not_allowed"


# -- retiring -------------------------------------------------------------------------------------


def left(world: World) -> list[str]:
    tables = ("job", "group", "start", "launch", "claim", "attachment", "allocation")
    return [name for name in tables if world.state.tables[name]]


def test_finished_work_leaves_the_state_an_hour_after_its_end() -> None:
    world = lab()
    world.submit(job())
    world.submit_gang(pair())
    world.rest()
    ended = {key: one.ended_us for key, one in world.state.jobs.items()}
    gang_us = world.state.groups[1].ended_us
    world.run(3_595 * SECOND_US)
    assert set(world.state.jobs) == {1, 2, 3}
    world.run(10 * SECOND_US)
    assert left(world) == []
    retired = [r for r in world.records if r.kind == "Retired"]
    assert [r.entities[0] for r in retired] == ["1", "g1"]
    assert [r.at_us for r in retired] == [
        ended[1] + 3600 * SECOND_US, gang_us + 3600 * SECOND_US,
    ]  # fmt: skip
    assert world.writer.finished("1") is not None
    assert world.submit(job()) == 4


def test_leftovers_on_a_silent_host_hold_retirement_back_until_they_are_gone() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(how="hang")
    world.submit_gang(pair())
    world.run_until(lambda: world.state.starts[1].armed == 2)
    world.mute("n2")
    world.ask_body(c.Kill(actor=ANNA, group=1))
    world.run(10 * SECOND_US)
    world.agents["n1"].muted = False
    world.run(3 * 3600 * SECOND_US)
    assert world.state.groups[1].state == "ENDING"
    world.unmute("n2")
    until_state(world, "group", 1, "EXITED")
    world.run(3_610 * SECOND_US)
    assert left(world) == []


def test_a_job_whose_leftovers_outlive_its_clean_period_retires_behind_them() -> None:
    world = lab(2)
    world.scripts.lives["1", 1] = Life(prepare="hang")
    spec_retries = world.config.start_retries
    assert spec_retries.max == 2
    world.submit_gang(pair(barrier_timeout_us=5 * SECOND_US, retries=type(spec_retries)(max=0)))
    world.run(SECOND_US)
    world.mute("n2")
    until_state(world, "group", 1, "EXITED")
    assert world.state.launches[2].state == "STOPPING"
    world.run(2 * 3600 * SECOND_US)
    assert left(world) != []
    world.unmute("n2")
    world.run(10 * SECOND_US)
    assert left(world) == []


def test_a_plan_is_not_committed_twice() -> None:
    world = lab(1)
    world.step([job()])
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    (slice_,) = world.sessions.slices(work)
    for expected in (1, 0):
        (answer,) = world.step([slice_]).answers
        assert isinstance(answer, Outcome)
        assert answer.body["planned"] == expected
    assert slice_.actor == CONTROLLER
    assert len(world.state.starts) == 1

"""Who is let in: journals of another log, of an older copy of this one, and clones."""

from typing import Any

import pytest
from msgspec import structs

from tests.core.lab import Life, lab, since, until_state
from tests.kit.words import OPS, SETTINGS, host_actor, job, machine
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.model.config import SECOND_US
from xce.wal.memory import MemoryLog


def registration(**fields: Any) -> c.RegisterHost:
    usual = {"host": "n1", "boot_id": "n1-boot-1", "facts": machine(8, 4), "agent": ""}
    known = {**usual, **fields}
    return c.RegisterHost(actor=host_actor(known["host"]), **known)


def answer_to(world: World, command: c.RegisterHost) -> Outcome | c.Rejection:
    (answer,) = world.step([command]).answers
    return answer


def refusal(world: World, **fields: Any) -> c.Rejection:
    """The refusal of a registration, which changed nothing."""
    lsn, before = world.state.lsn, world.state.hosts.get("n1")
    answer = answer_to(world, registration(**fields))
    assert isinstance(answer, c.Rejection)
    assert (world.state.lsn, world.state.hosts.get("n1")) == (lsn, before)
    return answer


def is_let_in(world: World, **fields: Any) -> bool:
    return isinstance(answer_to(world, registration(**fields)), Outcome)


# -- the journal's log ----------------------------------------------------------------------------


def anchored(world: World) -> dict[str, Any]:
    """What a host of the world has in its journal after it was told of the newest record."""
    head = world.writer.head
    return {
        "log_id": world.writer.log_id,
        "epoch": world.state.epoch,
        "anchor_lsn": head.lsn,
        "anchor_hash": head.hash.hex(),
    }


def test_a_journal_of_this_log_is_let_in_however_far_it_saw() -> None:
    world = lab(1)
    early = anchored(world)
    assert is_let_in(world, **early)
    world.submit(job())
    world.rest()
    assert is_let_in(world, **early)
    assert is_let_in(world, **anchored(world))
    world.change_leader()
    assert is_let_in(world, **early)


def test_an_agent_of_before_that_tells_nothing_is_let_in() -> None:
    assert is_let_in(lab(1))


def test_a_journal_of_another_log_is_refused_with_the_cure() -> None:
    world = lab(1)
    other = {**anchored(world), "log_id": "ab" * 16}
    answer = refusal(world, **other)
    own = world.writer.log_id
    assert own == world.store.rows[0].hash.hex()
    assert answer.code == "foreign_log"
    assert answer.message == f"the journal of host n1 is of log abababab, and this is log {own[:8]}"
    assert answer.hint == (
        "bring back the log that the host knows; or, once nothing of it runs on the host any "
        "more, move the folder hosts/n1 of the agent's home away and start the agent again"
    )


def test_a_log_that_is_an_older_copy_refuses_hosts_that_saw_more() -> None:
    world, copy = lab(1), lab(1)
    world.submit(job())
    world.rest()
    seen, head = anchored(world), copy.state.lsn
    assert seen["log_id"] == copy.writer.log_id
    answer = refusal(copy, **seen)
    assert answer.code == "log_behind"
    assert answer.message == (
        f"the journal of host n1 knows of record {seen['anchor_lsn']} and epoch 1, and this log "
        f"ends at record {head} in epoch 1: it is an older copy"
    )


def test_a_log_of_a_lower_epoch_refuses_though_the_host_saw_no_record_of_the_higher() -> None:
    world, copy = lab(1), lab(1)
    world.change_leader()
    answer = refusal(copy, **{**anchored(copy), "epoch": world.state.epoch})
    assert answer.code == "log_behind"
    assert "epoch 2, and this log ends at record" in answer.message


def test_two_copies_that_went_apart_are_told_by_the_hash_at_the_anchor() -> None:
    world, copy = lab(1), lab(1)
    world.submit(job())
    world.rest()
    copy.submit(job(name="other"))
    copy.rest()
    copy.submit(job(name="more"))
    copy.rest()
    seen = anchored(world)
    assert copy.state.lsn > seen["anchor_lsn"]
    answer = refusal(copy, **seen)
    there = copy.store.rows[seen["anchor_lsn"] - 1].hash.hex()
    assert answer.code == "other_history"
    assert answer.message == (
        f"the journal of host n1 knows record {seen['anchor_lsn']} by the hash "
        f"{seen['anchor_hash'][:8]}, and this log has {there[:8]} there: they went apart"
    )


def test_an_outcome_of_an_older_log_never_ends_a_job_of_this_one() -> None:
    world, fresh = lab(1), lab(1)
    world.submit(job())
    world.rest()
    fresh.submit(job(name="never ran"))
    fresh.agents["n1"].muted = True
    fresh.turn()
    # The host keeps its journal, with launch 1 exited, and comes to a log that began again.
    assert refusal(fresh, **anchored(world)).code == "log_behind"
    assert fresh.state.jobs[1].state != "DONE"


def test_an_anchor_below_what_was_deleted_is_not_compared() -> None:
    world = lab(1)
    early = {**anchored(world), "anchor_lsn": 2, "anchor_hash": "not this"}
    assert refusal(world, **early).code == "other_history"
    world.store.floor, world.store.floor_hash = 3, world.store.rows[2].hash
    del world.store.rows[:3]
    world.writer = type(world.writer)(
        world.state, MemoryLog(world.store, at_point=lambda name: None), None, world.cutter
    )
    assert world.writer.log_id == ""
    assert is_let_in(world, **early)


# -- clones ---------------------------------------------------------------------------------------

BORNE_US = SETTINGS.suspect_after_us


@pytest.fixture
def world() -> World:
    found = lab(1)
    found.boots_at_once = False
    found.scripts.default = lambda name, attempt: Life(run_us=None)
    found.submit(job())
    until_state(found, "job", 1, "RUNNING")
    return found


def test_another_boot_is_refused_while_the_present_one_is_heard(world: World) -> None:
    answer = refusal(world, boot_id="clone")
    assert answer.code == "cloned_identity"
    assert answer.message == (
        "host n1 is registered from another boot, which was heard 0 s ago: "
        "two agents go by this name"
    )
    assert world.state.launches[1].state == "RUNNING"


def test_another_boot_is_let_in_once_the_old_one_was_silent(world: World) -> None:
    world.mute("n1")
    began_us = world.now_us
    world.now_us = began_us + BORNE_US - SECOND_US
    assert refusal(world, boot_id="n1-boot-2").code == "cloned_identity"
    world.now_us = began_us + BORNE_US + SECOND_US
    assert is_let_in(world, boot_id="n1-boot-2")


def test_what_a_clone_says_does_not_keep_the_old_incarnation_alive(world: World) -> None:
    host = world.state.hosts["n1"]
    world.mute("n1")
    world.now_us += BORNE_US - SECOND_US
    assert world.hosts.hear("n1", world.now_us, host.incarnation + 7) is None
    world.now_us += 2 * SECOND_US
    assert is_let_in(world, boot_id="n1-boot-2")


def test_another_journal_of_the_same_boot_is_refused_too(world: World) -> None:
    assert is_let_in(world, agent="key1")
    answer = refusal(world, agent="key2")
    assert answer.message.startswith("host n1 is registered from another journal, which was heard")
    assert is_let_in(world, agent="key1")
    assert is_let_in(world, agent="")


def test_a_new_leader_does_not_let_a_clone_in_before_the_one_that_has_the_name(
    world: World,
) -> None:
    world.agents["n1"].muted = True
    world.change_leader()
    assert refusal(world, boot_id="clone").code == "cloned_identity"
    world.now_us += BORNE_US + SECOND_US
    assert is_let_in(world, boot_id="clone")


def test_a_machine_that_was_booted_with_its_controller_is_let_in_at_once(world: World) -> None:
    world.agents["n1"].muted = True
    world.change_leader()
    leading = next(one for one in reversed(world.records) if one.kind == "LeaderStarted")
    assert is_let_in(world, boot_id=leading.body.boot_id)


def test_a_removed_host_may_come_back_as_another_machine() -> None:
    world = lab(1)
    world.boots_at_once = False
    world.mute("n1")
    world.run_until(lambda: world.state.hosts["n1"].liveness == "DOWN")
    world.ask(c.HostEvent(actor=OPS, host="n1", event="remove"))
    assert is_let_in(world, boot_id="another")


# -- hearing --------------------------------------------------------------------------------------


def test_a_host_that_registers_was_heard(world: World) -> None:
    world.mute("n1")
    world.now_us += 3600 * SECOND_US
    assert [event.event for event in world.hosts.silent(world.now_us)] == ["miss"]
    assert world.hosts.silent(world.now_us, {"n1"}) == []
    lsn = world.state.lsn
    assert is_let_in(world)
    assert world.hosts.silent(world.now_us + SECOND_US) == []
    assert [record.kind for record in since(world, lsn)] == ["HostRegistered"]


def test_a_refused_host_is_told_to_people_until_it_is_let_in(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    answer = refusal(world, boot_id="clone")
    world.hosts.answered("n1", answer)
    assert world.hosts.refused == {"n1": f"{answer.message}; {answer.hint}"}
    assert caplog.messages == [f"host n1 is refused: {answer.message}; {answer.hint}"]
    world.hosts.answered("n1", None)
    assert world.hosts.refused == {}


def test_facts_are_looked_up_for_registrations_only() -> None:
    world = lab(1)
    submit = job()
    assert world.writer.with_facts(submit) is submit
    assert world.hosts.with_facts(submit, 5) is submit
    asked = registration(anchor_lsn=10**6, anchor_hash="x")
    assert world.writer.with_facts(asked) == structs.replace(
        asked, own_log=world.writer.log_id, anchor_at=c.BEYOND
    )

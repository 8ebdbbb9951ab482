"""Claims: released in order, failed with what they stand on, sound again once taken down."""

from typing import Any

from tests.core.lab import Life, Provision, lab, pair, since, states, until_state
from tests.kit.words import gang, gpus, job, machine, port, role, settings
from tests.kit.world import World
from xce.model.config import SECOND_US, RetryConfig, TypeConfig
from xce.model.group import FailureRule
from xce.model.records import Record

GPUS_WITH_A_PROVIDER = (TypeConfig(name="gpu", layer="instance", provider="static"),)


def moved(records: list[Record], kind: str) -> list[tuple[str, Any, str]]:
    """What followed within the first record of a kind."""
    record = next(record for record in records if record.kind == kind)
    return [(change.what, change.key, change.event) for change in record.body.then if change.event]


def long_pair(world: World, **rest: Any) -> None:
    world.scripts.default = lambda name, attempt: Life(run_us=60 * SECOND_US)
    world.submit_gang(pair(**rest))
    world.run_until(lambda: set(states(world, "job").values()) == {"RUNNING"})


def test_a_member_that_ended_gives_its_claims_up_while_its_gang_goes_on() -> None:
    world = lab()
    world.scripts.lives["1"] = Life(run_us=SECOND_US)
    long_pair(world)
    until_state(world, "job", 1, "FINISHED")
    assert states(world, "claim") == {1: "BOUND", 2: "RELEASED", 3: "BOUND"}
    assert len(world.state.index.holders) == 5
    world.rest()
    world.ledger.assert_whole()


def test_a_member_that_is_lost_gives_its_claims_up_while_its_gang_goes_on() -> None:
    world = lab()
    long_pair(world, rules=[FailureRule(action="tolerate")])
    other = next(one.host for one in world.state.launches.values() if one.job == 2)
    assert world.state.attachments[1].host != other
    world.agents[other].reboot()
    until_state(world, "job", 2, "FINISHED")
    assert states(world, "claim") == {1: "BOUND", 2: "BOUND", 3: "RELEASED"}
    world.rest()
    assert world.state.groups[1].state == "DONE"
    world.ledger.assert_whole()


def test_a_gang_of_one_that_cannot_prepare_gives_its_port_back_with_the_start() -> None:
    world = lab(1)
    world.scripts.lives["1"] = Life(prepare="fail", prepare_us=20_000)
    world.submit_gang(gang(role("only", 1), claims=(port(),), retries=RetryConfig(max=0)))
    lsn = world.state.lsn
    world.rest(30 * SECOND_US)
    assert ("claim", 1, "release") in moved(since(world, lsn), "StartFailed")
    assert states(world, "claim") == {1: "RELEASED"}
    world.ledger.assert_whole()


def test_a_plain_job_whose_helper_never_started_is_stopped_and_begins_again_whole() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=60 * SECOND_US)
    world.submit(job(2, "span[ptile=1]"))
    helper = next(one for one in world.state.launches.values() if not one.processes)
    world.run_until(lambda: world.state.starts[1].armed == 2)
    world.mute(helper.host)
    world.run_until(lambda: world.state.jobs[1].state == "RUNNING")
    world.agents[helper.host].reboot()
    world.unmute(helper.host)
    world.rest()
    first = world.state.launches[1 if helper.number == 2 else 2]
    assert (first.state, first.how, first.stop_reason) == ("EXITED", "signalled", "start_break")
    assert (world.state.jobs[1].state, world.state.jobs[1].attempt) == ("DONE", 2)
    world.ledger.assert_whole()


def test_a_failed_attachment_fails_its_claim_and_quarantines_what_it_holds() -> None:
    world = lab(1, config=settings(types=GPUS_WITH_A_PROVIDER))
    world.scripts.provisions["gpus"] = Provision(how="fail", release="hang")
    world.submit_gang(gang(role("only", 1, claims=(gpus(2),)), retries=RetryConfig(max=0)))
    lsn = world.state.lsn
    until_state(world, "group", 1, "EXITED")
    assert moved(since(world, lsn), "AttachmentReported") == [
        ("attachment", 1, "fail"),
        ("claim", 1, "fail"),
        ("instance", "n1/gpu/GPU-0", "quarantine"),
        ("instance", "n1/gpu/GPU-1", "quarantine"),
    ]
    world.run(60 * SECOND_US)
    assert [one.state for one in world.state.instances.values()] == [
        "QUARANTINED", "QUARANTINED", "PRESENT", "PRESENT",
    ]  # fmt: skip
    world.agents["n1"].attachments[1].phase = "ready"
    world.scripts.provisions["gpus"] = Provision()
    world.agents["n1"].restart()
    world.rest()
    assert {one.state for one in world.state.instances.values()} == {"PRESENT"}
    world.ledger.assert_whole()


def test_what_a_provider_took_down_unasked_is_lost_for_its_consumers() -> None:
    world = lab()
    long_pair(world)
    agent = world.agents[world.state.attachments[1].host]
    here = agent.attachments[1]
    here.phase = "released"
    lsn = world.state.lsn
    agent.tell_attachment(here, "released")
    world.rest()
    assert moved(since(world, lsn), "AttachmentReported")[:2] == [
        ("attachment", 1, "free"),
        ("claim", 1, "fail"),
    ]
    assert [world.exit_of(key).reason for key in (1, 2)] == ["claim_lost", "claim_lost"]
    world.ledger.assert_whole()


def test_a_reboot_fails_the_claims_that_stood_on_the_host() -> None:
    world = lab()
    long_pair(world)
    lsn = world.state.lsn
    world.agents[world.state.attachments[1].host].reboot()
    world.rest()
    assert moved(since(world, lsn), "AttachmentReported")[:2] == [
        ("attachment", 1, "lose"),
        ("claim", 1, "fail"),
    ]
    assert world.state.groups[1].state == "EXITED"
    world.ledger.assert_whole()


def test_a_reboot_ends_a_release_that_its_provider_never_finished() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(release="hang")
    world.submit_gang(pair())
    until_state(world, "group", 1, "DONE")
    world.run(10 * SECOND_US)
    assert world.state.claims[1].state == "RELEASING"
    world.agents[world.state.attachments[1].host].reboot()
    world.rest(30 * SECOND_US)
    assert world.state.claims[1].state == "RELEASED"
    world.ledger.assert_whole()


def test_a_gpu_that_is_missing_fails_the_claim_that_holds_it() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit_gang(gang(role("only", 1, claims=(gpus(4),))))
    until_state(world, "group", 1, "RUNNING")
    lsn = world.state.lsn
    world.agents["n1"].facts = machine(8, 3)
    world.agents["n1"].restart()
    world.rest(30 * SECOND_US)
    assert moved(since(world, lsn), "HostRegistered") == [
        ("host", "n1", "register"),
        ("instance", "n1/gpu/GPU-3", "miss"),
        ("claim", 1, "fail"),
        ("launch", 1, "stop"),
    ]
    world.ledger.assert_whole()

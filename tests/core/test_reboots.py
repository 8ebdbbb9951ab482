"""A host boots again: what its journal says wins, and what may have run is never run again."""

import pytest

from tests.core.lab import Life, Provision, kinds, lab, since, states, until_state
from tests.kit.words import gang, gpus, host_actor, job, role, settings
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.dispatch import protocol as p
from xce.model.config import SECOND_US, RetryConfig, TypeConfig
from xce.model.group import FailureRule


def let_go_unheard(keeps_journal: bool, life: Life, unheard: tuple[type, ...]) -> World:
    """A plain job runs, or ran, on n1, and nothing of `unheard` was told; n1 boots again."""
    world = lab(1)
    world.scripts.default = lambda name, attempt: life
    agent = world.agents["n1"]
    tell = agent.put

    def put(kind: type, **fields: object) -> None:
        if kind not in unheard:
            tell(kind, **fields)

    agent.put = put  # type: ignore[method-assign]
    world.submit(job())
    world.run(2 * SECOND_US)
    assert world.state.launches[1].go
    assert world.ledger.ran(1) == 1
    agent.put = tell  # type: ignore[method-assign]
    agent.reboot(keeps_journal=keeps_journal)
    return world


def test_a_job_that_may_have_run_is_lost_and_not_run_again() -> None:
    world = let_go_unheard(False, Life(run_us=None), (p.Started,))
    assert world.state.launches[1].state == "PREPARING"
    world.rest()
    assert (world.state.launches[1].state, world.state.launches[1].ran) == ("LOST", "unknown")
    assert (world.state.jobs[1].state, world.exit_of(1).reason) == ("EXITED", "host_lost")
    assert world.ledger.ran(1) == 1
    assert "StartFailed" not in kinds(world, "1")
    world.ledger.assert_whole()


def test_a_job_that_the_journal_says_had_started_is_lost_and_not_run_again() -> None:
    world = let_go_unheard(True, Life(run_us=None), (p.Started,))
    world.rest()
    assert (world.state.launches[1].state, world.state.launches[1].ran) == ("LOST", "yes")
    assert world.exit_of(1).reason == "host_lost"
    assert world.ledger.ran(1) == 1


@pytest.mark.parametrize("unheard", [(p.Ended,), (p.Started, p.Ended)])
def test_an_outcome_that_the_journal_holds_wins_over_the_reboot(unheard: tuple[type, ...]) -> None:
    world = let_go_unheard(True, Life(run_us=SECOND_US, code=0), unheard)
    world.rest()
    assert (world.state.launches[1].state, world.state.jobs[1].state) == ("EXITED", "DONE")
    assert world.ledger.ran(1) == 1


def test_what_was_ordered_and_never_arrived_is_lost_with_a_new_disk() -> None:
    world = lab(1)
    world.agents["n1"].muted = True
    world.submit(job())
    world.agents["n1"].muted = False
    world.agents["n1"].reboot(keeps_journal=False)
    world.rest()
    assert (world.state.launches[1].ran, world.exit_of(1).reason) == ("unknown", "host_lost")
    assert world.ledger.ran(1) == 0


def test_what_the_journal_says_never_started_is_run_again() -> None:
    world = lab(1)
    world.scripts.lives["1", 1] = Life(prepare="hang")
    world.submit(job())
    world.run(SECOND_US)
    world.agents["n1"].reboot(keeps_journal=True)
    world.rest()
    assert (world.state.launches[1].state, world.state.launches[1].ran) == ("ABORTED", "no")
    assert world.state.jobs[1].state == "DONE"
    assert world.ledger.ran(1) == 1


def test_a_gang_with_a_member_that_may_have_run_goes_by_its_rules() -> None:
    world = lab(2)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    rule = FailureRule(reasons=("host_lost",), action="restart_group")
    world.submit_gang(gang(role("worker", 2, claims=(gpus(4),)), rules=(rule,)))
    until_state(world, "group", 1, "RUNNING")
    world.scripts.default = lambda name, attempt: Life(run_us=SECOND_US)
    world.agents["n2"].reboot(keeps_journal=False)
    world.rest()
    assert kinds(world, "g1").count("GroupDecided") == 1
    assert world.state.groups[1].state == "DONE"


def test_a_registration_of_a_new_boot_concludes_nothing_by_itself() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    world.agents["n1"].muted = True
    lsn = world.state.lsn
    facts = world.agents["n1"].facts
    world.step([c.RegisterHost(actor=host_actor("n1"), host="n1", boot_id="b2", facts=facts)])
    assert [record.kind for record in since(world, lsn)] == ["HostRegistered"]
    assert world.state.launches[1].state == "RUNNING"
    # Not even by a third boot, or under another leader, is it forgotten that a boot is over.
    world.step([c.RegisterHost(actor=host_actor("n1"), host="n1", boot_id="b3", facts=facts)])
    world.change_leader()
    host = world.state.hosts["n1"]
    report = p.Reconciled(seq=1, question=host.question)
    taken = c.TakeReport(
        actor=host_actor("n1"), host="n1", incarnation=host.incarnation, report=report
    )
    world.step([taken])
    assert (world.state.launches[1].state, world.state.jobs[1].state) == ("LOST", "EXITED")


# -- quarantine -----------------------------------------------------------------------------------


@pytest.mark.parametrize("keeps_journal", [False, True])
def test_a_reboot_lets_go_what_a_provider_failed_on(keeps_journal: bool) -> None:
    types = (TypeConfig(name="gpu", layer="instance", kind="instance", provider="exec"),)
    world = lab(1, config=settings(types=types))
    world.scripts.provisions["gpus"] = Provision(how="fail", release="hang")
    world.submit_gang(gang(role("only", 1, claims=(gpus(2),)), retries=RetryConfig(max=0)))
    until_state(world, "group", 1, "EXITED")
    world.agents["n1"].restart()
    world.run(2 * SECOND_US)
    assert list(states(world, "instance").values()).count("QUARANTINED") == 2
    world.agents["n1"].reboot(keeps_journal=keeps_journal)
    world.run(2 * SECOND_US)
    assert set(states(world, "instance").values()) == {"PRESENT"}
    assert states(world, "attachment") == {1: "RELEASED"}

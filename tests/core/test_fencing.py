"""A fencing hook's yes is a proof: of the silence in which it was asked, and of nothing later."""

from tests.core.lab import Life, Provision, kinds, lab, since, until_state
from tests.kit.words import OPS, gang, gpus, job, port, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.model.actor import CONTROLLER
from xce.model.config import SECOND_US
from xce.model.group import FailureRule
from xce.model.records import HostChanged, LaunchEnded

SAID = '/opt/fence n1 exited with 0, said "off"'


def silent(world: World, name: str = "n1") -> c.HostFenced:
    """The host is DOWN; the yes about it."""
    world.mute(name)
    world.run_until(lambda: world.state.hosts[name].liveness == "DOWN")
    host = world.state.hosts[name]
    return c.HostFenced(
        actor=CONTROLLER, host=name, incarnation=host.incarnation, down_us=host.changed_us, why=SAID
    )


def busy() -> World:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    return world


def test_its_work_is_lost_and_the_record_names_the_evidence() -> None:
    world = busy()
    yes = silent(world)
    world.agents["n1"].reboot(keeps_journal=False)
    lsn = world.state.lsn
    world.step([yes])
    changed, ended = (record.body for record in since(world, lsn)[:2])
    assert isinstance(changed, HostChanged)
    assert (changed.event, changed.why) == ("fenced", SAID)
    assert isinstance(ended, LaunchEnded)
    assert (ended.evidence, ended.how, ended.cause_of_end) == ("fenced", "lost", "host_lost")
    assert world.exit_of(1).reason == "host_lost"
    assert "host:n1" in since(world, lsn)[0].entities
    world.ledger.assert_whole()


def test_it_counts_for_the_silence_it_was_asked_about_alone() -> None:
    world = busy()
    yes = silent(world)
    world.unmute("n1")
    world.run(2 * SECOND_US)
    lsn = world.state.lsn
    world.step([yes])
    assert since(world, lsn) == []
    silent(world)
    lsn = world.state.lsn
    world.step([yes])
    assert since(world, lsn) == []
    assert world.state.jobs[1].state == "RUNNING"


def test_only_the_controller_itself_may_say_so() -> None:
    world = busy()
    yes = silent(world)
    told = c.HostFenced(
        actor=OPS, host="n1", incarnation=yes.incarnation, down_us=yes.down_us, why=SAID
    )
    answer = world.ask(told)
    assert isinstance(answer, c.Rejection)
    assert answer.code == "not_allowed"


def test_a_gang_goes_by_its_rules_and_its_attachments_are_gone() -> None:
    world = lab(3)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.scripts.provisions["rendezvous"] = Provision()
    rule = FailureRule(reasons=("host_lost",), action="restart_group")
    world.submit_gang(gang(role("worker", 2, claims=(gpus(4),)), claims=(port(),), rules=(rule,)))
    until_state(world, "group", 1, "RUNNING")
    lost = world.state.attachments[1].host
    yes = silent(world, lost)
    world.scripts.default = lambda name, attempt: Life(run_us=SECOND_US)
    world.agents[lost].reboot(keeps_journal=False)
    world.agents[lost].muted = True
    assert isinstance(world.ask(yes), Outcome)
    world.run_until(lambda: world.state.groups[1].state == "DONE")
    assert kinds(world, "g1").count("GroupDecided") == 1
    assert world.state.attachments[1].state == "RELEASED"


def test_a_second_yes_says_nothing_new() -> None:
    world = busy()
    yes = silent(world)
    world.agents["n1"].reboot(keeps_journal=False)
    world.agents["n1"].muted = True
    world.step([yes])
    lsn = world.state.lsn
    world.step([yes])
    assert [r.kind for r in since(world, lsn)] in ([], ["HostChanged"])

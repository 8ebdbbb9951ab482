"""A host says that a process outlives SIGKILL: what it holds stays taken; the host is closed."""

from tests.core.lab import Life, lab, nothing_held, since, until_state
from tests.kit.words import OPS, gang, host_actor, job, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.dispatch import protocol as p
from xce.model.config import SECOND_US
from xce.model.records import ReportRefused

WHY = (
    "job 1 cannot be killed (process 77 is there 30 s after SIGKILL); what it was granted stays "
    "taken; open the host by hand (xce host open n1) once it is gone"
)


def stuck(world: World) -> None:
    """Job 1 was killed, and its process is still there."""
    world.scripts.default = lambda name, attempt: Life(run_us=None, kill_us=3600 * SECOND_US)
    world.submit(job(2))
    until_state(world, "job", 1, "RUNNING")
    world.ask(c.Kill(actor=OPS, job=1))
    tell(world)


def tell(world: World, launch: int = 1) -> None:
    world.agents["n1"].put(
        p.Unkillable, launch=launch, generation=world.state.launches[1].generation,
        message="process 77 is there 30 s after SIGKILL",
    )  # fmt: skip
    world.run(SECOND_US)


def test_the_host_is_closed_with_the_reason_and_nothing_is_given_back() -> None:
    world = lab(1)
    stuck(world)
    host = world.state.hosts["n1"]
    assert (host.admin, host.admin_why) == ("CLOSED", WHY)
    assert world.state.launches[1].state == "STOPPING"
    assert world.state.index.used["n1"]["slots"] == 2
    world.submit(job())
    world.run(SECOND_US)
    assert world.state.jobs[2].state == "PENDING"


def test_it_is_written_down_once_and_stays_through_restarts_and_leaders() -> None:
    world = lab(1)
    stuck(world)
    lsn = world.state.lsn
    tell(world)
    assert since(world, lsn) == []
    world.agents["n1"].restart()
    world.run(SECOND_US)
    world.change_leader()
    world.run(SECOND_US)
    host = world.state.hosts["n1"]
    assert (host.liveness, host.admin, host.admin_why) == ("UP", "CLOSED", WHY)


def test_once_it_is_gone_the_host_waits_for_a_person() -> None:
    world = lab(1)
    stuck(world)
    agent = world.agents["n1"]
    agent.killed(agent.launches[1], agent.boot)
    world.run(SECOND_US)
    assert world.state.jobs[1].state == "EXITED"
    assert nothing_held(world)
    assert world.state.hosts["n1"].admin == "CLOSED"
    assert isinstance(world.ask(c.HostEvent(actor=OPS, host="n1", event="open")), Outcome)
    assert world.state.hosts["n1"].admin_why == ""
    world.submit(job())
    until_state(world, "job", 2, "RUNNING")


def test_a_drained_host_gets_the_reason_as_well() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=None, kill_us=3600 * SECOND_US)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    world.ask(c.HostEvent(actor=OPS, host="n1", event="close", why="new disks"))
    world.agents["n1"].restart()
    world.run(SECOND_US)
    assert world.state.hosts["n1"].admin_why == "new disks"
    tell(world)
    assert world.state.hosts["n1"].admin_why == WHY


def test_a_member_is_named_by_its_role() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=None, kill_us=3600 * SECOND_US)
    world.submit_gang(gang(role("worker", 2)))
    until_state(world, "group", 1, "RUNNING")
    tell(world, 2)
    assert world.state.hosts["n1"].admin_why.startswith("worker[1] of g1 cannot be killed (")


def test_a_report_that_does_not_fit_is_refused_and_one_that_comes_late_is_nothing() -> None:
    world = lab(1)
    world.submit(job())
    until_state(world, "job", 1, "DONE")
    lsn = world.state.lsn
    tell(world)
    assert since(world, lsn) == []
    incarnation = world.state.hosts["n1"].incarnation
    report = p.Unkillable(seq=900, launch=99, generation=1)
    world.step(
        [c.TakeReport(actor=host_actor("n1"), host="n1", incarnation=incarnation, report=report)]
    )
    assert any(isinstance(record.body, ReportRefused) for record in since(world, lsn))

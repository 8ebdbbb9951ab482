"""Reports: repeated, late, crossed, of an old incarnation, and such as cannot be true."""

import pytest
from msgspec import structs

from tests.core.lab import Life, Provision, armed, kinds, lab, pair, since, states, until_state
from tests.kit.words import ANNA, gang, gpus, host_actor, job, machine, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.dispatch import protocol as p
from xce.model.config import SECOND_US
from xce.model.records import ReportRefused


def tell(world: World, host: str, report: p.Report, incarnation: int = 0) -> Outcome | c.Rejection:
    """Tell what fits: of the generation that the log granted."""
    launch = world.state.launches.get(getattr(report, "launch", 0))
    if launch is not None:
        report = structs.replace(report, generation=launch.generation)
    return told(world, host, report, incarnation)


def told(world: World, host: str, report: p.Report, incarnation: int = 0) -> Outcome | c.Rejection:
    """Tell it as it is."""
    number = incarnation or world.state.hosts[host].incarnation
    return world.ask(
        c.TakeReport(actor=host_actor(host), host=host, incarnation=number, report=report)
    )


def refusals(world: World) -> list[str]:
    return [r.body.why for r in world.records if isinstance(r.body, ReportRefused)]


def running(world: World) -> World:
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit(job())
    until_state(world, "job", 1, "RUNNING")
    return world


def test_what_was_said_before_changes_nothing() -> None:
    world = running(lab(1))
    lsn = world.state.lsn
    for report in (
        p.Armed(seq=1, launch=1, generation=1),
        p.Started(seq=2, launch=1, generation=1, at_us=5),
    ):
        answer = tell(world, "n1", report)
        assert isinstance(answer, Outcome)
        assert answer.body == {"taken": True}
    assert since(world, lsn) == []


@pytest.mark.parametrize("off", [-1, 1])
@pytest.mark.parametrize(
    "report",
    [
        p.Armed(seq=1, launch=1, generation=0),
        p.Started(seq=1, launch=1, generation=0, at_us=1),
        p.Probed(seq=1, launch=1, generation=0),
        p.Ended(seq=1, launch=1, generation=0, how="exited", code=0),
    ],
)
def test_a_report_of_another_generation_is_refused_and_changes_no_work(
    report: p.Report, off: int
) -> None:
    world = running(lab(1))
    granted = world.state.launches[1].generation
    planned = next(record for record in world.records if record.kind == "Planned")
    assert granted == planned.lsn
    told(world, "n1", structs.replace(report, generation=granted + off))
    assert refusals(world) == [
        f"launch 1 has generation {granted}, not {granted + off}: the report is of another history"
    ]
    assert world.state.hosts["n1"].admin == "CLOSED"
    assert (world.state.jobs[1].state, world.state.launches[1].state) == ("RUNNING", "RUNNING")


@pytest.mark.parametrize("outcome", ["ready", "failed", "released"])
def test_a_result_of_another_generation_says_nothing_of_an_attachment(outcome: str) -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit_gang(pair())
    until_state(world, "group", 1, "RUNNING")
    attachment = world.state.attachments[1]
    granted = world.state.claims[attachment.claim].generation
    report = p.AttachmentResult(seq=1, attachment=1, generation=granted - 1, outcome=outcome)
    told(world, attachment.host, report)
    (told_why,) = refusals(world)
    assert told_why.startswith(f"attachment 1 has generation {granted}, not {granted - 1}: ")
    assert world.state.attachments[1].state == "READY"
    assert world.state.groups[1].state == "RUNNING"


def test_an_end_that_is_told_twice_ends_once() -> None:
    world = running(lab(1))
    for seq in (1, 2):
        tell(world, "n1", p.Ended(seq=seq, launch=1, generation=1, how="exited", code=4))
    assert world.state.jobs[1].state == "EXITED"
    assert world.exit_of(1).code == 4
    assert kinds(world, "1").count("LaunchEnded") == 1


def test_an_end_that_overtakes_the_start_counts_and_the_start_comes_late() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(prepare="hang")
    world.submit(job())
    tell(world, "n1", p.Ended(seq=2, launch=1, generation=1, how="exited", started_us=3))
    assert world.state.jobs[1].state == "DONE"
    lsn = world.state.lsn
    tell(world, "n1", p.Started(seq=1, launch=1, generation=1, at_us=3))
    assert since(world, lsn) == []
    assert refusals(world) == []


def test_a_report_of_an_old_incarnation_is_not_taken() -> None:
    world = running(lab(1))
    old = world.state.hosts["n1"].incarnation
    world.agents["n1"].restart()
    world.run_until(lambda: world.state.hosts["n1"].incarnation != old)
    world.up()
    lsn = world.state.lsn
    report = p.Ended(seq=1, launch=1, generation=1, how="exited")
    answer = tell(world, "n1", report, old)
    assert isinstance(answer, Outcome)
    assert answer.body == {"taken": False, "register": True}
    assert since(world, lsn) == []
    assert world.state.jobs[1].state == "RUNNING"


def test_a_host_speaks_for_itself_only() -> None:
    world = running(lab())
    host = world.state.launches[1].host
    other = "n2" if host == "n1" else "n1"
    report = p.Ended(seq=1, launch=1, generation=1, how="exited")
    number = world.state.hosts[host].incarnation
    for actor in (host_actor(other), ANNA):
        command = c.TakeReport(actor=actor, host=host, incarnation=number, report=report)
        answer = world.ask(command)
        assert isinstance(answer, c.Rejection)
        assert answer.code == "not_allowed"
    assert world.state.jobs[1].state == "RUNNING"


MISFITS = (
    (
        p.Ended(seq=1, launch=1, generation=1, how="aborted", ran="no"),
        "event 'abort' in state RUNNING",
    ),
    (p.Ended(seq=1, launch=1, generation=1, how="vanished"), "the end 'vanished' is unknown"),
    (p.Armed(seq=1, launch=99, generation=1), "launch 99 was never planned"),
    (p.Probed(seq=1, launch=99, generation=1), "launch 99 was never planned"),
    (
        p.AttachmentResult(seq=1, attachment=5, generation=1, outcome="ready"),
        "attachment 5 was never planned",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("report", "why"), MISFITS)
def test_a_report_that_cannot_be_true_is_written_down_and_closes_its_host(
    report: p.Report, why: str
) -> None:
    world = running(lab(1))
    answer = tell(world, "n1", report)
    assert isinstance(answer, Outcome)
    assert answer.body == {"taken": True}
    assert len(refusals(world)) == 1
    assert why in refusals(world)[0]
    host = world.state.hosts["n1"]
    assert (host.liveness, host.admin) == ("UP", "CLOSED")
    assert world.state.jobs[1].state == "RUNNING"


def test_a_launch_of_another_host_closes_who_reports_it() -> None:
    world = running(lab())
    host = world.state.launches[1].host
    other = "n2" if host == "n1" else "n1"
    tell(world, other, p.Ended(seq=1, launch=1, generation=1, how="exited"))
    assert refusals(world) == [f"launch 1 is on {host}"]
    assert world.state.hosts[other].admin == "CLOSED"
    assert world.state.hosts[host].admin == "OPEN"


EARLY = (
    (p.Started(seq=1, launch=1, generation=1, at_us=1), "was started before its start passed"),
    (p.Probed(seq=1, launch=1, generation=1), "was ready before its start passed"),
    (p.Ended(seq=1, launch=1, generation=1, how="exited"), "ran before its start passed"),
    (
        p.Ended(seq=1, launch=1, generation=1, how="signalled", code=9, ran="unknown"),
        "ran before its start passed",
    ),
)


@pytest.mark.parametrize(("report", "why"), EARLY)
@pytest.mark.parametrize("killed", [False, True])
def test_processes_that_ran_before_the_pass_are_a_misfit(
    report: p.Report, why: str, killed: bool
) -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(how="hang")
    world.submit_gang(pair())
    world.run_until(lambda: armed(world))
    if killed:
        world.step([c.Kill(actor=ANNA, group=1)])
        assert world.state.launches[1].state == "STOPPING"
    tell(world, "n1", report)
    assert len(refusals(world)) == 1
    assert why in refusals(world)[0]
    assert world.state.hosts["n1"].admin == "CLOSED"


def test_readiness_that_overtakes_the_start_is_not_lost() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(prepare="hang")
    world.submit(job())
    tell(world, "n1", p.Probed(seq=2, launch=1, generation=1))
    assert world.state.launches[1].probed
    tell(world, "n1", p.Started(seq=1, launch=1, generation=1, at_us=7))
    assert world.state.jobs[1].state == "RUNNING"
    assert refusals(world) == []


# -- lists ----------------------------------------------------------------------------------------


def test_a_list_that_is_told_again_proves_nothing_of_what_came_after_it() -> None:
    world = lab(1)
    running(world)
    world.mute("n1")
    world.run_until(lambda: world.state.hosts["n1"].liveness == "SUSPECT")
    for question in (0, 3, world.state.hosts["n1"].question):
        tell(world, "n1", p.Reconciled(seq=1, question=question))
        assert world.state.hosts["n1"].liveness == "SUSPECT"
    assert world.state.launches[1].state == "RUNNING"
    world.unmute("n1")
    world.up()
    assert world.state.launches[1].state == "RUNNING"


def test_an_answer_counts_once_and_only_for_its_own_question() -> None:
    world = running(lab(1))
    world.mute("n1")
    world.run_until(lambda: world.state.hosts["n1"].liveness == "DOWN")
    world.ask(c.HostEvent(actor=host_actor("n1"), host="n1", event="hear"))
    assert world.state.hosts["n1"].liveness == "DOWN"
    world.line.hear("n1")
    world.turn()
    host = world.state.hosts["n1"]
    assert (host.liveness, host.question) == ("JOINING", world.state.lsn)
    tell(world, "n1", p.Reconciled(seq=1, question=0))
    tell(world, "n1", p.Reconciled(seq=1, question=host.question - 1))
    assert world.state.hosts["n1"].liveness == "JOINING"
    generation = world.state.launches[1].generation
    found = (p.LaunchFound(launch=1, generation=generation, state="running"),)
    tell(world, "n1", p.Reconciled(seq=1, question=host.question, launches=found))
    assert (world.state.hosts["n1"].liveness, world.state.hosts["n1"].question) == ("UP", 0)
    assert world.state.launches[1].state == "RUNNING"


def test_a_launch_of_another_history_is_not_the_one_that_is_listed() -> None:
    world = running(lab(1))
    world.agents["n1"].launches[1].generation -= 1
    world.change_leader()
    world.run_until(lambda: world.state.jobs[1].state == "EXITED")
    assert (world.exit_of(1).reason, world.state.launches[1].state) == ("host_lost", "LOST")


def test_what_ran_and_is_not_listed_is_lost() -> None:
    world = running(lab(1))
    world.agents["n1"].launches.clear()
    world.change_leader()
    world.run_until(lambda: world.state.jobs[1].state == "EXITED")
    assert world.exit_of(1).reason == "host_lost"
    assert (world.state.launches[1].state, world.state.launches[1].ran) == ("LOST", "yes")


def test_what_was_only_ordered_and_is_not_listed_is_ordered_again() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=SECOND_US)
    world.step([job()])
    world.agents["n1"].muted = True
    world.turn()
    assert world.state.launches[1].state == "PREPARING"
    world.agents["n1"].muted = False
    world.change_leader()
    world.rest()
    assert world.state.jobs[1].state == "DONE"
    assert world.ledger.ran(1) == 1


# -- inventories ----------------------------------------------------------------------------------


def test_a_host_that_comes_back_with_fewer_gpus_loses_what_held_them() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.submit_gang(gang(role("only", 1, claims=(gpus(4),))))
    until_state(world, "group", 1, "RUNNING")
    world.agents["n1"].facts = machine(8, 3)
    world.agents["n1"].restart()
    world.rest(30 * SECOND_US)
    assert states(world, "instance") == {
        "n1/gpu/GPU-0": "PRESENT",
        "n1/gpu/GPU-1": "PRESENT",
        "n1/gpu/GPU-2": "PRESENT",
        "n1/gpu/GPU-3": "LOST",
    }
    assert world.exit_of(1).reason == "claim_lost"
    assert world.state.groups[1].state == "EXITED"
    world.ledger.assert_whole()


def test_gpus_that_nobody_held_are_gone_and_come_back() -> None:
    world = lab(1, gpu_count=2)
    world.agents["n1"].facts = machine(8, 1)
    world.agents["n1"].restart()
    world.run(SECOND_US)
    assert states(world, "instance") == {"n1/gpu/GPU-0": "PRESENT", "n1/gpu/GPU-1": "GONE"}
    world.agents["n1"].facts = machine(8, 2)
    world.agents["n1"].restart()
    world.run(SECOND_US)
    assert states(world, "instance") == {"n1/gpu/GPU-0": "PRESENT", "n1/gpu/GPU-1": "PRESENT"}
    assert [one.number for one in world.state.instances.values()] == [0, 1]


def test_a_host_that_comes_back_smaller_finishes_its_work() -> None:
    world = running(lab(1))
    world.agents["n1"].facts = machine(0)
    world.agents["n1"].restart()
    world.run(2 * SECOND_US)
    assert world.state.hosts["n1"].liveness == "UP"
    assert world.state.jobs[1].state == "RUNNING"
    world.submit(job())
    world.run(SECOND_US)
    assert world.state.jobs[2].state == "PENDING"


def test_a_plan_made_before_a_host_registered_anew_is_stale() -> None:
    world = lab(1, slots=8)
    world.step([job()])
    work = world.sessions.begin(world.now_us)
    while not world.sessions.advance(work):
        pass
    # No session runs meanwhile: the machine behind the name is exchanged.
    facts = machine(8, domains={"block": "elsewhere"})
    register = c.RegisterHost(actor=host_actor("n1"), host="n1", boot_id="n1-boot-1", facts=facts)
    world.step([register])
    number = world.state.hosts["n1"].incarnation
    report = p.Reconciled(seq=1)
    world.step([c.TakeReport(actor=host_actor("n1"), host="n1", incarnation=number, report=report)])
    assert world.state.hosts["n1"].liveness == "UP"
    (slice_,) = world.sessions.slices(work)
    world.sessions.committed(work, world.step([slice_]))
    assert (work.planned, work.stale) == (0, 1)

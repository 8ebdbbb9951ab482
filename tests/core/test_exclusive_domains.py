"""A gang with an exclusive domain: nobody else starts there while it runs."""

from tests.core.lab import MINUTE_US, Life, until_state
from tests.kit.words import gang, job, machine, role, settings
from tests.kit.world import World
from xce.model.config import SECOND_US
from xce.model.job import Topology


def racks() -> World:
    """n1 and n2 in rack r1, n3 in rack r2; four slots each."""
    where = {"n1": "r1", "n2": "r1", "n3": "r2"}
    hosts = {name: machine(4, domains={"rack": rack}) for name, rack in where.items()}
    world = World(hosts, config=settings(levels=("host", "rack")))
    world.up()
    return world


def test_others_wait_outside_the_domain_until_the_gang_has_ended() -> None:
    world = racks()
    alone = Topology(required="rack", exclusive=True)
    world.scripts.default = lambda job, attempt: Life(run_us=30 * SECOND_US)
    worker = role("worker", 5, topology=alone)
    group = world.submit_gang(gang(worker))
    until_state(world, "group", group, "RUNNING")
    members = [one for one in world.state.jobs.values() if one.group == group]
    used = {s.host for one in members for s in world.state.allocations[one.allocation].shares}
    assert used == {"n1", "n2"}
    wide = world.submit(job(4, "span[hosts=1]"))
    late = world.submit(job(4, "span[hosts=1]"))
    until_state(world, "job", wide, "RUNNING")
    (share,) = world.state.allocations[world.state.jobs[wide].allocation].shares
    assert share.host == "n3"
    assert world.state.jobs[late].state == "PENDING"
    until_state(world, "group", group, "DONE")
    world.run(MINUTE_US)
    assert world.state.jobs[late].start > 0


def test_where_no_host_says_its_domain_nobody_has_one_for_himself() -> None:
    """Neither a requirement nor a topology ends a session: both wait with a reason."""
    world = World({"n1": machine(4)}, config=settings(levels=("host", "rack")))
    world.up()
    world.submit(job(1, "cu[type=rack:excl]"))
    alone = Topology(required="rack", exclusive=True)
    world.submit_gang(gang(role("worker", 2, topology=alone)))
    world.run(SECOND_US)
    assert {one.state for one in world.state.jobs.values()} == {"PENDING"}
    assert world.sessions.reason_for("1") is not None
    assert world.sessions.reason_for("g1") is not None

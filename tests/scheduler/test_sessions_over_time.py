"""The real core on a virtual clock: what time and company do to what waits."""

from msgspec import structs

from tests.core.lab import Life
from tests.kit.words import SETTINGS, job, machine
from tests.kit.world import World
from xce.controller.core.orders.environment import launch_environment
from xce.model.config import SECOND_US
from xce.model.host import CpuFacts, HostFacts

MINUTE_US = 60 * SECOND_US
RACKED = structs.replace(SETTINGS, levels=("host", "rack"))


def world_of(**hosts: HostFacts) -> World:
    world = World(hosts, config=RACKED)
    world.up()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    return world


def waits(world: World, key: int) -> bool:
    return world.state.jobs[key].state == "PENDING"


def test_a_reservation_that_ends_lets_the_next_job_in_without_any_other_event() -> None:
    world = world_of(n1=machine())
    first = world.submit(job(resreq="rusage[scratch=80GB:duration=5]"))
    world.run(SECOND_US)
    second = world.submit(job(resreq="rusage[scratch=80GB]"))
    world.run(4 * MINUTE_US)
    assert (waits(world, first), waits(world, second)) == (False, True)
    world.run(2 * MINUTE_US)
    assert not waits(world, second)


def test_a_reservation_that_decays_lets_the_next_job_in_as_soon_as_there_is_room() -> None:
    world = world_of(n1=machine())
    world.submit(job(resreq="rusage[scratch=80GB:duration=8:decay=1]"))
    world.run(SECOND_US)
    second = world.submit(job(resreq="rusage[scratch=60GB]"))
    world.run(3 * MINUTE_US + 30 * SECOND_US)
    assert waits(world, second)
    world.run(MINUTE_US)
    assert not waits(world, second)


def test_a_new_leader_knows_when_a_reservation_ends() -> None:
    world = world_of(n1=machine())
    world.submit(job(resreq="rusage[scratch=80GB:duration=5]"))
    world.run(SECOND_US)
    second = world.submit(job(resreq="rusage[scratch=80GB]"))
    world.run(MINUTE_US)
    world.change_leader()
    world.run(5 * MINUTE_US)
    assert not waits(world, second)


def test_an_alternative_is_tried_once_its_delay_is_over() -> None:
    world = world_of(n1=machine(slots=2))
    world.submit(job(tasks=2))
    world.run(SECOND_US)
    asked = "{rusage[slots=2]} || {select[maxslots==2] rusage[slots=1]}@30s"
    world.submit(job(resreq="rusage[slots=2]"))
    third = world.submit(job(resreq=asked.replace("[slots=1]", "[scratch=1]")))
    world.run(60 * SECOND_US)
    assert waits(world, third)
    other = world_of(n1=machine(slots=2))
    other.submit(job(tasks=1))
    other.run(SECOND_US)
    fourth = other.submit(job(resreq=asked))
    other.run(25 * SECOND_US)
    assert waits(other, fourth)
    other.run(10 * SECOND_US)
    assert not waits(other, fourth)
    allocation = other.state.allocations[other.state.jobs[fourth].allocation]
    assert allocation.alternative == 1
    launch = other.state.launches[other.state.jobs[fourth].launches[0]]
    served = launch_environment(other.state, launch)["LSB_EFFECTIVE_RSRCREQ"]
    assert served == "select[maxslots==2] rusage[slots=1]"


def test_a_unit_that_a_job_has_for_itself_takes_nobody_until_the_job_ends() -> None:
    world = world_of(
        n1=machine(domains={"rack": "r1"}),
        n2=machine(domains={"rack": "r1"}),
        n3=machine(slots=1, domains={"rack": "r2"}),
    )
    alone = world.submit(job(resreq="cu[type=rack:excl:pref=maxavail]"))
    world.run(SECOND_US)
    assert world.state.allocations[world.state.jobs[alone].allocation].shares[0].host == "n1"
    beside = world.submit(job())
    after = world.submit(job())
    world.run(SECOND_US)
    assert world.state.allocations[world.state.jobs[beside].allocation].shares[0].host == "n3"
    assert waits(world, after)
    world.scripts.lives[str(alone)] = Life(run_us=0)


def test_a_compound_requirement_gives_the_number_of_tasks() -> None:
    world = world_of(n1=machine())
    first = world.submit(job(resreq="1*{rusage[scratch=1GB]} + 2*{rusage[scratch=2GB]}"))
    world.run(SECOND_US)
    share = world.state.allocations[world.state.jobs[first].allocation].shares[0]
    assert share.tasks == 3
    assert dict(share.counters) == {"scratch": 5 << 30, "slots": 3}


def test_terms_and_tasks_that_disagree_are_refused() -> None:
    world = world_of(n1=machine())
    answer = world.ask(job(tasks=5, resreq="1*{rusage[scratch=1]} + 2*{rusage[scratch=2]}"))
    assert "causes slot requirements conflict" in answer.message  # type: ignore[union-attr]
    answer = world.ask(job(tasks=5, resreq="span[block=2]"))
    assert "not a multiple of the block size" in answer.message  # type: ignore[union-attr]


def test_processors_are_held_told_and_given_back() -> None:
    cpus = tuple(CpuFacts(number=n, core=n % 2, socket=n // 2, numa=n // 2) for n in range(4))
    world = world_of(n1=structs.replace(machine(), cpus=cpus))
    first = world.submit(job(tasks=2, resreq="affinity[core:membind=localonly]"))
    second = world.submit(job(resreq="affinity[core(2)]"))
    third = world.submit(job(resreq="affinity[core]"))
    world.run(SECOND_US)
    assert [waits(world, key) for key in (first, second, third)] == [False, False, True]
    launch = world.state.launches[world.state.jobs[first].launches[0]]
    env = launch_environment(world.state, launch)
    assert env["LSB_BIND_CPU_LIST"] == "0,1"
    assert env["LSB_BIND_MEM_LIST"] == "0"
    assert env["LSB_BIND_MEM_POLICY"] == "localonly"
    assert env["XCE_AFFINITY_HOSTS"] == "n1 0 0 localonly\nn1 1 0 localonly"
    assert env["XCE_RANKFILE"] == "rank 0=n1 slot=0\nrank 1=n1 slot=1"

"""Orders from the state, and the environment that processes find."""

from msgspec import structs

from tests.core.lab import Life, Provision, armed, lab, pair, until_state
from tests.kit.words import ANNA, gang, gpus, job, machine, port, role
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.orders.environment import (
    WIDE_LINES_MAX,
    go_environment,
    launch_environment,
)
from xce.controller.core.orders.hostfiles import host_files
from xce.controller.core.orders.wanted import order_of_attachment, order_of_launch
from xce.dispatch.protocol import GONE, PREPARED, READY, RUNNING
from xce.model.config import SECOND_US
from xce.model.host import CpuFacts, HostFacts, InstanceFacts
from xce.model.placing import Binding, Share


def test_a_launch_is_wanted_prepared_then_running_then_gone() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(after_us=5 * SECOND_US)
    world.scripts.default = lambda name, attempt: Life(run_us=20 * SECOND_US)
    world.submit_gang(pair())
    order = order_of_launch(world.state, 1)
    assert (order.target, order.job, order.attempt) == (PREPARED, 1, 1)
    assert order.task is not None
    assert order.go_env == {}
    assert order_of_attachment(world.state, 1).target == READY
    until_state(world, "start", 1, "PASSED")
    order = order_of_launch(world.state, 1)
    assert order.target == RUNNING
    assert order.task is None
    value = world.state.attachments[1].value
    assert order.go_env["XCE_RENDEZVOUS"] == value == "127.0.0.1:20002"
    assert (order.go_env["MASTER_ADDR"], order.go_env["MASTER_PORT"]) == ("127.0.0.1", "20002")
    assert order.go_env["XCE_CLAIM_RENDEZVOUS_ID"] == "c1"
    world.rest()
    assert order_of_launch(world.state, 1).target == GONE
    assert order_of_attachment(world.state, 1).target == GONE


def test_what_the_log_does_not_know_is_wanted_gone() -> None:
    world = lab(1)
    assert order_of_launch(world.state, 77).target == GONE
    assert order_of_attachment(world.state, 77).target == GONE


def test_a_launch_that_stops_is_told_why() -> None:
    world = lab()
    world.scripts.provisions["rendezvous"] = Provision(how="hang")
    world.submit_gang(pair())
    world.run_until(lambda: armed(world))
    world.step([c.Kill(actor=ANNA, group=1)])
    order = order_of_launch(world.state, 1)
    assert (order.target, order.stop_reason) == (GONE, "job_kill")


def test_the_short_way_is_one_order_with_its_task() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(prepare="hang")
    world.submit(job())
    order = order_of_launch(world.state, 1)
    assert order.target == RUNNING
    assert order.task is not None
    assert order.task.command == ("work",)


def test_processes_find_who_and_where_they_are() -> None:
    world = lab(2, slots=8)
    world.scripts.provisions["rendezvous"] = Provision(how="hang")
    world.submit_gang(
        gang(
            role("launcher", 1),
            role("worker", 2, tasks=2, run="task", claims=(gpus(2),)),
            claims=(port(),),
        )
    )
    task = order_of_launch(world.state, 3).task
    assert task is not None
    assert (task.processes, task.first_rank) == (2, 3)
    env = task.env
    assert {name: env[name] for name in sorted(env) if name.startswith("XCE_")} == {
        "XCE_ATTEMPT": "1",
        "XCE_GROUP": "g1",
        "XCE_HOST": world.state.launches[3].host,
        "XCE_JOB": "3",
        "XCE_MEMBER_COUNT": "2",
        "XCE_MEMBER_RANK": "1",
        "XCE_MEMBER_ROLE": "worker",
        "XCE_WORLD_SIZE": "5",
    }
    assert env["LSB_JOBID"] == "3"
    assert env["LSB_DJOB_NUMPROC"] == "2"
    names = [world.state.instances[one.instance].name for one in world.state.claims[3].holdings]
    assert env["CUDA_VISIBLE_DEVICES"] == ",".join(sorted(names))


def test_devices_are_named_by_their_uuid_whatever_their_host_calls_them() -> None:
    gpu = [
        InstanceFacts(type="gpu", name=str(index), attributes=(("uuid", f"GPU-u{index}"),))
        for index in range(2)
    ]
    world = World({"n1": structs.replace(machine(8), instances=tuple(gpu))})
    world.up()
    world.submit_gang(gang(role("only", 1, claims=(gpus(2),))))
    world.run_until(lambda: 1 in world.state.launches)
    launch = world.state.launches[1]
    assert launch_environment(world.state, launch)["CUDA_VISIBLE_DEVICES"] == "GPU-u0,GPU-u1"
    assert go_environment(world.state, launch)["XCE_CLAIM_GPUS_VALUE"] == "GPU-u0,GPU-u1"


def test_a_parallel_job_names_its_hosts_and_runs_on_the_first() -> None:
    world = lab()
    world.scripts.default = lambda name, attempt: Life(prepare="hang")
    world.submit(job(4, "span[ptile=2]"))
    orders = [order_of_launch(world.state, number) for number in (1, 2)]
    tasks = [order.task for order in orders]
    assert [task.processes for task in tasks if task] == [1, 0]
    env = tasks[0].env if tasks[0] else {}
    hosts = [world.state.launches[number].host for number in (1, 2)]
    assert env["LSB_HOSTS"] == f"{hosts[0]} {hosts[0]} {hosts[1]} {hosts[1]}"
    assert env["LSB_MCPU_HOSTS"] == f"{hosts[0]} 2 {hosts[1]} 2"


def test_files_name_each_task_of_unlike_hosts_and_its_processors() -> None:
    shares = (
        Share(
            host="n2",
            tasks=2,
            bindings=(
                Binding(cpus=(3, 1), nodes=(1, 0), memory="localonly"),
                Binding(cpus=(4,), nodes=(1,), memory="localonly"),
            ),
        ),
        Share(host="n1", tasks=1, bindings=(Binding(cpus=(0, 2)),)),
    )
    assert host_files(shares) == {
        "LSB_DJOB_HOSTFILE": "n2\nn2\nn1\n",
        "LSB_DJOB_RANKFILE": "n2\nn2\nn1\n",
        "LSB_AFFINITY_HOSTFILE": "n2 1,3 0,1 localonly\nn2 4 1 localonly\nn1 0,2\n",
    }
    unbound = tuple(structs.replace(share, bindings=()) for share in shares)
    assert sorted(host_files(unbound)) == ["LSB_DJOB_HOSTFILE", "LSB_DJOB_RANKFILE"]


def test_a_launch_with_processes_gets_the_files_of_the_whole_job() -> None:
    def bound(count: int) -> HostFacts:
        cpus = tuple(CpuFacts(number=n, core=n, socket=0, numa=0) for n in range(count))
        return structs.replace(machine(count), cpus=cpus)

    world = World({"n1": bound(1), "n2": bound(3)})
    world.up()
    world.scripts.default = lambda name, attempt: Life(prepare="hang")
    world.submit(job(4, "affinity[core]"))
    tasks = [order_of_launch(world.state, number).task for number in (1, 2)]
    assert [world.state.launches[number].host for number in (1, 2)] == ["n2", "n1"]
    assert [task.processes for task in tasks if task] == [1, 0]
    assert [task.files for task in tasks if task] == [
        {
            "LSB_DJOB_HOSTFILE": "n2\nn2\nn2\nn1\n",
            "LSB_DJOB_RANKFILE": "n2\nn2\nn2\nn1\n",
            "LSB_AFFINITY_HOSTFILE": "n2 0\nn2 1\nn2 2\nn1 0\n",
        },
        {},
    ]


def test_lines_that_no_environment_carries_are_in_the_files_alone() -> None:
    world = lab(1)
    world.scripts.default = lambda name, attempt: Life(prepare="hang")
    world.submit(job())
    state = world.state
    bindings = tuple(Binding(cpus=(number,)) for number in range(6000))
    share = Share(host="n1", tasks=6000, bindings=bindings)
    state.allocations[1] = structs.replace(state.allocations[1], shares=(share,))
    task = order_of_launch(state, 1).task
    assert task is not None
    lines = task.files["LSB_AFFINITY_HOSTFILE"].splitlines()
    assert (len(lines), lines[0], lines[-1]) == (6000, "n1 0", "n1 5999")
    assert task.files["LSB_DJOB_HOSTFILE"] == "n1\n" * 6000
    assert "LSB_HOSTS" not in task.env
    assert "XCE_RANKFILE" not in task.env
    assert max(map(len, task.env.values())) <= WIDE_LINES_MAX

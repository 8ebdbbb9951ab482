"""One kill run: a fresh home, work from several clients, one death at a named point, a verdict."""

import random
import shutil
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from tests.kill.client import Acks, Submitter, get
from tests.kill.judge import Asked, Finding, judge
from tests.kill.processes import Cluster, await_true
from tests.kill.work import Piece, mixed
from tests.kit.postgres import PostgresServer, find_binaries
from xce.ops.agents import kill_process

CLIENTS = 4
BOUND_S = 120.0
FREE_S = 40.0


class Plan(Struct, frozen=True, kw_only=True):
    """What is done in a run. `crash_after` > 0: the PostgreSQL server is stopped hard when that
    many processes have run. `storm` > 0: so many deaths of any part at any time, and no point.
    `clean` is how long ended work stays in the state; `mutant` what is planted."""

    part: str
    point: str
    arrival: int
    seed: str
    database: str = "sqlite"
    crash_after: int = 0
    host: str = "n1"
    jobs: int = 50
    bound_s: float = BOUND_S
    mutant: str = ""
    storm: int = 0
    clean: str = "1h"

    @property
    def is_spared(self) -> bool:
        """Whether no user's process dies by the deaths of this run."""
        return self.part in ("controller", "agent")


class Result(Struct, kw_only=True):
    """What became of it."""

    plan: Plan
    hit: bool
    arrivals: int
    seconds: float
    finding: Finding
    deaths: int = 0
    asked: int = 0
    folder: str = ""


def run_one(plan: Plan, *, keep: bool = False) -> Result:
    """Run it; the folder stays when something was wrong and `keep` asks for it."""
    began_s = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="xce-kill-"))
    with ExitStack() as stack:
        server = _server(plan, stack)
        database = server.url("kill") if server is not None else "sqlite"
        policies = f'clean_period = "{plan.clean}"'
        cluster = Cluster(folder, database=database, mutant=plan.mutant, policies=policies)
        if plan.point:
            cluster.arm(plan.part, plan.point, plan.arrival, plan.host)
        stack.callback(cluster.kill_all)
        result = _run(plan, cluster, server, began_s)
        result.seconds = time.monotonic() - began_s
    if result.finding.faults and keep:
        result.folder = str(folder)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def _server(plan: Plan, stack: ExitStack) -> PostgresServer | None:
    if plan.database != "postgresql":
        return None
    binaries = find_binaries()
    if binaries is None:
        raise RuntimeError("there are no PostgreSQL binaries")
    server = PostgresServer(binaries)
    stack.callback(server.remove)
    server.start()
    server.execute("CREATE DATABASE kill")
    return server


def _run(plan: Plan, cluster: Cluster, server: PostgresServer | None, began_s: float) -> Result:
    marks = cluster.folder / "marks"
    marks.touch(mode=0o666)
    pieces, acks = mixed(plan.seed, str(marks), plan.jobs), Acks()
    faults: list[str] = []
    try:
        cluster.start()
        cluster.await_hosts()
        clients = _submit(plan, cluster, pieces, acks)
        _storm(plan, cluster)
        _crash_server(plan, cluster, server)
        _await_clients(plan, clients, pieces, acks)
        _await_rest(plan, cluster)
    except AssertionError as error:
        faults.append(f"{error}; {_where(cluster)}")
    faults += _unwanted_ends(plan, cluster)
    faults += cluster.stop(may_break=plan.crash_after > 0)
    faults += [f"process {pid} is left behind" for pid in cluster.left_behind()]
    asked = Asked(pieces=pieces, acks=acks, spared=plan.is_spared)
    finding = judge(cluster.home, cluster.database, marks, asked)
    finding.faults[:0] = faults
    deaths = [
        code for part in (cluster.controller, *cluster.agents.values()) for code in part.codes
    ]
    arrivals = cluster.arrivals(plan.point) if plan.point else 0
    return Result(
        plan=plan,
        hit=plan.storm > 0 or arrivals >= plan.arrival,
        arrivals=arrivals,
        seconds=time.monotonic() - began_s,
        finding=finding,
        deaths=len(deaths),
        asked=acks.asked,
    )


def _submit(plan: Plan, cluster: Cluster, pieces: list[Piece], acks: Acks) -> list[Submitter]:
    end_s = time.monotonic() + plan.bound_s
    clients = [
        Submitter(cluster.home, pieces[number::CLIENTS], acks, f"{plan.seed}/{number}", end_s)
        for number in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    return clients


def _await_clients(plan: Plan, clients: list[Submitter], pieces: list[Piece], acks: Acks) -> None:
    """Until every client has all its answers."""
    end_s = time.monotonic() + plan.bound_s
    for client in clients:
        client.join(max(0.1, end_s - time.monotonic()))
    left = len(pieces) - len(acks.ids)
    assert not left, f"{left} submissions were not answered: {acks.faults[:3]}"


def _storm(plan: Plan, cluster: Cluster) -> None:
    """Deaths of parts drawn by the seed, at moments drawn by it."""
    draw = random.Random(f"{plan.seed}/storm")
    for _ in range(plan.storm):
        time.sleep(draw.uniform(0.05, 1.2))
        host = draw.choice(cluster.names)
        kind = draw.choice(("controller", "agent", "supervisor", "host", "reboot"))
        if kind == "controller":
            cluster.controller.kill()
        if kind == "reboot":
            cluster.reboot(host)
        if kind in ("agent", "host"):
            cluster.agents[host].kill()
        if kind in ("supervisor", "host") and (holder := cluster.supervisor(host)):
            kill_process(holder)


def _crash_server(plan: Plan, cluster: Cluster, server: PostgresServer | None) -> None:
    """Stop the server hard in the middle of the work, and start it again."""
    if server is None or not plan.crash_after:
        return
    marks = cluster.folder / "marks"
    await_true(
        lambda: marks.read_bytes().count(b"\n") >= plan.crash_after, plan.bound_s, "nothing got on"
    )
    server.crash()
    server.start()


def _await_rest(plan: Plan, cluster: Cluster) -> None:
    await_true(lambda: _all_over(cluster), plan.bound_s, "the work did not come to its end")
    await_true(lambda: _all_free(cluster), FREE_S, "not everything was given back")


def _all_over(cluster: Cluster) -> bool:
    jobs = get(cluster.home, "/v1/jobs?limit=1")
    groups = get(cluster.home, "/v1/groups?limit=1")
    return bool(jobs and groups) and jobs["total"] == 0 and groups["total"] == 0


def _all_free(cluster: Cluster) -> bool:
    claims = get(cluster.home, "/v1/claims?limit=1")
    hosts = get(cluster.home, "/v1/hosts")
    if not claims or not hosts or claims["total"]:
        return False
    counters = [one for host in hosts["items"] for one in host["counters"].values()]
    return not any(one["used"] for one in counters) and not any(
        host["jobs"] or host["instances_held"] for host in hosts["items"]
    )


def _where(cluster: Cluster) -> str:
    """What is not over, for the reader of a fault."""
    jobs = get(cluster.home, "/v1/jobs?limit=5")
    groups = get(cluster.home, "/v1/groups?limit=5")
    hosts = get(cluster.home, "/v1/hosts")
    lives = [f"{one['id']} {one['name']} {one['state']}" for one in (jobs or {}).get("items", ())]
    gangs = [f"{one['id']} {one['name']} {one['state']}" for one in (groups or {}).get("items", ())]
    liveness = [f"{one['name']} {one['liveness']}" for one in (hosts or {}).get("items", ())]
    said = cluster.controller.said()
    return f"jobs {lives}, gangs {gangs}, hosts {liveness}; the controller said: {said}"


def _unwanted_ends(plan: Plan, cluster: Cluster) -> list[str]:
    """Ends of processes that no kill explains."""
    faults = []
    for part in (cluster.controller, *cluster.agents.values()):
        odd = [code for code in part.codes if code != -9]
        if odd and not (part is cluster.controller and plan.crash_after):
            faults.append(f"{part.name} ended by itself with {odd}: {part.said()}")
        if part.codes.count(-9) > 1 and not plan.storm:
            faults.append(f"{part.name} was killed {part.codes.count(-9)} times")
    return faults


def seeded(part: str, index: int, seed: int, point: str, most: int) -> Plan:
    """The plan of run `index`: the same for the same seed, whatever else is run."""
    draw = random.Random(f"{seed}/{part}/{index}")
    on_postgres = part == "postgres"
    return Plan(
        part="controller" if on_postgres else part,
        point=point,
        arrival=draw.randint(1, most),
        seed=f"{seed}/{part}/{index}",
        database="postgresql" if on_postgres else "sqlite",
        crash_after=draw.randint(1, 40) if on_postgres and index % 2 else 0,
        # Gangs come together on the first hosts, and their attachments with them.
        host="n1" if point.startswith("journal.") else draw.choice(["n1", "n2", "n3"]),
        mutant=draw.choice(["", "small_cuts"]),
        clean=draw.choice(["1s", "1h"]),
    )


def stormy(index: int, seed: int) -> Plan:
    """The plan of storm `index`: many deaths, every third on PostgreSQL with a server stop."""
    draw = random.Random(f"{seed}/storm/{index}")
    on_postgres = index % 3 == 2
    return Plan(
        part="storm",
        point="",
        arrival=0,
        seed=f"{seed}/storm/{index}",
        database="postgresql" if on_postgres else "sqlite",
        crash_after=draw.randint(1, 40) if on_postgres else 0,
        storm=draw.randint(4, 12),
        mutant=draw.choice(["", "small_cuts"]),
        clean=draw.choice(["1s", "1h"]),
    )

"""States for benchmarks: clusters and pending work made from counters, to be repeated.

A host has 16 slots, 8 GPUs and 128 GB; four hosts are an NVLink domain, sixteen of those a block.
Classes of jobs differ in memory, GPUs and host type. Everything is put into the state's tables as
the records of registrations and submissions would leave it, without deciding each of them.
"""

from xce.controller.core.fold.state import Setting, State, group_blob, spec_blob
from xce.model.config import BackfillConfig, Config
from xce.model.group import Group, GroupSpec, RoleSpec
from xce.model.host import Host, HostFacts, InstanceFacts
from xce.model.job import Job, Spec, Topology
from xce.model.need import InstanceNeed, Need
from xce.model.records import RoleSpan
from xce.scheduler.snapshot import HostEntry
from xce.wal.codec import blob_name

GB = 1 << 30
LEVELS = ("host", "nvlink", "block")
GANG = 8
ALIKE = 200
"""Classes beyond so many differ by a few bytes only."""


def host_entry(i: int) -> HostEntry:
    """The i-th host as the scheduler takes it."""
    return HostEntry.from_facts(f"n{i:05}", _facts(i))


def _facts(i: int) -> HostFacts:
    gpus = tuple(
        InstanceFacts(type="gpu", name=str(n), attributes=(("model", "H100"),)) for n in range(8)
    )
    return HostFacts(
        counters=(("mem", 128 * GB), ("scratch", 100 * GB), ("slots", 16)),
        attributes=(("type", "X86" if i % 2 else "ARM"),),
        domains=(("block", f"b{i // 64:03}"), ("nvlink", f"nvl{i // 4:04}")),
        instances=gpus,
        ports=(20_000, 20_063),
    )


def need_of(kind: int) -> Need:
    """What the jobs of the kind-th class ask for."""
    alike = kind % ALIKE
    gpus = (InstanceNeed(type="gpu", count_per_task=alike % 3),) if alike % 3 else ()
    return Need(
        select="type==X86" if alike % 5 == 0 else "",
        span_hosts=1,
        per_task=(("mem", (alike // 2 + 1) * GB // 8 + kind // ALIKE),),
        instances=gpus,
    )


def cluster(hosts: int, backfill: str = "none") -> State:
    """A state whose hosts are all up and hold nothing."""
    state = State()
    state.put(
        "setting",
        "config",
        Setting(
            name="config",
            lsn=0,
            digest="",
            config=Config(levels=LEVELS, backfill=BackfillConfig(policy=backfill)),
        ),
    )
    for i in range(hosts):
        entry = host_entry(i)
        host = Host(
            name=entry.name, liveness="UP", admin="OPEN", incarnation=1, boot_id="1",
            facts=entry.facts,
        )  # fmt: skip
        state.put("host", host.name, host)
        for one in entry.instances:
            state.put("instance", one.key, one)
    state.index.settle()
    return state


def submit(state: State, jobs: int, classes: int, gangs: int = 0) -> None:
    """Pending jobs of so many classes in turn; the first `gangs` of them are gangs of eight."""
    specs = [_interned(state, spec_blob(_spec(kind))) for kind in range(min(classes, jobs))]
    for i in range(jobs):
        if i < gangs:
            _gang(state, i, specs[i % classes])
            continue
        key = state.last("job") + gangs * GANG + i + 1
        job = Job(
            key=key, spec=specs[i % classes], owner=1000, queue="normal", priority=50,
            state="PENDING", submit_us=i, pending_us=i,
        )  # fmt: skip
        state.put("job", key, job)


def _spec(kind: int) -> Spec:
    return Spec(command=("true",), need=need_of(kind))


def _interned(state: State, blob: bytes) -> str:
    name = blob_name(blob)
    state.intern(name, blob)
    return name


def _gang(state: State, i: int, member: str) -> None:
    """Eight members of one class in one NVLink domain."""
    role = RoleSpec(name="worker", count=GANG, min=GANG, member_spec=member)
    spec = GroupSpec(name="g", roles=(role,), topology=Topology(required="nvlink"))
    first = i * GANG + 1
    group = Group(
        number=i + 1, name="g", spec=_interned(state, group_blob(spec)), owner=1000,
        queue="normal", priority=50, state="PENDING", submit_us=i, pending_us=i,
        roles=(RoleSpan(name="worker", first_job=first, count=GANG),),
    )  # fmt: skip
    for rank in range(GANG):
        job = Job(
            key=first + rank, spec=member, owner=1000, queue="normal", priority=50,
            state="PENDING", submit_us=i, group=i + 1, role="worker", rank=rank,
        )  # fmt: skip
        state.put("job", job.key, job)
    state.put("group", group.number, group)

"""What a job's processes find in their environment: XCE_*, LSB_*, devices, claims.

`launch_environment` is known when a launch is prepared; `go_environment` completes it when it is
let go, because values of claims may only be known once their attachments are READY. Sources:
contract.md "In the process", LSF 10.1 "Environment variables set for job execution".
"""

from xce.controller.core.claims.using import uses_of
from xce.controller.core.fold.shape import shape_of
from xce.controller.core.fold.state import State
from xce.controller.core.gangs.standing import shared_claims
from xce.controller.core.orders.hostfiles import affinity_lines, listed, rank_lines
from xce.model.host import Instance
from xce.model.ids import group_text, job_index, job_number, job_text
from xce.model.job import Job, Spec
from xce.model.placing import Holding, Share
from xce.model.start import Claim, Launch
from xce.resreq.resolve import effective

DEVICE_TYPES = ("gpu",)
_AS_WORD = str.maketrans("-.", "__")
WIDE_HOSTS_MAX = 4096
WIDE_LINES_MAX = 65_536  # the kernel takes 128 KiB in one string, with its name


def launch_environment(state: State, launch: Launch) -> dict[str, str]:
    """Everything that the plan alone decides."""
    job = state.jobs[launch.job]
    spec = state.specs[job.spec]
    allocation = state.allocations[launch.allocation]
    shares = allocation.shares
    env = _captured(state, spec)
    env.update(spec.env)
    env.update(_xce(state, launch, job))
    env.update(_lsb(state, spec, job, shares))
    env["LSB_EFFECTIVE_RSRCREQ"] = effective(spec.resreq, allocation.alternative)
    env.update(_devices(state, launch, job, shares))
    env.update(_bound(launch.host, shares))
    return env


def _captured(state: State, spec: Spec) -> dict[str, str]:
    """The submitter's environment, one NAME=VALUE per NUL-ended part."""
    if not spec.environment:
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    parts = state.texts[spec.environment].decode("utf-8", "surrogateescape").split("\0")
    pairs = (part.partition("=") for part in parts if "=" in part)
    return {name: value for name, _, value in pairs if not name.startswith(("LSB_", "LS_", "XCE_"))}


def _xce(state: State, launch: Launch, job: Job) -> dict[str, str]:
    shape = shape_of(state, launch.start)
    world = dict(state.starts[launch.start].world)
    env = {
        "XCE_JOB": job_text(job.key),
        "XCE_ATTEMPT": str(job.attempt),
        "XCE_HOST": launch.host,
        "XCE_WORLD_SIZE": str(world.get("", shape.processes)),
        "XCE_MEMBER_COUNT": "1",
        "XCE_MEMBER_RANK": str(job.rank),
    }
    if job.group:
        env["XCE_GROUP"] = group_text(job.group)
        env["XCE_MEMBER_ROLE"] = job.role
        env["XCE_MEMBER_COUNT"] = str(world.get(job.role, shape.members[job.role]))
    return env


def _lsb(state: State, spec: Spec, job: Job, shares: tuple[Share, ...]) -> dict[str, str]:
    words = [share.host for share in shares for _ in range(share.tasks)]
    hosts = " ".join(words)
    env = {
        "LSB_JOBID": str(job_number(job.key)),
        "LSB_JOBINDEX": str(job_index(job.key)),
        **_array(state, job),
        "LSB_BATCH_JID": job_text(job.key),
        "LSB_JOBNAME": job.name or " ".join(spec.command),
        "LSB_QUEUE": job.queue,
        "LSB_MCPU_HOSTS": " ".join(f"{share.host} {share.tasks}" for share in shares),
        "LSB_DJOB_NUMPROC": str(len(words)),
        "LSB_MAX_NUM_PROCESSORS": str(len(words)),
        "LS_SUBCWD": spec.cwd,
    }
    if len(hosts) <= WIDE_HOSTS_MAX:
        env["LSB_HOSTS"] = hosts
    if job.attempt > 1:
        env["LSB_RESTART"] = "Y"
    return env


def _array(state: State, job: Job) -> dict[str, str]:
    """What an element is told of its array."""
    array = state.arrays.get(job_number(job.key)) if job_index(job.key) else None
    if array is None:
        return {}
    return {"LSB_JOBINDEX_STEP": str(array.step), "LSB_JOBINDEX_END": str(array.last)}


def _devices(state: State, launch: Launch, job: Job, shares: tuple[Share, ...]) -> dict[str, str]:
    """Devices of this member on this host, by their UUID, in bit order."""
    keys = [key for share in shares if share.host == launch.host for key in share.instances]
    for _, claim in claims_seen_by(state, launch, job):
        if claim.stands_alone or claim.job == job.key:
            keys += [
                holding.instance
                for holding in claim.holdings
                if holding.instance and holding.host == launch.host
            ]
    found = [state.instances[key] for key in keys if key in state.instances]
    mine = sorted(
        (one for one in found if one.type in DEVICE_TYPES), key=lambda one: (one.type, one.number)
    )
    return {"CUDA_VISIBLE_DEVICES": ",".join(device_id(one) for one in mine)} if mine else {}


def _bound(host: str, shares: tuple[Share, ...]) -> dict[str, str]:
    """Processors and memory nodes that the tasks on this host are bound to, and for all tasks of
    the job the lines of LSF's affinity host file and of an MPI rank file. Lines that are more than
    an environment carries are left out: the first are in a file, too."""
    here = [one for share in shares if share.host == host for one in share.bindings]
    env = {
        "XCE_AFFINITY_HOSTS": "\n".join(affinity_lines(shares)),
        "XCE_RANKFILE": "\n".join(rank_lines(shares)),
    }
    env = {name: text for name, text in env.items() if 0 < len(text) <= WIDE_LINES_MAX}
    if any(share.bindings for share in shares):
        env["LSB_BIND_CPU_LIST"] = listed({cpu for one in here for cpu in one.cpus})
    if here and here[0].memory:
        env["LSB_BIND_MEM_LIST"] = listed({node for one in here for node in one.nodes})
        env["LSB_BIND_MEM_POLICY"] = here[0].memory
    return env


def device_id(instance: Instance) -> str:
    """What names a device to its driver: its UUID; a host names its GPUs by their index."""
    found = dict(instance.attributes).get("uuid", "")
    return str(found) if instance.type in DEVICE_TYPES and found else instance.name


def go_environment(state: State, launch: Launch) -> dict[str, str]:
    """What is only known once every attachment is READY."""
    job = state.jobs[launch.job]
    env: dict[str, str] = {}
    for name, claim in claims_seen_by(state, launch, job):
        prefix = f"XCE_CLAIM_{name.upper().translate(_AS_WORD)}"
        value = _value(state, claim, launch.host)
        env[f"{prefix}_ID"] = f"c{claim.number}"
        env[f"{prefix}_GENERATION"] = str(claim.generation)
        env[f"{prefix}_VALUE"] = value
        if claim.type == "port" and claim.scope == "group" and "XCE_RENDEZVOUS" not in env:
            host, _, port = value.rpartition(":")
            env["XCE_RENDEZVOUS"] = value
            env["MASTER_ADDR"], env["MASTER_PORT"] = host, port
    return env


def claims_seen_by(state: State, launch: Launch, job: Job) -> list[tuple[str, Claim]]:
    """Claims that the launch's processes may use, by their names for them: of its start (of its
    gang, in a start of some members) in the order they were made, then those that stand alone."""
    start = state.starts[launch.start]
    shape = shape_of(state, launch.start)
    claims = {number: state.claims[number] for number in shape.claims_of_job.get(job.key, ())}
    if start.world and job.group:
        claims |= {one.number: one for one in shared_claims(state, state.groups[job.group])}
    else:
        claims |= {number: state.claims[number] for number in shape.shared}
    found = (claims[number] for number in sorted(claims))
    own = [(one.name, one) for one in found if one.scope != "role" or one.role == job.role]
    used = ((name, state.claims.get(number)) for name, number in uses_of(state, job))
    return [*own, *((name, claim) for name, claim in used if claim is not None)]


def _value(state: State, claim: Claim, host: str) -> str:
    attached = [state.attachments[number] for number in claim.attachments]
    here = [one for one in attached if one.host == host] or attached
    if here:
        return here[0].value
    near = [one for one in claim.holdings if one.host == host] or claim.holdings
    return ",".join(_held(state, holding) for holding in near)


def _held(state: State, holding: Holding) -> str:
    """A device's id, the name of any other instance, or an amount in its base unit."""
    if not holding.instance:
        return str(holding.amount)
    found = state.instances.get(holding.instance)
    return device_id(found) if found is not None else holding.instance.rsplit("/", 1)[1]

"""wanted(state, entity): the orders that bring the world to what the state says.

Orders are levels. A launch is wanted PREPARED from its plan on, RUNNING once its wave was opened
by a committed record, GONE when it is stopping, over or unknown. An attachment is wanted READY
until its claim is released. Records only say which entities to look at; recovery looks at all.
"""

from xce.controller.core.fold.state import State
from xce.controller.core.life.again import setting
from xce.controller.core.orders.environment import (
    claims_seen_by,
    go_environment,
    launch_environment,
)
from xce.controller.core.orders.hostfiles import host_files
from xce.dispatch.protocol import GONE, PREPARED, READY, RUNNING, AttachmentOrder, LaunchOrder, Task
from xce.model.ids import group_text, job_index, job_number, job_text
from xce.model.job import Job, Spec
from xce.model.records import Record
from xce.model.start import Launch

_WANTED_GONE = ("STOPPING", "EXITED", "ABORTED", "LOST")


def launch_target(launch: Launch | None) -> str:
    """PREPARED, RUNNING or GONE."""
    if launch is None or launch.state in _WANTED_GONE:
        return GONE
    return RUNNING if launch.go else PREPARED


def order_of_launch(state: State, number: int) -> LaunchOrder:
    """What the launch's host is to bring about."""
    launch = state.launches.get(number)
    target = launch_target(launch)
    if launch is None:
        return LaunchOrder(launch=number, job=0, attempt=0, generation=0, target=GONE)
    spec = state.specs[state.jobs[launch.job].spec] if target == RUNNING else None
    return LaunchOrder(
        launch=number,
        job=launch.job,
        attempt=launch.attempt,
        generation=launch.generation,
        target=target,
        task=task_of(state, launch) if target != GONE and launch.state == "PREPARING" else None,
        go_env=go_environment(state, launch) if target == RUNNING else {},
        stop_reason=launch.stop_reason,
        signals=launch.signals,
        run_limit_us=spec.run_limit_us if spec is not None else -1,
        terminate_us=over_us(state, launch, spec) if spec is not None else -1,
        freeze=_freeze(state, launch, target),
    )


def over_us(state: State, launch: Launch, spec: Spec) -> int:
    """The moment at which the host ends it: its termination time, or sooner where its place is
    reserved from then on; 0 is never."""
    must_end_us = state.starts[launch.start].must_end_us
    return (
        min(one for one in (must_end_us, spec.terminate_us) if one)
        if must_end_us
        else (spec.terminate_us)
    )


def _freeze(state: State, launch: Launch, target: str) -> int:
    """How often it was frozen and let go on. What is to be gone goes on, so that it can end
    gently, unless others may have its room."""
    if target != GONE or launch.freeze % 2 == 0:
        return launch.freeze
    allocation = state.allocations.get(launch.allocation)
    lends = allocation is not None and any(one.host == launch.host for one in allocation.lent)
    return launch.freeze if lends else launch.freeze + 1


def order_of_attachment(state: State, number: int) -> AttachmentOrder:
    """What the attachment's host is to bring about."""
    attachment = state.attachments.get(number)
    if attachment is None:
        return AttachmentOrder(attachment=number, claim=0, generation=0, target=GONE)
    claim = state.claims[attachment.claim]
    released = attachment.state in ("FAILED", "RELEASING", "RELEASED")
    return AttachmentOrder(
        attachment=number,
        claim=attachment.claim,
        generation=claim.generation,
        target=GONE if released and attachment.state != "FAILED" else READY,
        provider=attachment.provider,
        name=claim.name,
        parameters=attachment.parameters,
        uid=claim.owner,
    )


def touched(record: Record) -> tuple[list[int], list[int]]:
    """Launches and attachments whose orders a record may have changed, each once, in order."""
    launches: dict[int, None] = {}
    attachments: dict[int, None] = {}
    body = record.body
    if record.kind == "ClaimCreated":
        attachments.update(dict.fromkeys(one.attachment for one in body.attachments))  # type: ignore[attr-defined]
    elif record.kind == "Planned":
        for bound in body.bound:  # type: ignore[attr-defined]
            attachments.update(dict.fromkeys(one.attachment for one in bound.attachments))
        for group in body.groups:  # type: ignore[attr-defined]
            launches.update(dict.fromkeys(one.launch for one in group.launches))
            attachments.update(dict.fromkeys(one.attachment for one in group.attachments))
    elif record.kind == "JobChanged":
        launches.update(dict.fromkeys(body.launches))  # type: ignore[attr-defined]
    elif record.kind == "HostReconciled":
        launches.update(dict.fromkeys(body.launches))  # type: ignore[attr-defined]
        attachments.update(dict.fromkeys(body.attachments))  # type: ignore[attr-defined]
    for change in body.then:
        if change.what == "launch" and change.set and _steers(change.event, change.set):
            launches[int(change.key)] = None
        elif change.what == "attachment" and change.event in ("release",):
            attachments[int(change.key)] = None
    return list(launches), list(attachments)


def _steers(event: str, values: dict[str, object]) -> bool:
    return event == "stop" or not values.keys().isdisjoint(("go", "signals", "freeze"))


def live_of_host(state: State, host: str) -> tuple[list[int], list[int]]:
    """Everything alive on a host, for a host that just reconciled or a leader that just began."""
    index = state.index
    launches = sorted(index.live_launches.get(host, {}))
    return launches, sorted(index.live_attachments.get(host, {}))


# -- tasks ----------------------------------------------------------------------------------------


def task_of(state: State, launch: Launch) -> Task:
    """Everything needed to prepare a launch."""
    job = state.jobs[launch.job]
    spec = state.specs[job.spec]
    shares = state.allocations[launch.allocation].shares
    start, queue = state.starts[launch.start], state.config.queue(job.queue)
    return Task(
        job=job_text(job.key),
        command=spec.command,
        script=state.texts[spec.script].decode() if spec.script else "",
        cwd=spec.cwd,
        env=launch_environment(state, launch),
        files=host_files(shares) if launch.processes else {},
        stdin=expand(spec.stdin, job),
        stdout=output_path(spec, job),
        stderr=expand(spec.stderr, job),
        user=spec.user,
        uid=job.owner,
        gid=spec.gid,
        umask=spec.umask,
        processes=launch.processes,
        first_rank=launch.first_rank,
        mem_bytes=spec.mem_limit_bytes or _mem_bytes(state, launch),
        anew=spec.anew,
        stop_signal=setting(state, job, "terminate_signal", ""),
        run_limit_us=spec.run_limit_us,
        terminate_us=over_us(state, launch, spec),
        ready_port=_ready_port(state, launch, job),
        kill_grace_us=start.kill_grace_us or state.config.kill_grace_us,
        lease_us=start.stop_after_us,
        unkillable_after_us=state.config.unkillable_after_us,
        nice=queue.nice if queue is not None else 0,
    )


def _mem_bytes(state: State, launch: Launch) -> int:
    """The memory that was granted on the launch's host; 0 is no limit."""
    shares = state.allocations[launch.allocation].shares
    mine = next((share for share in shares if share.host == launch.host), None)
    return dict(mine.counters).get("mem", 0) if mine is not None else 0


def _ready_port(state: State, launch: Launch, job: Job) -> int:
    """The port whose opening makes the member's role ready, 0 when readiness is something else."""
    if not job.group or not launch.processes:
        return 0
    ready = state.group_spec(state.groups[job.group]).role(job.role).ready
    if ready.kind != "port":
        return 0
    for _, claim in claims_seen_by(state, launch, job):
        if claim.name == ready.port and claim.job in (0, job.key):
            return next((_port(holding.instance) for holding in claim.holdings), 0)
    return 0


def _port(instance: str) -> int:
    return int(instance.rsplit("/", 1)[1])


def expand(path: str, job: Job) -> str:
    """An output path with `%J` (job number, `g7` stays `%G`) and `%I` (element) filled in."""
    if "%" not in path:
        return path
    return (
        path.replace("%J", str(job_number(job.key)))
        .replace("%I", str(job_index(job.key)))
        .replace("%G", group_text(job.group) if job.group else "")
        .replace("%R", f"{job.role}-{job.rank}" if job.group else "")
    )


def output_path(spec: Spec, job: Job) -> str:
    """Where a job's output goes; by default a file in its working directory."""
    default = "xce-%G-%R.out" if job.group else "xce-%J.out"
    if job_index(job.key):
        default = "xce-%J-%I.out"
    return expand(spec.stdout or default, job)

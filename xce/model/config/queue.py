"""Queues and application profiles: where work is sent, and what that means for it."""

from msgspec import Struct


class QueueConfig(Struct, frozen=True, gc=False, kw_only=True):
    """A queue: larger priority goes first. `open` takes submissions, `active` dispatches.
    `backfill` and `backfill_depth` are its own where the site's do not count for it. Work of the
    queues in `preemptive` gives way to its own, and its own to that of those in `preemptable`.
    `reservation_ranges` is what its jobs may reserve (LSF: RESRSV_LIMIT), as it was written;
    `users` may submit to it, `hosts` serve it, () is all; limits are slots, below 0 none, per
    processor in thousandths; the windows are when it dispatches and when its work begins.
    `order` names policies (scheduler/policies.py), () is what the cluster says.
    Jobs run again on `requeue_exits` (LSF: REQUEUE_EXIT_VALUES), `requeues_max` times and then
    wait held (-1: as often as it takes); `rerunnable` is for jobs that say nothing.
    `exclusive` says who may have hosts (Y) or compute units (CU, CU[level]) for himself, "" and N
    nobody hosts; `interactive` is Y, N or ONLY; its processes run `nice` less important.
    `run_limit_us`, `mem_limit_bytes` and `tasks_max` are the most that a job may have, 0 is no
    limit; `terminate_signal` asks a job to end; exit values of `success_exits` are good."""

    name: str
    priority: int = 30
    description: str = ""
    open: bool = True
    active: bool = True
    default_resreq: str = ""
    users: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    job_limit: int = -1
    user_job_limit: int = -1
    host_job_limit: int = -1
    processor_job_limit: int = 0
    dispatch_window: tuple[str, ...] = ()
    run_window: tuple[str, ...] = ()
    reservation_ranges: str = ""
    order: tuple[str, ...] = ()
    requeue_exits: str = ""
    requeues_max: int = -1
    rerunnable: bool = False
    run_limit_us: int = 0
    run_limit_default_us: int = 0
    tasks_min: int = 0
    tasks_default: int = 0
    tasks_max: int = 0
    mem_limit_bytes: int = 0
    terminate_signal: str = ""
    success_exits: tuple[int, ...] = ()
    backfill: str = ""
    backfill_depth: int = 0
    preemptive: tuple[str, ...] = ()
    preemptable: tuple[str, ...] = ()
    exclusive: str = ""
    interactive: str = ""
    nice: int = 0


class ApplicationConfig(Struct, frozen=True, gc=False, kw_only=True):
    """An application profile: `resreq` counts for jobs that name it, under the job's own and over
    the queue's; so do exit values, where there are any. Limits are as a queue's."""

    name: str
    description: str = ""
    resreq: str = ""
    requeue_exits: str = ""
    requeues_max: int = -1
    rerunnable: bool = False
    run_limit_us: int = 0
    run_limit_default_us: int = 0
    tasks_min: int = 0
    tasks_default: int = 0
    tasks_max: int = 0
    mem_limit_bytes: int = 0
    terminate_signal: str = ""
    success_exits: tuple[int, ...] = ()

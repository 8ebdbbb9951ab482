"""Queues and application profiles: where work is sent, and what that means for it."""

from msgspec import Struct


class QueueConfig(Struct, frozen=True, gc=False, kw_only=True):
    """A queue: larger priority goes first. `open` takes submissions, `active` dispatches.
    `reservation_ranges` is what its jobs may reserve (LSF: RESRSV_LIMIT), as it was written;
    `order` names policies (scheduler/policies.py), () is what the cluster says."""

    name: str
    priority: int = 30
    description: str = ""
    open: bool = True
    active: bool = True
    default_resreq: str = ""
    reservation_ranges: str = ""
    order: tuple[str, ...] = ()


class ApplicationConfig(Struct, frozen=True, gc=False, kw_only=True):
    """An application profile: `resreq` counts for jobs that name it, under the job's own and over
    the queue's."""

    name: str
    description: str = ""
    resreq: str = ""

"""Who may ask what: the queue that takes work, the owner that it counts for."""

from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.controller.core.queueing.queues import is_open
from xce.model.actor import ADMIN, OPERATOR, SYSTEM, USER, Actor
from xce.model.config import QueueConfig
from xce.model.job import Job


def queue_of(state: State, name: str) -> QueueConfig | c.Rejection:
    """The open queue of that name, the default one for ""; a Rejection otherwise."""
    wanted = name or state.config.default_queue
    queue = state.config.queue(wanted)
    if queue is None:
        known = ", ".join(queue.name for queue in state.config.queues)
        return c.Rejection(
            code="unknown_queue",
            message=f"{wanted}: No such queue.",
            field="queue",
            hint=f"queues here: {known}",
        )
    if not is_open(state, queue):
        return c.Rejection(
            code="queue_closed", message=f"{wanted}: Queue has been closed.", field="queue"
        )
    return queue


def owner_of(state: State, actor: Actor, asked: int) -> int | c.Rejection:
    """The uid that work counts for: the asker, or whom an administrator named."""
    owner = actor.uid if asked < 0 else asked
    if owner != actor.uid and actor.kind != ADMIN:
        return c.Rejection(
            code="not_allowed", message=f"uid {actor.uid} may not submit for uid {owner}"
        )
    if owner < 0:
        return c.Rejection(
            code="not_allowed", message=f"{actor.text()} is no user and submits no work"
        )
    if owner == 0 and not state.config.allow_root:
        return c.Rejection(
            code="root_refused",
            message="jobs of root are refused here",
            hint="submit as another user, or start the controller with --allow-root",
        )
    return owner


def not_yours(actor: Actor, what: str) -> c.Rejection:
    """The refusal for what belongs to somebody else."""
    return c.Rejection(
        code="not_allowed",
        message=f"{what}: User permission denied",
        hint=f"it belongs to another user than uid {actor.uid}",
    )


def stands_for(actor: Actor, owner: int) -> str:
    """For whom the actor suspends or resumes: an operator, of what is his own, as its owner."""
    if actor.kind == SYSTEM:
        return SYSTEM
    return USER if actor.uid == owner else OPERATOR


def kept_by_others(actor: Actor, text: str, job: Job) -> c.Rejection | None:
    """Why the actor cannot let a suspended job go on, though it is his."""
    if actor.kind != USER or job.suspended_by in ("", USER):
        return None
    if job.suspended_by == OPERATOR:
        return c.Rejection(
            code="not_allowed",
            message=f"{text}: User permission denied",
            hint="it was suspended by an operator, who has to resume it",
        )
    why = f" ({job.suspend_why})" if job.suspend_why else ""
    return c.Rejection(
        code="conflict",
        message=f"{text}: it was suspended by the system{why}",
        hint="it goes on by itself as soon as it gets back what it lent",
    )

"""Who may ask what: the queue that takes work, the owner that it counts for."""

from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.model.actor import ADMIN, Actor
from xce.model.config import QueueConfig


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
    if not queue.open:
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

"""Run windows: what runs of a queue is suspended when its window shuts, and goes on when it opens.

The system suspends it, so that it goes on by itself: by a plan that finds room for what it lent,
which no session makes while the window is shut. What its user or an operator suspended stays so.
"""

from collections.abc import Iterator

from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.suspending import cannot_freeze, suspend
from xce.controller.core.queueing.queues import stops_work
from xce.model.actor import SYSTEM

WHY = "the run window of queue {queue} is shut"


def outside(state: State, queue: str) -> Iterator[int]:
    """Jobs of a queue that run although its window is shut; of a gang the first such member.
    What is being started may not be stopped yet: it is found once it runs."""
    groups: dict[int, None] = {}
    for number in sorted(state.allocations):
        job = state.jobs.get(state.allocations[number].job)
        if job is None or job.queue != queue or job.state != "RUNNING" or job.requeue:
            continue
        if job.suspension != "ACTIVE" or job.group in groups:
            continue
        if job.group:
            groups[job.group] = None
            if state.groups[job.group].state != "RUNNING":
                continue
        if not cannot_freeze(state, job.key):
            yield job.key


def is_due(state: State, queue: str) -> bool:
    """Whether something of the queue is to be suspended."""
    return stops_work(state, queue) and next(outside(state, queue), None) is not None


def suspend_outside(draft: Draft, queue: str) -> int:
    """Suspend what runs of a queue whose window is shut, each in a record of its own."""
    found = list(outside(draft.state, queue)) if stops_work(draft.state, queue) else []
    for key in found:
        suspend(draft, key, SYSTEM, WHY.format(queue=queue))
    return len(found)

"""Which pending work may be placed as soon as there is room: what keeps a job out of the order.

Only eligible work is in the order of what waits, so that a session never looks at the rest. The
predicate looks at the job alone: whatever keeps a job back is written down on it by a record, and
the change puts it into the order or takes it out. Limits that change while a session books
(job groups among them) are no part of it: the session checks those.
"""

from xce.model.job import Job
from xce.model.tables import ENDED_JOB
from xce.model.waiting.array import PENDING, Array

Waiter = Job | Array
"""What may wait for others: a job, or an array with all its elements."""


def is_eligible(job: Job) -> bool:
    """Whether a session may place it: plain, PENDING, and nothing of its own holds it back."""
    return job.state == "PENDING" and job.group == 0 and not awaits_others(job)


def is_eligible_array(array: Array) -> bool:
    """Whether elements of it wait that a session may place."""
    return array.count(PENDING) > 0 and not awaits_others(array)


def awaits_others(waiter: Waiter) -> bool:
    """Whether it has a dependency that was never met; one that was met once stays met."""
    return bool(waiter.after) and not waiter.after_met_us


def still_awaits(waiter: Waiter | None) -> bool:
    """Whether it waits for others and has not ended, so that it is worth judging."""
    if waiter is None or not awaits_others(waiter):
        return False
    return not waiter.ended_us if isinstance(waiter, Array) else waiter.state not in ENDED_JOB

"""Which pending work may be placed as soon as there is room: what keeps a job out of the order.

Only eligible work is in the order of what waits, so that a session never looks at the rest. The
predicate looks at the job alone: whatever keeps a job back is written down on it by a record, and
the change puts it into the order or takes it out. Limits that change while a session books
(job groups among them) are no part of it: the session checks those.
"""

from xce.model.job import Job


def is_eligible(job: Job) -> bool:
    """Whether a session may place it: plain, PENDING, and nothing of its own holds it back."""
    return job.state == "PENDING" and job.group == 0 and not awaits_others(job)


def awaits_others(job: Job) -> bool:
    """Whether it has a dependency that was never met; one that was met once stays met."""
    return bool(job.after) and not job.after_met_us

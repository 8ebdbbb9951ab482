"""What is counted of job groups; kept in step by every change of a job or an array."""

from xce.model.job import Job
from xce.model.waiting.array import COUNTED, JOB, STATE_OF, Array
from xce.model.waiting.job_group import lineage

STARTED = frozenset({"STARTING", "RUNNING", "ENDING"})
"""States of jobs that count toward the limits of their groups."""

USUSP, SSUSP = "USUSP", "SSUSP"


class GroupCounts:
    """`own`: by group, how many of its own jobs are in each state, or suspended. `started`: how
    many have started in a group and in all groups below it."""

    def __init__(self) -> None:
        self.own: dict[str, dict[str, int]] = {}
        self.started: dict[str, int] = {}

    def __eq__(self, other: object) -> bool:
        mine = (self.own, self.started)
        return isinstance(other, GroupCounts) and mine == (other.own, other.started)

    __hash__ = None  # type: ignore[assignment]

    def job(self, path: str, old: Job | None, new: Job | None) -> None:
        """A job of this group came, moved or went."""
        for one, by in ((old, -1), (new, 1)):
            if one is not None:
                self._count(path, _bucket(one), by, started=one.state in STARTED)

    def array(self, path: str, old: Array | None, new: Array | None) -> None:
        """Elements that are no jobs of their own moved."""
        for place, letter in enumerate(COUNTED):
            if letter != JOB:
                was = old.tally[place] if old is not None else 0
                now = new.tally[place] if new is not None else 0
                self._count(path, STATE_OF[letter], now - was)

    def _count(self, path: str, bucket: str, by: int, *, started: bool = False) -> None:
        if not by:
            return
        _add(self.own.setdefault(path, {}), bucket, by)
        if not self.own[path]:
            del self.own[path]
        for one in lineage(path) if started else ():
            _add(self.started, one, by)


def _bucket(job: Job) -> str:
    """What a job is counted as: its state, or that it is suspended and by whom."""
    if job.suspension == "ACTIVE" or job.state not in STARTED:
        return job.state
    return SSUSP if job.suspended_by == "system" else USUSP


def _add(counts: dict[str, int], name: str, by: int) -> None:
    counts[name] = counts.get(name, 0) + by
    if not counts[name]:
        del counts[name]

"""Deadlines that the state names, soonest first. Each is checked again before it acts."""

from collections.abc import Mapping
from heapq import heappop, heappush

from xce.model.config import SECOND_US
from xce.model.job import Job, Spec
from xce.model.tables import ENDED_JOB

NET_US = 5 * SECOND_US
"""How long the controller leaves a limit to the host, which enforces it by itself."""

Timer = tuple[int, str, int]


class Timers:
    """A heap of (when, what, key). Nothing is ever taken back: a deadline that no longer counts
    is found out when it is due."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []

    def set(self, at_us: int, what: str, key: int) -> None:
        """Look at `key` again at `at_us`."""
        heappush(self._heap, (at_us, what, key))

    def due(self, now_us: int, limit: int = 256) -> list[Timer]:
        """Take out the timers whose time has come, in order."""
        found: list[Timer] = []
        while self._heap and self._heap[0][0] <= now_us and len(found) < limit:
            timer = heappop(self._heap)
            if not found or found[-1] != timer:
                found.append(timer)
        return found

    def next_due_us(self) -> int | None:
        """When the next timer is due."""
        return self._heap[0][0] if self._heap else None


def over_limit_us(job: Job, spec: Spec) -> tuple[int, str]:
    """When the job is over a limit, and which one: (0, "") never. What runs is ended by its host;
    a job that only waits is over its termination time at once."""
    if job.state in ENDED_JOB or job.state == "ENDING":
        return 0, ""
    found = []
    runs = job.state == "RUNNING" and job.started_us and not job.suspend_since_us
    if spec.run_limit_us and runs:
        due_us = job.started_us + spec.run_limit_us + job.suspended_us + NET_US
        found.append((due_us, "run_limit"))
    if spec.terminate_us and not job.group:
        waits = job.state in ("PENDING", "HELD")
        found.append((spec.terminate_us + (0 if waits else NET_US), "deadline"))
    return min(found, default=(0, ""))


def limit_due_us(job: Job | None, specs: Mapping[str, Spec]) -> int:
    """When somebody is to look whether the job is over a limit of its time; 0 is never."""
    spec = specs.get(job.spec) if job is not None else None
    return over_limit_us(job, spec)[0] if job is not None and spec is not None else 0

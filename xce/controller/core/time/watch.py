"""What the indexes keep of time: who has a limit, and when a reservation is to be looked at.

One change of an entity is told here as to the other indexes; their `timer` sets nothing
within a trial that is put back.
"""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from xce.controller.core.resources.lending import is_watched
from xce.model.job import Job, Spec
from xce.model.waiting.reservation import Reservation
from xce.scheduler.time.terms import SLACK_US


class Effects(Struct, frozen=True, gc=False):
    """What the indexes keep of jobs of a spec with an allocation: that they are expected to end
    (`ends`); and `more`: a count, a timer, or what they keep from others."""

    ends: bool
    more: bool


class Index(Protocol):
    """What is asked of the indexes here."""

    freed: int

    def timer(self, at_us: int, what: str, key: int) -> None:
        """Look at `key` again at `at_us`."""


def length_us(spec: Spec) -> int:
    """How long work of this spec is expected to run at most: its user's estimate, else its run
    limit; 0 where nobody said."""
    if spec.run_estimate_us and spec.run_limit_us:
        return min(spec.run_estimate_us, spec.run_limit_us)
    return spec.run_estimate_us or spec.run_limit_us


def effects_of(spec: Spec | None) -> Effects:
    """The effects of a spec; what is not known has none."""
    if spec is None:
        return Effects(False, False)
    alone = is_watched(spec.need) or spec.topology.exclusive or spec.exclusive
    more = bool(spec.job_group or spec.terminate_us or alone)
    return Effects(length_us(spec) > 0, more)


def note_job(
    limited: dict[int, None], key: int, new: Job | None, specs: Mapping[str, Spec]
) -> None:
    """Keeps the jobs that have an allocation and are expected to end."""
    spec = specs.get(new.spec) if new is not None and new.allocation else None
    if spec is not None and (length_us(spec) or spec.terminate_us):
        limited[key] = None
    else:
        limited.pop(key, None)


def note_reservation(
    index: Index, key: int, old: Reservation | None, new: Reservation | None
) -> None:
    """Sets the timers of a reservation; where one is moved or over, others may have more room."""
    if new is not None:
        if old is None or old.from_us != new.from_us:
            index.timer(new.from_us, "reservation", key)
            index.timer(new.from_us + SLACK_US, "reservation", key)
        if old is None or old.until_us != new.until_us:
            index.timer(new.until_us, "reservation_end", key)
    if new is not None and new.stop_us and (old is None or old.stop_us != new.stop_us):
        index.timer(new.stop_us, "preempt_stop", key)
    index.freed += old is not None

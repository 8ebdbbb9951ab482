"""Everything that decides who goes first and how much anybody may have, kept in step."""

from typing import TYPE_CHECKING, Any

from xce.controller.core.queueing.backlog import Backlog
from xce.controller.core.queueing.limits import LimitBook
from xce.controller.core.queueing.ordering import Ordering
from xce.controller.core.queueing.usage import Usage
from xce.controller.core.queueing.waiting import Waiting
from xce.model.job import Job
from xce.model.waiting.array import Array

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State


class Standing:
    """The order of what waits, what accounts use, what limits count, how many of whom wait."""

    def __init__(self, state: "State") -> None:
        self.ordering = Ordering(state)
        self.usage = Usage(state)
        self.limits = LimitBook(state)
        self.backlog = Backlog()

    @property
    def pending(self) -> Waiting:
        """What waits, in order."""
        return self.ordering.waiting

    def class_of(self, job: Job | Array) -> str:
        """What a plain job or an element is equal to for placement."""
        return self.ordering.class_of(job)

    def job_changed(self, key: int, old: Job | None, new: Job | None) -> None:
        """A job began, moved or went."""
        self.usage.refresh(key)
        self.backlog.job(old, new)
        if new is not None and new.allocation:
            self.limits.refresh(new.allocation)

    def allocation_changed(self, key: int, one: Any) -> None:
        """Something was granted or given up."""
        self.usage.refresh(one.job)
        self.limits.refresh(key)

    def config_changed(self) -> None:
        """Whatever the configuration says of it may be otherwise."""
        self.ordering.reset()
        self.usage.reset()
        self.limits.reset()

"""What accounts use now: slots and times of what is allocated, kept in step job by job.

Each job with an allocation contributes to one account; whatever changes of it, its contribution is
taken out and put in again. The time of what runs is not stored: `timed * now - begun` gives it for
any moment, exactly.
"""

from typing import TYPE_CHECKING

from msgspec import Struct

from xce.model.placing import Share

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State


class Running(Struct, gc=False, kw_only=True):
    """Sums over the jobs of an account: slots held; of those that have started, slots (`timed`)
    and slots times their start (`begun`), the same of GPUs; and slots times run limit."""

    slots: int = 0
    timed: int = 0
    begun: int = 0
    gpus: int = 0
    gpus_begun: int = 0
    committed_us: int = 0

    def add(self, other: "Running", sign: int) -> None:
        """Put a job in (1) or take it out (-1)."""
        self.slots += sign * other.slots
        self.timed += sign * other.timed
        self.begun += sign * other.begun
        self.gpus += sign * other.gpus
        self.gpus_begun += sign * other.gpus_begun
        self.committed_us += sign * other.committed_us


class Usage:
    """Per account, what is used now. Empty where nothing is shared."""

    def __init__(self, state: "State") -> None:
        self._state = state
        self.running: dict[str, Running] = {}
        self._jobs: dict[int, tuple[str, Running]] = {}
        self.shared = False

    def reset(self) -> None:
        """The configuration changed: accounts may be others."""
        self.shared = bool(self._state.config.share_trees)
        self.running, self._jobs = {}, {}
        for allocation in self._state.allocations.values() if self.shared else ():
            self.refresh(allocation.job)

    def refresh(self, key: int) -> None:
        """A job, or what it is granted, changed."""
        if not self.shared:
            return
        known = self._jobs.pop(key, None)
        if known is not None:
            account, part = known
            self.running[account].add(part, -1)
            if not self.running[account].slots:
                del self.running[account]
        now = self._contribution(key)
        if now is not None:
            account, part = self._jobs[key] = now
            self.running.setdefault(account, Running()).add(part, 1)

    def _contribution(self, key: int) -> tuple[str, Running] | None:
        state = self._state
        job = state.jobs.get(key)
        granted = state.allocations.get(job.allocation) if job is not None else None
        if job is None or granted is None:
            return None
        account = state.index.ordering.account_of(job)
        slots = sum(slots_of(share) for share in granted.shares)
        if not account or not slots:
            return None
        part = Running(slots=slots)
        if job.started_us:
            gpus = sum(gpus_of(share) for share in granted.shares)
            limit_us = state.specs[job.spec].run_limit_us
            part = Running(
                slots=slots,
                timed=slots,
                begun=slots * job.started_us,
                gpus=gpus,
                gpus_begun=gpus * job.started_us,
                committed_us=slots * limit_us,
            )
        return account, part


def slots_of(share: Share) -> int:
    """The slots of a share."""
    return next((amount for name, amount in share.counters if name == "slots"), share.tasks)


def gpus_of(share: Share) -> int:
    """The GPUs of a share that the allocation itself holds."""
    return sum("/gpu/" in key for key in share.instances)

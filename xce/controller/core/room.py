"""How many asks of a class a session could place at most, from above: no more need be looked at.

Whatever a class asks for, each of its jobs takes at least what one part of its requirement says of
counters and instances; together they cannot take more than all hosts have free.
"""

from collections.abc import Mapping

from xce.controller.core.arrays.planning import full_of
from xce.controller.core.fold.state import State
from xce.controller.core.queueing.waiting import Waiter
from xce.controller.core.time.policies import time_policies
from xce.model.job import Spec
from xce.model.need import PER_TASK
from xce.scheduler.fit.demand import SLOTS
from xce.scheduler.snapshot import Column


class Room:
    """What is free in all, when a session begins."""

    def __init__(
        self, state: State, free: Mapping[str, Column], counts: Mapping[str, Column]
    ) -> None:
        self._state = state
        self._shared = frozenset(pool.type for pool in state.config.pools)
        self._free = {name: int(column.clip(min=0).sum()) for name, column in free.items()}
        self._counts = {type_: int(column.sum()) for type_, column in counts.items()}
        self.slots = self._free.get(SLOTS, 0)
        depth = max(one.depth for one in time_policies(state.config).values())
        self._more = len(state.index.backing_off) + full_of(state) + depth + 1
        self._known: dict[str, int] = {}

    def most_of(self, waiter: Waiter) -> int:
        """How many of the class of this one are worth a look: those that could be placed, those
        that back off, have no room in their array or may get a reservation, and one to be
        explained."""
        group, key, _ = waiter
        if group:
            return 1
        spec = self._state.index.ordering.waiter(key).spec
        if spec not in self._known:
            self._known[spec] = self._placeable(self._state.specs[spec]) + self._more
        return self._known[spec]

    def _placeable(self, spec: Spec) -> int:
        need = spec.need
        if need.terms or need.others or self._shared:
            return self.slots
        asks_slots = any(name == SLOTS for name, _ in (*need.per_task, *need.per_host))
        asks_slots = asks_slots or any(name == SLOTS for name, _ in need.per_job)
        most = self.slots if asks_slots else self.slots // max(1, spec.tasks)
        for name, amount in need.per_task:
            if amount > 0 and name in self._free:
                most = min(most, self._free[name] // (amount * spec.tasks))
        for item in need.instances:
            count = item.count_per_task * (spec.tasks if item.per == PER_TASK else 1)
            if count > 0 and item.type in self._counts:
                most = min(most, self._counts[item.type] // count)
        return most

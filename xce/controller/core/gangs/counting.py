"""Which gangs have members that wait for a start of their own, kept in step by every change."""

from typing import TYPE_CHECKING, Any

from xce.model.group import Group, GroupSpec
from xce.model.job import Job
from xce.model.tables import ENDED_GROUP

if TYPE_CHECKING:
    from xce.controller.core.fold.indexes import Indexes

_BEING_STOPPED = ("STARTING", "RUNNING", "ENDING")


class GangCounts:
    """By gang: its PENDING members that a start may yet be tried for, and how many members are
    still being stopped although they wait for another start."""

    def __init__(self) -> None:
        self.waiting: dict[int, dict[int, None]] = {}
        self.stopping: dict[int, int] = {}

    def note(self, old: Job | None, new: Job | None) -> bool:
        """A member changed; gives whether it began or ceased to wait."""
        waited, waits = _waits(old), _waits(new)
        before, after = _is_being_stopped(old), _is_being_stopped(new)
        number = (new or old).group  # type: ignore[union-attr]
        if before != after:
            self.stopping[number] = self.stopping.get(number, 0) + after - before
            if not self.stopping[number]:
                del self.stopping[number]
        key = (new or old).key  # type: ignore[union-attr]
        if waits:
            self.waiting.setdefault(number, {})[key] = None
        elif waited:
            mine = self.waiting[number]
            del mine[key]
            if not mine:
                del self.waiting[number]
        return waited != waits


def _waits(job: Job | None) -> bool:
    return job is not None and job.state == "PENDING" and job.awaits != "nothing"


def _is_being_stopped(job: Job | None) -> bool:
    return job is not None and bool(job.awaits) and job.state in _BEING_STOPPED


def note_member(index: "Indexes", old: Any, new: Any) -> None:
    """A job changed that may be a member of a gang."""
    job = new or old
    if not job.group:
        return
    begins = index.gangs.note(old, new)
    group = index.state.groups.get(job.group)
    if group is None or group.state != "RUNNING":
        return
    if begins:
        put_in_order(index, group)
        # What kept the gang's last request waiting says nothing about this one.
        index.freed += 1
    if not (_waits(new) and new.not_before_us):
        return
    if begins or old.not_before_us != new.not_before_us:
        index.timer(new.not_before_us, "backoff", -job.group)


def put_in_order(index: "Indexes", group: Group) -> None:
    """A gang stands in the order while it waits as a whole, or members of it wait."""
    index.pending.discard(-group.number)
    if group.state == "PENDING" or (
        group.state == "RUNNING" and group.number in index.gangs.waiting
    ):
        index.pending.put(index.ordering.of_group(group), f"g{group.number}")
        index.waits += 1


def note_group(index: "Indexes", key: Any, old: Any, new: Any) -> None:
    """A gang changed."""
    index.count_user(old, new)
    index.links.group(key, old, new)
    waits = new is not None and new.state == "PENDING"
    index.back_off(("group", key), waits and new.not_before_us > 0)
    if new is None:
        index.pending.discard(-key)
        return
    put_in_order(index, new)
    _set_timers(index, old, new)


def _set_timers(index: "Indexes", old: Any, new: Group) -> None:
    spec = index.state.group_specs.get(new.spec)
    if new.state == "PENDING":
        _wait(index, new, spec)
    if new.window_until_us and (old is None or old.window_until_us != new.window_until_us):
        index.timer(new.window_until_us, "window", new.number)
    if new.degraded_us and (old is None or old.degraded_us != new.degraded_us):
        grace_us = spec.degraded_grace_us if spec is not None else 0
        index.timer(new.degraded_us + grace_us, "degraded", new.number)
    if new.state in ENDED_GROUP and (old is None or old.state != new.state):
        index.timer(new.ended_us + index.clean_us, "retire_group", new.number)


def _wait(index: "Indexes", group: Group, spec: GroupSpec | None) -> None:
    if group.not_before_us:
        index.timer(group.not_before_us, "backoff", group.number)
    for role in spec.roles if spec is not None else ():
        index.delays(role.member_spec, group.pending_us, -group.number)
    if spec is not None and spec.placement_timeout_us:
        index.timer(group.pending_us + spec.placement_timeout_us, "placement", group.number)

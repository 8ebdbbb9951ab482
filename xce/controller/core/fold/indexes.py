"""What the state can be asked without a search: kept in step by every change, checked by folds.

Nothing here is truth: each index can be rebuilt from the tables (`check.py` does and compares).
They are what keeps work from growing with what it does not touch: who is pending, what lives on
a host, who holds an instance, how much of a counter is used, which deadline comes next.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from xce.controller.core.arrays.counts import ElementCounts
from xce.controller.core.claims.counts import ClaimCounts, note_claim
from xce.controller.core.depending.links import Links
from xce.controller.core.fold.eligible import is_eligible, is_eligible_array
from xce.controller.core.fold.holdings import Trials, add
from xce.controller.core.fold.interned import Interned
from xce.controller.core.fold.shape import Shape
from xce.controller.core.fold.timers import Timers, limit_due_us
from xce.controller.core.gangs.counting import GangCounts, note_group, note_member
from xce.controller.core.job_groups.counts import GroupCounts
from xce.controller.core.queueing.ordering import same_place
from xce.controller.core.queueing.resuming import Resuming
from xce.controller.core.queueing.standing import Standing
from xce.controller.core.resources.lending import (
    alone_at,
    delays_us,
    fall_times_us,
    is_watched,
    kept,
)
from xce.controller.core.time.watch import note_job, note_reservation
from xce.model.ids import array_key, job_index, place_of
from xce.model.job import Job
from xce.model.tables import ENDED_GROUP, ENDED_JOB, LIVE_ATTACHMENT, LIVE_LAUNCH
from xce.model.waiting.array import PENDING, Array

if TYPE_CHECKING:
    from xce.controller.core.fold.state import Key, State

_NONE = object()


class Indexes(Trials, Standing):
    """Derived views of one state. `freed` counts what may let waiting work fit, `waits` what began
    to wait."""

    def __init__(self, state: "State") -> None:
        Trials.__init__(self)
        Standing.__init__(self, state)
        self.state = state
        self.unfit: dict[str, None] = {}
        self.shapes: dict[int, Shape] = {}
        self.elements = ElementCounts()
        self._interned = Interned(state)
        self.users = self._interned.users
        self.links = Links()
        self.job_groups = GroupCounts()
        self.claims = ClaimCounts()
        self.inventory = 0
        self.live_launches: dict[str, dict[int, None]] = {}
        self.live_attachments: dict[str, dict[int, None]] = {}
        self.waiting_specs: dict[str, int] = {}
        self.host_instances: dict[str, dict[str, None]] = {}
        self.starts_of: dict[int, dict[int, None]] = {}
        self.watched: dict[int, None] = {}
        self.limited: dict[int, None] = {}
        self.backing_off: dict[tuple[str, int], None] = {}
        self.resuming = Resuming()
        self.gangs = GangCounts()
        self.timers = Timers()
        self._hooks: dict[str, Callable[[Any, Any, Any], None]] = {
            "job": self._job,
            "array": self._array,
            "job_group": self._may_fit,
            "group": partial(note_group, self),
            "start": self._start,
            "launch": self._launch,
            "allocation": self._allocation,
            "claim": self._claim,
            "attachment": self._attachment,
            "host": self._host,
            "instance": self._instance,
            "setting": self._setting,
            "queue": self._may_fit,
            "observed": self._may_fit,
            "reservation": partial(note_reservation, self),
        }

    def note(self, what: str, key: "Key", old: Any, new: Any) -> None:
        """One entity changed from `old` to `new` (None: not there)."""
        hook = self._hooks.get(what)
        if hook is not None:
            hook(key, old, new)

    @property
    def clean_us(self) -> int:
        """How long what has ended stays in the state."""
        return self.state.config.clean_period_us

    def timer(self, at_us: int, what: str, key: int) -> None:
        """Look at `key` again at `at_us`."""
        self.once_kept(self.timers.set, at_us, what, key)

    # -- one hook per table --------------------------------------------------------------------
    def _job(self, key: Any, old: Any, new: Any) -> None:
        note_member(self, old, new)
        self.job_by_spec(key, old, new)
        for one, sign in ((old, -1), (new, 1)):
            if one is not None and one.state == "PENDING":
                add(self.waiting_specs, one.spec, sign)
        for ref in self.links.waiter(key, old, new):
            self._retire_late_ref(ref)
        waited = old is not None and is_eligible(old)
        waits = new is not None and is_eligible(new)
        if waited and not (waits and same_place(old, new)):
            self.pending.drop(place_of(key))
        if waits and not (waited and same_place(old, new)):
            self.pending.put(self.ordering.of_job(new), self.class_of(new))
            self.waits += 1
        self.back_off(("job", key), waits and new.not_before_us > 0)
        # Also when a held job is let go: its timer may have been lost with an earlier leader.
        if waits and new.not_before_us and not (waited and old.not_before_us == new.not_before_us):
            self.timer(new.not_before_us, "backoff", key)
        if job_index(key):
            self.elements.note(key, old, new)
        self.job_changed(key, old, new)
        freed, waits_more = self.resuming.note(old, new)
        self.freed, self.waits = self.freed + freed, self.waits + waits_more
        if waits and not (waited and old.pending_us == new.pending_us):
            self.delays(new.spec, new.pending_us, key)
        ended = new is not None and new.state in ENDED_JOB and new.group == 0
        if ended and (old is None or old.state != new.state):
            self.timer(new.ended_us + self.clean_us, "retire_job", key)
        # Last: a spec that nobody names any more is forgotten, and the old place is of one.
        self.count_user(old, new)

    def began(self, jobs: Sequence[Job]) -> None:
        """Plain jobs that waited and stood in the order do so no more: all of them at once."""
        specs: dict[str, int] = {}
        owners: dict[int, int] = {}
        for job in jobs:
            specs[job.spec] = specs.get(job.spec, 0) + 1
            owners[job.owner] = owners.get(job.owner, 0) + 1
            if self.backing_off:
                self.back_off(("job", job.key), False)
        for spec, count in specs.items():
            add(self.waiting_specs, spec, -count)
        for owner, count in owners.items():
            self.backlog.begun(owner, count)
        self.pending.drop_all([place_of(job.key) for job in jobs])

    def job_by_spec(self, key: int, old: Any, new: Any) -> None:
        """The part of a job's change that only some specs ask for (`effects_of` says which)."""
        self._in_group(old, new)
        note_job(self.limited, key, new, self.state.specs)
        self._watch(key, old, new)
        due_us = limit_due_us(new, self.state.specs)
        if due_us and due_us != limit_due_us(old, self.state.specs):
            self.timer(due_us, "limit", key)

    def _array(self, key: Any, old: Any, new: Any) -> None:
        """All elements that wait stand in the order as one; each is placed as if it were a job."""
        self.backlog.array(old, new)
        self._in_group(old, new)
        for one, sign in ((old, -1), (new, 1)):
            if one is not None and one.count(PENDING):
                add(self.waiting_specs, one.spec, sign)
        for ref in self.links.waiter(key, old, new):
            self._retire_late_ref(ref)
        waited = old is not None and is_eligible_array(old)
        waits = new is not None and is_eligible_array(new)
        stays = waited and waits and same_place(old, new)
        if waited and not stays:
            self.pending.drop(place_of(array_key(key)))
        if waits and not stays:
            self.pending.put(self.ordering.of_job(new), self.class_of(new))
        self.elements.note_array(key, new)
        self.back_off(("array", key), waits and new.not_before_us > 0)
        if waits and new.not_before_us and not (waited and old.not_before_us == new.not_before_us):
            self.timer(new.not_before_us, "backoff", key)
        spec = self.state.specs.get(new.spec) if new is not None and old is None else None
        if spec is not None and spec.terminate_us:
            self.timer(spec.terminate_us, "limit", key)
        if waits and not (stays and new.count(PENDING) <= old.count(PENDING)):
            self.waits += 1
        if waits and stays and old.limit != new.limit:
            self.waits += 1
        if waits and not (waited and old.pending_us == new.pending_us):
            self.delays(new.spec, new.pending_us, key)
        if new is not None and new.ended_us and (old is None or old.ended_us != new.ended_us):
            self.timer(new.ended_us + self.clean_us, "retire_array", key)
        self.count_user(old, new)

    def _in_group(self, old: Any, new: Any) -> None:
        """A job or an array may be in a job group, and may come to be in another."""
        for one, is_old in ((old, True), (new, False)):
            spec = self.state.specs.get(one.spec) if one is not None else None
            if spec is None or not spec.job_group:
                continue
            count = self.job_groups.array if isinstance(one, Array) else self.job_groups.job
            count(spec.job_group, *((one, None) if is_old else (None, one)))

    def _watch(self, key: int, old: Any, new: Any) -> None:
        """Jobs whose reservations fall with time, or that keep others out of their units."""
        spec = self.state.specs.get(new.spec) if new is not None and new.allocation else None
        watched = spec is not None and (is_watched(spec.need) or alone_at(self.state, new))
        if spec is None or not watched:
            if key in self.watched:
                del self.watched[key]
            return
        self.watched[key] = None
        if new.started_us and (old is None or old.started_us != new.started_us):
            for after_us in fall_times_us(spec.need):
                self.timer(new.started_us + after_us, "reservation", key)

    def delays(self, spec: str, since_us: int, key: int) -> None:
        """Further alternatives of a requirement are tried once their delays are over."""
        found = self.state.specs.get(spec)
        for delay_us in delays_us(found.need) if found is not None else ():
            self.timer(since_us + delay_us, "alternative", key)

    def _start(self, key: Any, old: Any, new: Any) -> None:
        if old is None:
            for job in new.members:
                self.starts_of.setdefault(job, {})[key] = None
        if new is None:
            self.shapes.pop(key, None)
            for job in old.members:
                mine = self.starts_of[job]
                del mine[key]
                if not mine:
                    del self.starts_of[job]
            return
        if new.state == "OPEN" and (old is None or old.state != "OPEN"):
            self.timer(new.deadline_us, "start", key)
        moved = old is None or (old.wave, old.wave_opened_us) != (new.wave, new.wave_opened_us)
        if new.state == "PASSED" and moved:
            group = self.state.groups.get(new.group)
            spec = self.state.group_specs.get(group.spec) if group else None
            if spec is not None:
                self.timer(new.wave_opened_us + spec.ready_timeout_us, "wave", key)

    def _launch(self, key: Any, old: Any, new: Any) -> None:
        host = (new or old).host
        live = self.live_launches.setdefault(host, {})
        if new is not None and new.state in LIVE_LAUNCH:
            live[key] = None
        elif live.pop(key, _NONE) is None and new is not None:
            self._retire_late(new.start)

    def _attachment(self, key: Any, old: Any, new: Any) -> None:
        host = (new or old).host
        live = self.live_attachments.setdefault(host, {})
        self.freed += new is not None and new.state == "READY" and not new.start
        if new is not None and new.state in LIVE_ATTACHMENT:
            live[key] = None
        elif live.pop(key, _NONE) is None and new is not None:
            self._retire_late(new.start)

    def _retire_late(self, start: int) -> None:
        """Leftovers of ended work are gone: its time to retire may have passed meanwhile."""
        found = self.state.starts.get(start)
        if found is None:
            return
        group = self.state.groups.get(found.group)
        if group is not None:
            if group.state in ENDED_GROUP:
                self.timer(group.ended_us + self.clean_us, "retire_group", group.number)
            return
        for job in (self.state.jobs.get(key) for key in found.members):
            if job is not None and job.state in ENDED_JOB:
                self.timer(job.ended_us + self.clean_us, "retire_job", job.key)

    def _retire_late_ref(self, ref: int) -> None:
        """Nobody waits for an ended job or gang any more: its time to retire may have passed."""
        array = self.state.arrays.get(ref)
        if array is not None:
            self.timer(self.state.at_us, "retire_array", ref)
            return
        job = self.state.jobs.get(ref)
        group = self.state.groups.get(job.group if job is not None else -ref)
        over = group if group is not None else job
        if over is not None and over.state in ENDED_JOB:
            what = "retire_job" if group is None else "retire_group"
            key = ref if group is None else group.number
            self.timer(over.ended_us + self.clean_us, what, key)

    def _allocation(self, key: Any, old: Any, new: Any) -> None:
        self.allocation_changed(key, new or old)
        self.claims.allocation(key, old, new)
        for host, counters, instances in kept(old) if old is not None else ():
            self._use(host, counters, -1)
            self._give_back(host, instances, ("allocation", key))
        for host, counters, instances in kept(new) if new is not None else ():
            self._use(host, counters, 1)
            self._hold(host, instances, ("allocation", key))

    def _claim(self, key: Any, old: Any, new: Any) -> None:
        for holding in old.holdings if old is not None else ():
            self._use(holding.host, ((holding.counter, holding.amount),), -1)
            self._give_back(holding.host, (holding.instance,), ("claim", key))
        for holding in new.holdings if new is not None else ():
            self._use(holding.host, ((holding.counter, holding.amount),), 1)
            self._hold(holding.host, (holding.instance,), ("claim", key))
        self.limits.refresh_claim(key)
        note_claim(self, key, old, new)

    def _host(self, key: Any, old: Any, new: Any) -> None:
        known = (None if one is None or one.liveness == "GONE" else one.facts for one in (old, new))
        if next(known) != next(known):
            self.inventory += 1
        self.freed += 1
        self._touch(key)

    def count_user(self, old: Any, new: Any) -> None:
        """Who names a spec: what nobody names any more is forgotten, once the change stays."""
        before = old.spec if old is not None else ""
        after = new.spec if new is not None else ""
        if before != after:
            self.once_kept(self._interned.renamed, before, after)

    def back_off(self, who: tuple[str, int], backs_off: bool) -> None:
        """It waits until its time, or not."""
        if backs_off:
            self.backing_off[who] = None
        else:
            self.backing_off.pop(who, None)

    def _setting(self, key: Any, old: Any, new: Any) -> None:
        """What decides the order or who is charged may have changed."""
        self.freed += 1
        self.config_changed()

    def _may_fit(self, key: Any, old: Any, new: Any) -> None:
        """Other limits, queues or reported values: what did not fit may fit now. The versions of
        hosts stay: no plan is stale for it."""
        self.freed += 1

    def _instance(self, key: Any, old: Any, new: Any) -> None:
        host = (new or old).host
        mine = self.host_instances.setdefault(host, {})
        if new is None:
            mine.pop(key, None)
        else:
            mine[key] = None
        if new is not None and new.state != "PRESENT":
            self.unfit[key] = None
        else:
            self.unfit.pop(key, None)
        if old is None or new is None or (old.state == "GONE") != (new.state == "GONE"):
            self.inventory += 1
        self.freed += 1
        self._touch(host)

"""Whether a placement still holds: it still waits, and what it takes is still free.

A placement names the version of each of its hosts as the plan's own earlier placements leave it.
Where all versions still hold, nothing foreign happened there and membership is all there is to
check; else the hosts, their counters, instances and ports are checked in full.
"""

from xce.controller.core.arrays.elements import found_job
from xce.controller.core.arrays.planning import has_room
from xce.controller.core.claims import binding
from xce.controller.core.claims.counts import amounts_of
from xce.controller.core.claims.placing import holdings_of
from xce.controller.core.claims.using import uses_of, why_not
from xce.controller.core.commands import CommitPlan
from xce.controller.core.fold.eligible import is_eligible
from xce.controller.core.fold.state import State
from xce.controller.core.gangs.asking import due_members
from xce.controller.core.job_groups import limits as job_groups
from xce.controller.core.queueing.limits import Bucket
from xce.controller.core.resources.lending import lent
from xce.controller.core.resources.pools import Pools, free_of, name_of, pools_of
from xce.controller.core.resources.reported import is_told, told_names, total_on
from xce.controller.core.time.reservations import reserved_since
from xce.controller.core.view import viewer_of
from xce.model.config import PoolConfig
from xce.model.ids import job_index, job_number
from xce.model.job import Job
from xce.scheduler.plan import Placement


class Taken:
    """What the accepted placements of one slice took so far. Sums are made when they are asked
    for: where no host changed, nobody asks."""

    def __init__(self) -> None:
        self.bumps: dict[str, int] = {}
        self.pools: dict[str, int] = {}
        self.elements: dict[int, int] = {}
        self.limits: dict[Bucket, int] = {}
        self.job_groups: dict[str, int] = {}
        self._counters: dict[tuple[str, str], int] = {}
        self._instances: dict[str, None] = {}
        self._accepted: list[Placement] = []
        self._summed = 0

    def add(self, pools: Pools, placement: Placement) -> None:
        """One more placement was accepted."""
        self._accepted.append(placement)
        for host, _ in placement.host_versions:
            self.bumps[host] = self.bumps.get(host, 0) + 1
        if placement.job > 0 and job_index(placement.job):
            number = job_number(placement.job)
            self.elements[number] = self.elements.get(number, 0) + 1
        for pool, amount in pooled(pools, placement) if pools else ():
            self.pools[name_of(pool)] = self.pools.get(name_of(pool), 0) + amount

    def claimed(self, state: State, placement: Placement) -> dict[str, int]:
        """What the plan gave so far to standalone claims of the same owner, with or without a
        lease: a little too strict where some have one."""
        owner = state.claims[placement.claim].owner if placement.claim in state.claims else -1
        found: dict[str, int] = {}
        for one in self._accepted:
            if one.claim and state.claims[one.claim].owner == owner:
                for what, amount in amounts_of(holdings_of(state, one)).items():
                    found[what] = found.get(what, 0) + amount
        return found

    def counter(self, host: str, name: str) -> int:
        """How much of a host's counter was taken."""
        self._sum()
        return self._counters.get((host, name), 0)

    def has(self, instance: str) -> bool:
        """Whether an instance was taken."""
        self._sum()
        return instance in self._instances

    def _sum(self) -> None:
        for placement in self._accepted[self._summed :]:
            counters, instances = _asked(placement)
            for at, amount in counters.items():
                self._counters[at] = self._counters.get(at, 0) + amount
            self._instances.update(dict.fromkeys(instances))
        self._summed = len(self._accepted)


class Recheck:
    """The placements of one slice, each looked at behind those that were accepted before it.
    `accepted` has with each the plain job as it is now; None for a gang or a claim."""

    def __init__(self, state: State, command: CommitPlan, now_us: int) -> None:
        self._state = state
        self._now_us = now_us
        self._seen_us = command.snapshot_us
        # Under another configuration queues, limits and types may be others: a new session looks.
        self._same = command.config_lsn == state.config_lsn
        self._reserved = reserved_since(state, command.snapshot_lsn)
        self._told = told_names(state)
        self._dispatching: dict[str, bool] = {}
        self._taken = Taken()
        self.accepted: list[tuple[Placement, Job | None]] = []

    def accepts(self, placement: Placement) -> bool:
        """Whether it still waits and what it takes is still free; then that is taken."""
        state, taken = self._state, self._taken
        if not self._same:
            return False
        if placement.claim:
            return self._accepts_claim(placement)
        job = None
        if placement.group:
            if not self._gang_waits(placement):
                return False
        else:
            job = found_job(state, placement.members[0].job)
            if job is None or not self._job_waits(job):
                return False
        limited, grouped = bool(state.index.limits.limits), bool(state.job_groups)
        if grouped and not job_groups.has_room(state, placement.job, taken.job_groups):
            return False
        if limited and not state.index.limits.holds(placement, taken.limits):
            return False
        if not self._has_hosts(placement):
            return False
        self.accepted.append((placement, job))
        taken.add(state.config.pools, placement)
        if limited:
            state.index.limits.take(placement, taken.limits)
        if grouped:
            job_groups.take_room(state, placement.job, taken.job_groups)
        return True

    def _accepts_claim(self, placement: Placement) -> bool:
        """The same for a standalone claim, which no limit of work counts."""
        own = self._taken.claimed(self._state, placement)
        table = viewer_of(self._state).table()
        if not binding.still_waits(self._state, table, placement, self._now_us, own):
            return False
        if not self._has_hosts(placement):
            return False
        self.accepted.append((placement, None))
        self._taken.add(self._state.config.pools, placement)
        return True

    def _job_waits(self, job: Job) -> bool:
        """Membership, state, hold, back-off, queue and the room in its array."""
        if not is_eligible(job) or job.not_before_us > self._now_us:
            return False
        if not self._dispatches(job.queue):
            return False
        claims = self._state.specs[job.spec].claims
        if claims and why_not(self._state, uses_of(self._state, job)) is not None:
            return False
        return not job_index(job.key) or has_room(self._state, job.key, self._taken.elements)

    def _gang_waits(self, placement: Placement) -> bool:
        state, group = self._state, self._state.groups.get(placement.group)
        if group is not None and group.state == "RUNNING":
            due = {job.key for job in due_members(state, group, self._now_us)}
            placed = {member.job for member in placement.members}
            return placed <= due and self._dispatches(group.queue)
        if group is None or group.state != "PENDING" or group.not_before_us > self._now_us:
            return False
        if not self._dispatches(group.queue):
            return False
        jobs = (state.jobs.get(member.job) for member in placement.members)
        return all(
            job is not None
            and job.state == "PENDING"
            and why_not(state, uses_of(state, job)) is None
            for job in jobs
        )

    def _dispatches(self, queue: str) -> bool:
        found = self._dispatching.get(queue)
        if found is None:
            found = self._dispatching[queue] = self._state.index.ordering.dispatches(queue)
        return found

    def _has_hosts(self, placement: Placement) -> bool:
        """Whether everything that the placement takes of hosts is free."""
        state, taken, reserved = self._state, self._taken, self._reserved
        if reserved and any(host in reserved for host, _ in placement.host_versions):
            return False
        # What a pool has changes by what is held elsewhere, which no version of these hosts tells.
        if state.config.pools and not _pools_hold(state, placement, taken):
            return False
        if self._told and not _reports_hold(state, placement, taken, self._seen_us):
            return False
        version, bumps = state.index.version, taken.bumps
        for host, seen in placement.host_versions:
            if version.get(host, 0) + bumps.get(host, 0) != seen:
                break
        else:
            return True
        # A host that registered since the snapshot may be another machine: only a session that
        # saw its inventory, attributes and domains may place on it.
        hosts = (state.hosts.get(host) for host, _ in placement.host_versions)
        if any(host is None or host.registered_us >= self._seen_us for host in hosts):
            return False
        return _fits_in_full(state, placement, taken, self._seen_us)


def _pools_hold(state: State, placement: Placement, taken: Taken) -> bool:
    return all(
        taken.pools.get(name_of(pool), 0) + amount <= free_of(state, pool)
        for pool, amount in pooled(state.config.pools, placement)
    )


def _reports_hold(state: State, placement: Placement, taken: Taken, seen_us: int) -> bool:
    """Whether what only reporters know is there still: a tick changes no host's version."""
    if not _takes_of(placement, told_names(state)):
        return True
    counters = _asked(placement)[0].items()
    mine = {at: amount for at, amount in counters if is_told(state, *at)}
    return _are_free(state, mine, taken, seen_us)


def _takes_of(placement: Placement, names: frozenset[str]) -> bool:
    """Whether a placement takes of one of these counters."""
    for member in placement.members:
        for share in member.shares:
            for name, _ in share.counters:
                if name in names:
                    return True
    return any(one.counter in names for claim in placement.claims for one in claim.holdings)


def _are_free(
    state: State, counters: dict[tuple[str, str], int], taken: Taken, seen_us: int
) -> bool:
    """Whether these amounts are free on their hosts."""
    short = []
    for (host, name), amount in counters.items():
        used = state.index.used.get(host, {}).get(name, 0) + taken.counter(host, name)
        over = used + amount - total_on(state, host, name)
        if over > 0:
            short.append((host, name, over))
    fallen = lent(state, seen_us) if short else {}
    return all(over <= fallen.get((host, name), 0) for host, name, over in short)


def pooled(pools: Pools, placement: Placement) -> list[tuple[PoolConfig, int]]:
    """What a placement takes of pools, as it names it: by type and host."""
    amounts: dict[str, int] = {}
    found: dict[str, PoolConfig] = {}
    for (host, name), amount in _asked(placement)[0].items():
        pool = pools_of(pools, host).get(name)
        if pool is not None:
            found[name_of(pool)] = pool
            amounts[name_of(pool)] = amounts.get(name_of(pool), 0) + amount
    return [(found[name], amount) for name, amount in amounts.items()]


def _fits_in_full(state: State, placement: Placement, taken: Taken, seen_us: int) -> bool:
    for host, _ in placement.host_versions:
        found = state.hosts[host]
        if found.liveness != "UP" or found.admin != "OPEN":
            return False
        if found.reconciled_epoch != state.epoch:
            return False
    job = found_job(state, placement.job) if placement.job else None
    if job is not None and state.specs[job.spec].exclusive:
        # Something may have come to a host that the job was to have for itself.
        used = (state.index.used.get(host, {}) for host, _ in placement.host_versions)
        if any(any(amounts.values()) for amounts in used):
            return False
    counters, instances = _asked(placement)
    pools = state.config.pools
    own = {at: amount for at, amount in counters.items() if at[1] not in pools_of(pools, at[0])}
    if not _are_free(state, own, taken, seen_us):
        return False
    for key in instances:
        entity = state.instances.get(key)
        if key in state.index.holders or taken.has(key):
            return False
        if entity is not None and entity.state != "PRESENT":
            return False
    return True


def _asked(placement: Placement) -> tuple[dict[tuple[str, str], int], list[str]]:
    counters: dict[tuple[str, str], int] = {}
    instances: list[str] = []
    for member in placement.members:
        for share in member.shares:
            instances.extend(share.instances)
            for name, amount in share.counters:
                counters[share.host, name] = counters.get((share.host, name), 0) + amount
    for claim in placement.claims:
        for holding in claim.holdings:
            if holding.instance:
                instances.append(holding.instance)
            if holding.counter:
                at = (holding.host, holding.counter)
                counters[at] = counters.get(at, 0) + holding.amount
    return counters, instances

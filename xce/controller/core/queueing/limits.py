"""What counts against limits now, kept in step job by job, and what a session is told of it.

A bucket is one count: of a limit, of one thing, for one user, queue, project or application where
the limit counts each by itself, on one host where it is about each host. Buckets are made of what
jobs and claims have; whatever changes of one, its part is taken out and put in again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from xce.controller.core.arrays.elements import job_of
from xce.model.config import Config, LimitConfig
from xce.model.config.limits import JOBS, SLOTS, is_named
from xce.model.config.shares import matches
from xce.model.job import Job
from xce.scheduler.plan import Placement
from xce.scheduler.reasons import PendReason
from xce.scheduler.sharing.bounds import UNBOUNDED, Bound, HostBound
from xce.scheduler.sharing.limits import added, of_holding, of_share

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State

Part = Mapping[str, Mapping[str, int]]
"""Per host, how much of what."""


class Who(NamedTuple):
    """Whose work something is, as far as limits look."""

    owner: int
    queue: str
    project: str
    application: str


class Bucket(NamedTuple):
    """One count of a limit."""

    limit: str
    what: str
    whose: str = ""
    host: str = ""


class LimitBook:
    """The counts of all limits. Empty where there are none."""

    def __init__(self, state: "State") -> None:
        self._state = state
        self.counts: dict[Bucket, int] = {}
        self.limits: tuple[LimitConfig, ...] = ()
        self._allowed: dict[str, dict[str, int]] = {}
        self._parts: dict[tuple[str, int], tuple[tuple[Bucket, int], ...]] = {}
        self._applying: dict[Who, tuple[tuple[LimitConfig, str], ...]] = {}

    def reset(self) -> None:
        """The configuration changed: count everything anew."""
        state = self._state
        self.limits = state.config.all_limits()
        self._allowed = {limit.name: dict(limit.amounts) for limit in self.limits}
        self.counts, self._parts, self._applying = {}, {}, {}
        if self.limits:
            for number in state.allocations:
                self.refresh(number)
            for claim in state.claims:
                self.refresh_claim(claim)

    # -- counting ----------------------------------------------------------------------------------
    def refresh(self, number: int) -> None:
        """An allocation, or the job that it is of, changed. What is left of a start that failed
        counts until its hosts have confirmed that it is gone."""
        if not self.limits:
            return
        state = self._state
        granted = state.allocations.get(number)
        job = state.jobs.get(granted.job) if granted is not None else None
        part: dict[str, dict[str, int]] = {}
        for share in granted.shares if granted is not None else ():
            part[share.host] = added((part.get(share.host, {}), of_share(share)))
        self._put(("allocation", number), self.who_of(job) if job is not None else None, part, 1)

    def refresh_claim(self, number: int) -> None:
        """A claim, or what it holds, changed."""
        if not self.limits:
            return
        state = self._state
        claim = state.claims.get(number)
        start = state.starts.get(claim.start) if claim is not None else None
        part: dict[str, dict[str, int]] = {}
        for holding in claim.holdings if claim is not None else ():
            part[holding.host] = added((part.get(holding.host, {}), of_holding(holding)))
        job = state.jobs.get(claim.job or start.members[0]) if claim and start else None
        self._put(("claim", number), self.who_of(job) if job is not None else None, part, 0)

    def _put(self, what: tuple[str, int], who: Who | None, part: Part, jobs: int) -> None:
        for bucket, amount in self._parts.pop(what, ()):
            self.counts[bucket] -= amount
            if not self.counts[bucket]:
                del self.counts[bucket]
        if who is None or not part:
            return
        made = tuple(self.buckets(who, part, jobs))
        if made:
            self._parts[what] = made
        for bucket, amount in made:
            self.counts[bucket] = self.counts.get(bucket, 0) + amount

    def buckets(self, who: Who, part: Part, jobs: int) -> Iterator[tuple[Bucket, int]]:
        """What each count grows by where `who` has this."""
        for limit, whose in self.applying(who):
            hosts = limit.on_hosts
            named = {host: has for host, has in part.items() if is_named(hosts, host)}
            for what in watched(limit):
                if not hosts:
                    amount = jobs if what == JOBS else added(part.values()).get(what, 0)
                    if amount:
                        yield Bucket(limit.name, what, whose), amount
                    continue
                for host, has in named.items():
                    amount = min(jobs, 1) if what == JOBS else has.get(what, 0)
                    where = host if limit.per_host else ""
                    if amount:
                        yield Bucket(limit.name, what, whose, where), amount

    # -- who is meant ------------------------------------------------------------------------------
    def who_of(self, job: Job) -> Who:
        """Whose work a job is."""
        spec = self._state.specs.get(job.spec)
        project, application = (spec.project, spec.application) if spec is not None else ("", "")
        return Who(job.owner, job.queue, project, application)

    def applying(self, who: Who) -> tuple[tuple[LimitConfig, str], ...]:
        """The limits that count somebody's work, each with whom it counts by himself."""
        known = self._applying.get(who)
        if known is None:
            config = self._state.config
            pairs = ((limit, _whose(config, limit, who)) for limit in self.limits)
            known = tuple((limit, whose) for limit, whose in pairs if whose is not None)
            self._applying[who] = known
        return known

    def bounds(self, who: Who) -> list[Bound]:
        """The limits on the cluster that somebody's work is under, as they stand."""
        return [
            Bound(
                name=limit.name, what=what, allowed=allowed, whose=whose,
                used=self.counts.get(Bucket(limit.name, what, whose), 0),
            )
            for limit, whose in self.applying(who)
            if not limit.on_hosts
            for what, allowed in limit.amounts
        ]  # fmt: skip

    def on_hosts(self, who: Who, names: Sequence[str]) -> dict[str, HostBound]:
        """The limits on hosts that somebody's work is under, each as a counter of its own."""
        found = {}
        for limit, whose in self.applying(who):
            if not limit.on_hosts:
                continue
            amounts = self._allowed
            mine = [is_named(limit.on_hosts, name) for name in names]
            for what in watched(limit):
                buckets = [
                    Bucket(limit.name, what, whose, name if limit.per_host else "")
                    for name in names
                ]
                allowed = np.array([
                    self.allowed(bucket, amounts, name) if own else UNBOUNDED
                    for bucket, name, own in zip(buckets, names, mine, strict=True)
                ], dtype=np.int64)  # fmt: skip
                used = np.array([
                    self.counts.get(bucket, 0) if own else 0
                    for bucket, own in zip(buckets, mine, strict=True)
                ], dtype=np.int64)  # fmt: skip
                shared = None if limit.per_host else np.where(np.array(mine), 0, -1)
                found[f"{limit.name}!{what}!{whose}"] = HostBound(
                    name=limit.name, what=what, whose=whose, shared=shared,
                    allowed=allowed, free=np.maximum(allowed - used, 0),
                )  # fmt: skip
        return found

    def still(self, why: PendReason) -> bool:
        """Whether a class that waited for a limit would still be over it."""
        used = self.counts.get(Bucket(why.where, why.what, why.detail), 0)
        return used + why.needed > why.available

    # -- again at commit ---------------------------------------------------------------------------
    def holds(self, placement: Placement, taken: Mapping[Bucket, int]) -> bool:
        """Whether a placement keeps within all limits, behind what a plan took already."""
        if not self.limits:
            return True
        allowed = self._allowed
        return all(
            self.counts.get(bucket, 0) + taken.get(bucket, 0) + amount
            <= self.allowed(bucket, allowed, bucket.host)
            for bucket, amount in self.of_placement(placement).items()
        )

    def take(self, placement: Placement, taken: dict[Bucket, int]) -> None:
        """Add what each count grows by with a placement to what a plan took already."""
        for bucket, amount in self.of_placement(placement).items():
            taken[bucket] = taken.get(bucket, 0) + amount

    def allowed(self, bucket: Bucket, amounts: Mapping[str, Mapping[str, int]], host: str) -> int:
        """How much a count may come to."""
        said = amounts[bucket.limit].get(bucket.what)
        if said is not None:
            return said
        limit = next(one for one in self.limits if one.name == bucket.limit)
        return limit.slots_per_processor * self.processors(host) // 1000

    def processors(self, host: str) -> int:
        """The processors of a host, its slots where it does not tell."""
        facts = self._state.hosts[host].facts
        told = dict(facts.attributes).get("ncpus")
        return told if isinstance(told, int) else dict(facts.counters).get(SLOTS, 0)

    def of_placement(self, placement: Placement) -> dict[Bucket, int]:
        """What each count grows by with a placement."""
        total: dict[Bucket, int] = {}
        if not self.limits:
            return total
        state = self._state
        who = self.who_of(job_of(state, placement.members[0].job))
        for member in placement.members:
            part: dict[str, dict[str, int]] = {}
            for share in member.shares:
                part[share.host] = added((part.get(share.host, {}), of_share(share)))
            _grow(total, self.buckets(who, part, 1))
        for claim in placement.claims:
            part = {}
            for holding in claim.holdings:
                part[holding.host] = added((part.get(holding.host, {}), of_holding(holding)))
            _grow(total, self.buckets(who, part, 0))
        return total


def _grow(total: dict[Bucket, int], more: Iterator[tuple[Bucket, int]]) -> None:
    for bucket, amount in more:
        total[bucket] = total.get(bucket, 0) + amount


def watched(limit: LimitConfig) -> tuple[str, ...]:
    """What a limit counts."""
    own = tuple(what for what, _ in limit.amounts)
    return own if not limit.slots_per_processor or SLOTS in own else (*own, SLOTS)


def _whose(config: Config, limit: LimitConfig, who: Who) -> str | None:
    """Whom a limit counts by himself, "" for all together; None where it does not count him."""
    users = limit.per_user or limit.users
    if users and not matches(config.user_groups, users, who.owner):
        return None
    fields = (
        (limit.per_queue or limit.queues, who.queue),
        (limit.per_project or limit.projects, who.project),
        (limit.per_application or limit.applications, who.application),
    )
    if any(words and not is_named(words, name) for words, name in fields):
        return None
    each = [f"user {who.owner}"] if limit.per_user else []
    each += [f"queue {who.queue}"] if limit.per_queue else []
    each += [f"project {who.project or 'default'}"] if limit.per_project else []
    each += [f"application {who.application or 'default'}"] if limit.per_application else []
    return ", ".join(each)

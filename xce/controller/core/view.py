"""What a session sees of the state: a snapshot of copied columns, and asks in order.

The static half (names, attributes, domains, totals) is kept between sessions and built anew only
when the inventory changed; the rest is folded from the holdings at this lsn.
"""

from collections.abc import Mapping, Sequence
from heapq import merge
from typing import Any

import numpy as np
from msgspec import structs

from xce.controller.core.arrays.elements import job_of
from xce.controller.core.arrays.planning import singly
from xce.controller.core.claims.placing import waiting_asks
from xce.controller.core.claims.using import parts_of
from xce.controller.core.columns import Columns, standing_of
from xce.controller.core.fold.state import State
from xce.controller.core.gangs.viewing import gang_ask, part_ask
from xce.controller.core.job_groups.limits import rooms
from xce.controller.core.life.suspending import hosts_of, waiting_members
from xce.controller.core.queueing import fairness
from xce.controller.core.queueing.bounds import Bounds
from xce.controller.core.queueing.queues import outside_run_window, why_not
from xce.controller.core.queueing.waiting import Waiter
from xce.controller.core.resources.lending import exclusive_use, lent, owed
from xce.controller.core.resources.pools import free_of, pools_of, total_of
from xce.controller.core.resources.reported import open_counters
from xce.controller.core.room import Room
from xce.controller.core.time.ends import endings, left_us
from xce.controller.core.time.giving_way import preempting
from xce.controller.core.time.joining import with_left
from xce.controller.core.time.policies import time_policies
from xce.controller.core.time.reservations import holds
from xce.controller.core.time.watch import length_us
from xce.model.config import PoolConfig
from xce.model.host import Host
from xce.model.job import Job
from xce.model.placing import Share
from xce.model.resources import site_types
from xce.scheduler.fit.processors import CPU
from xce.scheduler.order import Line, Place
from xce.scheduler.place.topology import default_level
from xce.scheduler.reasons import PendReason
from xce.scheduler.snapshot import (
    Ask,
    Back,
    Column,
    HostEntry,
    HostTable,
    Mask,
    Observed,
    ResumeAsk,
    RoleAsk,
    SameAsk,
    Snapshot,
)
from xce.scheduler.time.terms import NONE

ASKS_MAX = 1_000_000
AWAY = frozenset({"host_joining", "host_suspect", "host_down"})


def viewer_of(state: State) -> "Viewer":
    """The viewer that decisions on this state look through."""
    found: Viewer = state.memo.setdefault("viewer", None) or Viewer(state)
    state.memo["viewer"] = found
    return found


class Viewer:
    """Makes snapshots of one state; remembers the host table and the asks it built."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._table: HostTable | None = None
        self._inventory = -1
        self._levels: tuple[str, ...] = ()
        self._pools: tuple[tuple[PoolConfig, int], ...] = ()
        self._pool_columns: dict[str, Column] = {}
        self._seen: tuple[tuple[int, int, HostTable], dict[str, Observed]] | None = None
        self._columns = Columns(state)

    def table(self) -> HostTable:
        """The static half at the present inventory."""
        state = self._state
        pools = tuple((pool, total_of(state, pool)) for pool in state.config.pools)
        seen = (state.index.inventory, state.config.levels, pools)
        if self._table is None or seen != (self._inventory, self._levels, self._pools):
            self._inventory, self._levels, self._pools = seen
            self._table = HostTable.build(
                state.config.levels,
                [self._entry(host) for host in state.hosts.values() if host.liveness != "GONE"],
            )
            self._pool_columns = self._numbered(self._table)
        return self._table

    def _entry(self, host: Host) -> HostEntry:
        keys = sorted(self._state.index.host_instances.get(host.name, {}))
        found = (self._state.instances[key] for key in keys)
        entry = HostEntry.of(host, [one for one in found if one.state != "GONE"])
        if not self._pools:
            return entry
        mine = pools_of(self._state.config.pools, host.name)
        own = dict(host.facts.counters)
        own |= {pool.type: 0 for pool, _ in self._pools}
        own |= {pool.type: total for pool, total in self._pools if mine.get(pool.type) == pool}
        facts = structs.replace(host.facts, counters=tuple(sorted(own.items())))
        return structs.replace(entry, facts=facts)

    def snapshot(
        self, now_us: int, known: Mapping[str, PendReason] | None = None, limit: int = ASKS_MAX,
        more: Sequence[Ask] = (),
    ) -> Snapshot:  # fmt: skip
        """What the next session works on: at most `limit` asks in order, and `more` behind them."""
        state = self._state
        table = self.table()
        columns = self._columns
        columns.follow(table)
        told = open_counters(table, state.config.types)
        free = self._free(table, told, now_us)
        session = state.last("session") + 1
        reasons = known or {}
        room = {**dict.fromkeys(told, np.zeros(1, dtype=np.int64)), **free}
        asks = (*self.asks(now_us, reasons, limit, room), *more)
        resumes = self._resumes(now_us)
        whole = tuple(ask for ask in asks if isinstance(ask, Ask))
        accounts = {ask.account for ask in whole} | {ask.account for ask in resumes}
        shared = sorted(accounts - {""})
        bounds = Bounds(state, table.names)
        asks = _bounded(bounds, asks) if state.index.limits.limits else asks
        claims = waiting_asks(state, table, now_us, reasons) if limit else []
        whole = (*whole, *claims)
        asks = tuple(merge(asks, claims, key=lambda ask: ask.order)) if claims else asks
        return Snapshot(
            lsn=state.lsn,
            session=session,
            now_us=now_us,
            hosts=table,
            standing=self._standings(table),
            free={**free, **bounds.free()},
            free_masks={type_: tuple(masks) for type_, masks in columns.masks.items()},
            free_counts={type_: counts.copy() for type_, counts in columns.counts.items()},
            free_ports=columns.ports,
            versions=tuple(columns.versions),
            pending=asks,
            resumes=resumes,
            shut_queues=self._shut(whole),
            queue_hosts={one.name: one.hosts for one in state.config.queues if one.hosts},
            types=site_types(state.config.types),
            seed=session,
            known=reasons,
            observed=self._observed(table),
            told=told,
            pools={**self._pool_columns, **bounds.shared()},
            job_groups=rooms(state),
            accounts=fairness.accounts(state, shared, now_us),
            bounds=tuple(bounds.on_cluster),
            host_bounds=bounds.on_hosts,
            **self._time(now_us),
        )

    def _time(self, now_us: int) -> dict[str, Any]:
        """Who ends when and what is reserved; nobody asks for ends where nothing is."""
        state = self._state
        policies = time_policies(state.config)
        counts = state.tables["reservation"] or any(one.policy != NONE for one in policies.values())
        return {
            "ends": endings(state, now_us) if counts else (),
            "holds": with_left(state, holds(state)),
            "time_policies": policies,
            "preempting": preempting(state, now_us),
        }

    def _shut(self, asks: Sequence[Ask]) -> dict[str, PendReason]:
        """Queues that give out nothing now, and why."""
        names = sorted({ask.queue for ask in asks})
        found = ((name, why_not(self._state, name)) for name in names)
        return {name: why for name, why in found if why is not None}

    def _standings(self, table: HostTable) -> tuple[str, ...]:
        """Each host's standing; those of a unit that a job has for itself take nobody else."""
        closed: set[int] = set()
        for level, name in exclusive_use(self._state):
            row = table.index.get(name)
            domains = table.domains.get(level or default_level(table))
            if row is not None and domains is not None:
                closed.update(i for i, domain in enumerate(domains) if domain == domains[row])
        standing = self._columns.standing
        if not closed:
            return standing
        return tuple(
            why or ("host_exclusive" if row in closed else "") for row, why in enumerate(standing)
        )

    def _free(self, table: HostTable, told: Mapping[str, Mask], now_us: int) -> dict[str, Column]:
        free = {name: column.copy() for name, column in self._columns.free.items()}
        free |= self._columns.reported(table, told, self._observed(table))
        for (name, counter), amount in lent(self._state, now_us).items():
            if name in table.index and counter in free:
                free[counter][table.index[name]] += amount
        for number, (pool, _) in enumerate(self._pools):
            seeing = self._pool_columns[pool.type] == number
            free[pool.type][seeing] = free_of(self._state, pool)
        return free

    def _numbered(self, table: HostTable) -> dict[str, Column]:
        """Per shared type, the number of the pool that each host sees; -1 for none."""
        found: dict[str, Column] = {}
        pools = self._state.config.pools
        for number, (pool, _) in enumerate(self._pools):
            column = found.setdefault(pool.type, np.full(len(table.names), -1, dtype=np.int64))
            seeing = (pools_of(pools, name).get(pool.type) == pool for name in table.names)
            column[np.fromiter(seeing, dtype=bool, count=len(table.names))] = number
        return found

    def _observed(self, table: HostTable) -> dict[str, Observed]:
        """Reported numbers as columns, made anew when a tick or a new leader changed them."""
        state = self._state
        seen = (state.last("tick_lsn"), state.last("leader_us"), table)
        known = self._seen
        if known is None or known[0][:2] != seen[:2] or known[0][2] is not table:
            known = self._seen = (seen, self._observed_columns(table))
        return known[1]

    def _observed_columns(self, table: HostTable) -> dict[str, Observed]:
        """What is not in the state is not known."""
        found: dict[str, Observed] = {}
        count = len(table.names)
        for of, told in self._state.observed.items():
            row = table.index.get(of)
            for name, value in told.values if row is not None else ():
                if isinstance(value, int):
                    column = found.get(name)
                    if column is None:
                        column = found[name] = Observed(
                            values=np.zeros(count, dtype=np.int64),
                            known=np.zeros(count, dtype=bool),
                        )
                    column.values[row], column.known[row] = value, True
        return found

    # -- asks ------------------------------------------------------------------------------------
    def asks(
        self, now_us: int, known: Mapping[str, PendReason], limit: int, free: Mapping[str, Column]
    ) -> list[Ask | SameAsk]:
        """Pending work in order, without classes known not to fit; of each other class one more
        than could be placed at most, since the last one is to be explained."""
        state, pending = self._state, self._state.index.pending
        room = Room(state, free, self._columns.counts)
        places = singly(state, pending.places(known, room.most_of), room.most_of, now_us)
        accounts = fairness.accounts(state, pending.accounts(known), now_us)
        line = Line(((one[0], one) for one in places), accounts) if accounts else None
        likes: dict[str, Ask] = {}
        found: list[Ask | SameAsk] = []
        for place, waiter in places if line is None else line:
            if len(found) >= limit:
                break
            ask = self._ask(place, waiter, likes, now_us)
            if ask is not None:
                found.append(ask)
                if line is not None:
                    line.booked(slots_asked(ask))
        return found

    def _ask(
        self, place: Place, waiter: Waiter, likes: dict[str, Ask], now_us: int
    ) -> Ask | SameAsk | None:
        """One ask, in short where its class was met before; None while it may not be placed."""
        group, key, class_key = waiter
        like = likes.get(class_key)
        if like is not None:
            if ("job", key) in self._state.index.backing_off and self.ask(*waiter, now_us) is None:
                return None
            return SameAsk(key, class_key, like, place)
        ask = self.ask(*waiter, now_us)
        if ask is not None and not group and not ask.roles[0].need.others:
            likes[class_key] = ask
        return ask

    def ask(self, group: int, key: int, class_key: str, now_us: int) -> Ask | None:
        """One ask; None while it backs off or a member of it is held."""
        state = self._state
        if group:
            found = state.groups[group]
            if found.state == "RUNNING":
                return part_ask(state, found, class_key, now_us)
            return None if found.not_before_us > now_us else gang_ask(state, found, class_key)
        job = job_of(state, key)
        return None if job.not_before_us > now_us else self._plain(job, class_key)

    def _resumes(self, now_us: int) -> tuple[ResumeAsk, ...]:
        """Suspended work that is to go on, in order."""
        found = (self._resume(waiter, now_us) for waiter in self._state.index.resuming)
        return tuple(sorted(found, key=lambda ask: ask.order))

    def _resume(self, waiter: tuple[int, int], now_us: int) -> ResumeAsk:
        state, (group, key) = self._state, waiter
        members = waiting_members(state, waiter)
        shares = (share for one in members for share in owed(state, state.jobs[one], now_us))
        away = (
            (name, standing)
            for name in hosts_of(state, members)
            if (standing := standing_of(state, state.hosts[name])) in AWAY
        )
        who = state.groups[group] if group else state.jobs[key]
        of, kept = state.index.ordering, outside_run_window(state, who.queue)
        place = of.of_job(who) if isinstance(who, Job) else of.of_group(who)
        return ResumeAsk(
            group=group, job=key, order=place.key, parts=tuple(self._back(one) for one in shares),
            away=next(away, None), left_us=left_us(state, members), account=place.account,
            fixed=place.fixed, kept=kept,
        )  # fmt: skip

    def _back(self, share: Share) -> Back:
        """A lent share as columns and bits."""
        bits: dict[str, int] = {}
        for key in share.instances:
            _, type_, name = key.split("/", 2)
            found = self._state.instances.get(key)
            if found is not None or type_ == CPU:
                bit = found.number if found is not None else int(name)
                bits[type_] = bits.get(type_, 0) | 1 << bit
        return Back(
            host=self.table().index[share.host],
            counters=tuple((name.partition("@")[0], n) for name, n in share.counters),
            bits=tuple(sorted(bits.items())),
        )

    def _plain(self, job: Job, class_key: str) -> Ask | None:
        spec = self._state.specs[job.spec]
        parts = parts_of(self._state, spec.claims)
        if parts is None:
            return None
        role = RoleAsk(
            jobs=(job.key,), need=spec.need, tasks=spec.tasks, tasks_max=spec.tasks_max,
            run=spec.run, topology=spec.topology, claims=parts[0], within=parts[1],
            exclusive=spec.exclusive,
        )  # fmt: skip
        place = self._state.index.ordering.of_job(job)
        return Ask(
            order=place.key, class_key=class_key, queue=job.queue,
            owner=job.owner, roles=(role,), pending_us=job.pending_us, length_us=length_us(spec),
            account=place.account, fixed=place.fixed, avoid=job.avoid,
            job_group=spec.job_group, reservation=spec.reservation,
        )  # fmt: skip


def _bounded(bounds: Bounds, asks: Sequence[Ask | SameAsk]) -> tuple[Ask | SameAsk, ...]:
    """The asks with what limits make them take; asks of one class are bounded alike."""
    likes: dict[str, Ask] = {}
    found: list[Ask | SameAsk] = []
    for ask in asks:
        if isinstance(ask, SameAsk):
            if ask.class_key not in likes:
                likes[ask.class_key] = bounds.bounded(ask.like)
            found.append(structs.replace(ask, like=likes[ask.class_key]))
        else:
            found.append(bounds.bounded(ask))
    return tuple(found)


def slots_asked(ask: Ask | SameAsk) -> int:
    """About what the ask takes when it is placed."""
    ask = ask.like if isinstance(ask, SameAsk) else ask
    return sum(role.tasks * role.count for role in ask.roles)

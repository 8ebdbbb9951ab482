"""One session: asks in order, each placed or skipped, one reason for every class that waits.

    for ask in pending:            # the caller keeps the order
        blocked class?  -> count it and go on: nothing is freed within a session
        compile         -> needs, candidates, or a refusal; once per class
        place           -> one host directly, everything else by the bounded search
        no place?       -> the class is blocked, and explained once

A session is pure: the same snapshot gives the same plan, byte for byte. `SessionRun` does it in
portions of a fixed count of work, so that a loop can do other things in between; a portion ends
only between two asks. One step is one ask passed over, or one host of one choice of the search; an
ask that is really tried costs TRY_STEPS more, and a class that is met for the first time one step
for every HOSTS_PER_STEP hosts, so that equal counts are about equal work.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct, structs

from xce.resreq.errors import ResreqError
from xce.scheduler.candidates import Workspace
from xce.scheduler.explain import Case, explain
from xce.scheduler.fit.caps import Hosts, caps
from xce.scheduler.fit.demand import MemberNeed, Shape, compile_role
from xce.scheduler.fit.lay import Cell
from xce.scheduler.fit.shares import role_outcome
from xce.scheduler.place.gang import Search
from xce.scheduler.place.scopes import RolePlan
from xce.scheduler.place.serial import SerialRow
from xce.scheduler.place.topology import known
from xce.scheduler.plan import ClassReason, PlacedClaim, PlacedMember, Placement, Plan, sealed
from xce.scheduler.reasons import Code, PendReason, reason
from xce.scheduler.snapshot import USABLE, Ask, Snapshot, free_ranges

TRY_STEPS = 8
HOSTS_PER_STEP = 16


class Budget(Struct, frozen=True, gc=False):
    """How much work a session may do at most, in steps; 0 is no limit."""

    steps: int = 0


NO_LIMIT = Budget()


class Compiled(Struct, frozen=True, gc=False, kw_only=True):
    """What a class comes down to: needs and hosts per role, or why it cannot be tried at all."""

    refusal: PendReason | None = None
    needs: tuple[MemberNeed, ...] = ()
    matching: tuple[Hosts, ...] = ()
    allowed: tuple[Hosts, ...] = ()
    serial: SerialRow | None = None


class Waiting:
    """A blocked class while the session runs: its reason, first ask and number of asks."""

    def __init__(self, why: PendReason, first: str) -> None:
        self.why = why
        self.first = first
        self.count = 0


class SessionRun:
    """A session that is done in portions; `plan` is what it has come to so far."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._work = Workspace(snapshot)
        self._empty: Workspace | None = None
        self._asks: Iterator[Ask] = iter(snapshot.pending)
        self._classes: dict[str, Compiled] = {}
        self._waiting: dict[str, Waiting] = {}
        self._touches = [0] * len(snapshot.hosts.names)
        self._placements: list[Placement] = []
        self._plan: Plan | None = None
        self.steps = 0

    def advance(self, steps: int = 0) -> bool:
        """Works on for `steps` more steps (0 = to the end); True when the session is over."""
        until, self._plan = self.steps + steps, None
        for ask in self._asks:
            self._consider(ask)
            if steps and self.steps >= until:
                return False
        return True

    @property
    def plan(self) -> Plan:
        """The plan so far, sealed with its digest."""
        if self._plan is None:
            reasons = tuple(
                ClassReason(class_key=key, reason=entry.why, first=entry.first, waiting=entry.count)
                for key, entry in self._waiting.items()
            )
            self._plan = sealed(
                Plan(
                    session=self._snapshot.session,
                    snapshot_lsn=self._snapshot.lsn,
                    placements=tuple(self._placements),
                    reasons=reasons,
                    steps=self.steps,
                )
            )
        return self._plan

    def _consider(self, ask: Ask) -> None:
        self.steps += 1
        blocked = self._waiting.get(ask.class_key)
        if blocked is None and ask.class_key in self._snapshot.known:
            blocked = Waiting(self._snapshot.known[ask.class_key], ask.label)
            self._waiting[ask.class_key] = blocked
        if blocked is not None:
            blocked.count += 1
            return
        outcome = self._try(ask)
        if isinstance(outcome, Placement):
            self._placements.append(outcome)
        else:
            self._waiting[ask.class_key] = Waiting(outcome, ask.label)
            self._waiting[ask.class_key].count = 1

    def _try(self, ask: Ask) -> Placement | PendReason:
        compiled = self._classes.get(ask.class_key)
        if compiled is None:
            compiled = self._classes[ask.class_key] = self._compile(ask)
            self.steps += len(self._touches) // HOSTS_PER_STEP
        if compiled.refusal is not None:
            return compiled.refusal
        self.steps += TRY_STEPS
        turn = self._snapshot.seed or self._snapshot.session
        salt = turn + (ask.group or ask.roles[0].jobs[0])
        if compiled.serial is not None:
            cell = compiled.serial.place(salt)
            if cell is None:
                return self._why(ask, compiled, exhausted=False)
            return self._placement(ask, compiled.needs, [cell], 1)
        plans = plans_of(self._work, ask, compiled.needs, compiled.allowed)
        search = Search(self._work, ask, plans, salt)
        cells = search.run()
        self.steps += search.steps
        if cells is None:
            return self._why(ask, compiled, exhausted=search.exhausted)
        return self._placement(ask, compiled.needs, cells, search.steps)

    def _compile(self, ask: Ask) -> Compiled:
        try:
            refusal = refused(self._snapshot, ask)
            if refusal is not None:
                return Compiled(refusal=refusal)
            needs = tuple(compile_role(ask, role, self._snapshot.types) for role in ask.roles)
            matching = tuple(self._hosts(need) for need in needs)
        except ResreqError as error:
            return Compiled(refusal=reason(Code.BAD_SELECT, detail=str(error)))
        allowed = tuple(
            hosts[self._work.allowed(ask, need.select)[hosts]]
            for hosts, need in zip(matching, needs, strict=True)
        )
        serial = SerialRow(self._work, needs[0], allowed[0]) if is_serial(ask, needs) else None
        return Compiled(needs=needs, matching=matching, allowed=allowed, serial=serial)

    def _hosts(self, need: MemberNeed) -> Hosts:
        """The hosts that match the select and know their domain at every level that is asked."""
        mask = self._work.matching(need.select).copy()
        for item in (*need.own.items, *need.anchor.items):
            self._work.eligible(item.type, item.select)
            if item.same:
                mask &= known(self._work.hosts, item.same)
        return np.flatnonzero(mask)

    def _placement(
        self, ask: Ask, needs: Sequence[MemberNeed], cells: Sequence[Cell], steps: int
    ) -> Placement:
        members: list[PlacedMember] = []
        claims: list[PlacedClaim] = []
        for index, (role, need) in enumerate(zip(ask.roles, needs, strict=True)):
            mine = [cell for cell in cells if cell.role == index]
            placed, made = role_outcome(self._work, role, need, mine)
            members.extend(placed)
            claims.extend(made)
        return Placement(
            group=ask.group,
            members=tuple(members),
            claims=tuple(claims),
            host_versions=self._versions(sorted({cell.host for cell in cells})),
            steps=steps,
        )

    def _versions(self, hosts: Sequence[int]) -> tuple[tuple[str, int], ...]:
        """The versions as the plan's earlier placements leave them; this one counts from now on."""
        found = []
        for host in hosts:
            version = self._snapshot.versions[host] + self._touches[host]
            found.append((self._work.hosts.names[host], version))
            self._touches[host] += 1
        return tuple(found)

    def _why(self, ask: Ask, compiled: Compiled, *, exhausted: bool) -> PendReason:
        if self._empty is None:
            self._empty = Workspace(emptied(self._snapshot))
        cases = [
            Case(
                work=self._work,
                empty=self._empty,
                ask=ask,
                role=role,
                need=need,
                matching=matching,
                allowed=allowed,
            )
            for role, need, matching, allowed in zip(
                ask.roles, compiled.needs, compiled.matching, compiled.allowed, strict=True
            )
        ]
        why = explain(cases, exhausted=exhausted, bound=self._snapshot.search_bound)
        if why.code is Code.SCATTERED and self._never(self._empty, ask, compiled):
            never = reason(Code.NEVER_SCATTERED, detail=why.detail)
            why = structs.replace(never, hosts=why.hosts)
        return why

    def _never(self, empty: Workspace, ask: Ask, compiled: Compiled) -> bool:
        """Whether the ask has no place even where nothing runs; a given-up search says no."""
        plans = plans_of(empty, ask, compiled.needs, compiled.matching)
        search = Search(empty, ask, plans, 0)
        with empty.ledger.trial():
            found = search.run()
        self.steps += search.steps
        return found is None and not search.exhausted


def run_session(snapshot: Snapshot, budget: Budget = NO_LIMIT) -> Plan:
    """The plan for a snapshot; asks beyond the budget are not looked at."""
    run = SessionRun(snapshot)
    run.advance(budget.steps)
    return run.plan


def dry_run(snapshot: Snapshot, ask: Ask) -> Placement | PendReason:
    """What a session would say to this ask if it were alone: for `--dry-run` and `explain`."""
    alone = structs.replace(snapshot, pending=(ask,), known={})
    plan = run_session(alone)
    return plan.placements[0] if plan.placements else plan.reasons[0].reason


def plans_of(
    work: Workspace, ask: Ask, needs: Sequence[MemberNeed], hosts: Sequence[Hosts]
) -> list[RolePlan]:
    """The roles with the room that each of their hosts has now."""
    plans = []
    for index, (role, need, own) in enumerate(zip(ask.roles, needs, hosts, strict=True)):
        units = np.zeros(len(work.hosts.names), dtype=np.int64)
        units[own] = caps(work, need.load(False, False), own)
        plans.append(RolePlan(index=index, role=role, need=need, units=units))
    return plans


def is_serial(ask: Ask, needs: Sequence[MemberNeed]) -> bool:
    """Whether the ask is one member on one host without a topology request."""
    if len(ask.roles) != 1 or ask.roles[0].count != 1 or needs[0].shape is not Shape.ONE_HOST:
        return False
    requests = (ask.topology, ask.roles[0].topology)
    return not any(request.required or request.preferred for request in requests)


def refused(snapshot: Snapshot, ask: Ask) -> PendReason | None:
    """What keeps an ask from being tried at all, however the hosts are."""
    if ask.queue in snapshot.inactive_queues:
        return reason(Code.QUEUE_INACTIVE, where=ask.queue)
    requests = [ask.topology, *(role.topology for role in ask.roles)]
    if any(request.segment for request in requests):
        return reason(Code.UNSUPPORTED, detail="topology.segment")
    if any(role.spares for role in ask.roles):
        return reason(Code.UNSUPPORTED, detail="spares")
    claims = [*ask.claims, *(claim for role in ask.roles for claim in role.claims)]
    for claim in claims:
        if claim.use:
            return reason(Code.UNSUPPORTED, detail=f"the standalone claim {claim.use}")
    asked = [level for r in requests for level in (r.required, r.preferred) if level]
    for level in (*asked, *(claim.same for claim in claims if claim.same)):
        if level not in snapshot.hosts.levels:
            declared = ", ".join(snapshot.hosts.levels) or "none"
            return reason(Code.UNKNOWN_LEVEL, what=level, detail=declared)
    return None


def emptied(snapshot: Snapshot) -> Snapshot:
    """The same hosts as if all could be used and nothing ran on them."""
    return structs.replace(
        snapshot,
        standing=(USABLE,) * len(snapshot.standing),
        free=snapshot.hosts.totals,
        free_masks=snapshot.hosts.all_masks(),
        free_ports=tuple(free_ranges(ports, ()) for ports in snapshot.hosts.ports),
        pending=(),
    )


__all__ = ["Budget", "SessionRun", "dry_run", "run_session"]

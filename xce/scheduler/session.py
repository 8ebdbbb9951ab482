"""One session: asks in order, each placed or skipped, one reason for every class that waits.

    for ask in the line:           # the caller keeps the order; shares turn with what is booked
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

from collections.abc import Sequence

from msgspec import Struct, structs

from xce.scheduler.candidates import Workspace, emptied
from xce.scheduler.explain import RANK, Case, explain
from xce.scheduler.fit.demand import SLOTS
from xce.scheduler.fit.lay import Cell
from xce.scheduler.fit.shares import PartCells, role_outcome
from xce.scheduler.ledger import Taking
from xce.scheduler.limits.job_groups import GroupRooms
from xce.scheduler.order import Line
from xce.scheduler.place.classes import (
    Choice,
    Compiled,
    Term,
    choices_of,
    compile_ask,
    plans_of,
)
from xce.scheduler.place.gang import Search
from xce.scheduler.place.growth import is_range, largest, of_size, sizes_of
from xce.scheduler.place.resuming import PREFIX, in_order, take_back
from xce.scheduler.place.rows import exclusive_ids
from xce.scheduler.plan import ClassReason, PlacedClaim, PlacedMember, Placement, Plan, Seal
from xce.scheduler.reasons import Code, Cure, PendReason, reason
from xce.scheduler.serial.lane import Lane, Waiting
from xce.scheduler.serial.quick import Quick
from xce.scheduler.serial.shelf import Shelves
from xce.scheduler.sharing.limits import Limits, least_of, on_hosts, taken_by
from xce.scheduler.snapshot import Ask, ResumeAsk, SameAsk, Snapshot
from xce.scheduler.time.backfill import Backfill

SECOND_US = 1_000_000
FIRST: Choice = (0,)
TRY_STEPS = 8
HOSTS_PER_STEP = 16


class Budget(Struct, frozen=True, gc=False):
    """How much work a session may do at most, in steps; 0 is no limit."""

    steps: int = 0


NO_LIMIT = Budget()
NEVER_OF = {Code.SCATTERED: Code.NEVER_SCATTERED, Code.NOT_LAID: Code.NEVER_LAID}


class SessionRun:
    """A session that is done in portions; `plan` is what it has come to so far."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._work = Workspace(snapshot)
        self._shelves = Shelves(self._work)
        self._time = Backfill(self._work)
        self._limits = Limits(snapshot.bounds)
        self._empty: Workspace | None = None
        asks = in_order(snapshot.resumes, snapshot.pending)
        self._line = Line(((ask.place, ask) for ask in asks), snapshot.accounts)
        self._resumes: list[tuple[int, int]] = []
        self._lanes: dict[str, Lane] = {}
        self._waiting: dict[str, Waiting] = {}
        self._groups = GroupRooms(snapshot.job_groups)
        self._versions = list(snapshot.versions)
        self._placements: list[Placement] = []
        self._seal = Seal(snapshot.session, snapshot.lsn)
        self._plan: Plan | None = None
        self.steps = 0

    def advance(self, steps: int = 0) -> bool:
        """Works on for `steps` more steps (0 = to the end); True when the session is over."""
        until, self._plan = self.steps + steps, None
        for ask in self._line:
            if isinstance(ask, ResumeAsk):
                self._resume(ask)
            else:
                self._consider(ask)
            if steps and self.steps >= until:
                self._seal.take(self._placements)
                return False
        self._seal.take(self._placements)
        return True

    @property
    def plan(self) -> Plan:
        """The plan so far, sealed with its digest."""
        if self._plan is None:
            reasons = tuple(
                ClassReason(class_key=key, reason=entry.why, first=entry.first, waiting=entry.count)
                for key, entry in self._waiting.items()
            )
            self._plan = Plan(
                session=self._snapshot.session,
                snapshot_lsn=self._snapshot.lsn,
                placements=tuple(self._placements),
                reasons=reasons,
                steps=self.steps,
                digest=self._seal.digest(self._placements, self._time.decided, self._resumes),
                reserves=tuple(self._time.reserves),
                evictions=tuple(self._time.evictions),
                resumes=tuple(self._resumes),
            )
        return self._plan

    def _resume(self, ask: ResumeAsk) -> None:
        """Suspended work goes on, or waits for what it lent."""
        self.steps += TRY_STEPS
        self._time.prepare_to_resume(ask)
        why = ask.kept or take_back(self._work, ask)
        if why is None:
            self._time.resumed(ask)
            self._line.booked(ask.slots)
            self._resumes.append((ask.group, ask.job))
        else:
            self._waiting[PREFIX + ask.label] = waits = Waiting(why, ask.label)
            waits.count = 1

    # -- one ask: skipped, tried, blocked ----------------------------------------------------
    def _consider(self, ask: Ask | SameAsk) -> None:
        self.steps += 1
        lane = self._lanes.get(ask.class_key)
        if lane is None:
            lane = self._lanes[ask.class_key] = Lane(ask.whole())
        full = self._groups.refuses(lane.job_group) if lane.job_group else None
        if full is not None:
            self._waiting.setdefault(ask.class_key, Waiting(full, ask.label)).count += 1
        elif self._time.plays(lane.timed) and self._time.minds(ask, lane.stopped is not None):
            self._try_whole(lane, ask.whole())
        elif lane.stopped is not None:
            lane.stopped.count += 1
        elif lane.quick is not None:
            self._try_quick(lane, lane.quick, ask)
        else:
            self._try_whole(lane, ask.whole())

    def _try_quick(self, lane: Lane, quick: Quick, ask: Ask | SameAsk) -> None:
        """A class that was compiled before and has a short way."""
        self.steps += TRY_STEPS
        over = self._limits.refuses(lane.limits, lane.least) if lane.limits else None
        placement = quick.place(ask.job, self._versions) if over is None else None
        if placement is not None:
            self._placements.append(placement)
            if lane.limits:
                self._limits.booked(lane.limits, lane.least)
            if lane.job_group:
                self._groups.book(lane.job_group)
            self._line.booked(quick.slots)
            return
        whole = ask.whole()
        why = over or self._why(whole, lane.compiled[FIRST], exhausted=False)
        self._block(lane, whole, 1, why).count += 1

    def _try_whole(self, lane: Lane, ask: Ask) -> None:
        """Any class, by the choices that are open to this ask."""
        ask = self._limits.trimmed(ask)
        choices, again_us = choices_of(ask, self._snapshot.now_us)
        blocked = None if self._time.holds_for(ask) else lane.blocked.get(len(choices))
        if blocked is not None:
            self._pass_over(ask, blocked)
            return
        why = self._snapshot.known.get(ask.class_key)
        if why is not None and not again_us:
            self._pass_over(ask, self._block(lane, ask, len(choices), why))
            return
        outcome = self._time.refuses(ask) or self._try(lane, ask, choices)
        if isinstance(outcome, Placement):
            self._placements.append(self._time.placed(ask, outcome))
            self._groups.book(ask.job_group)
            self._line.booked(outcome.slots)
            if ask.limits:
                self._limits.booked(ask.limits, taken_by(outcome.members, outcome.claims))
            return
        self.steps += self._time.blocked(ask, outcome)
        if again_us and outcome.cure is Cure.NEVER:
            wait_s = -(-(again_us - self._snapshot.now_us) // SECOND_US)
            outcome = reason(Code.ALTERNATIVE_LATER, needed=wait_s, detail=outcome.text())
        self._block(lane, ask, len(choices), outcome).count += 1

    def _pass_over(self, ask: Ask, blocked: Waiting) -> None:
        """One more of a class that waits; time may yet reserve for it."""
        blocked.count += 1
        self.steps += self._time.blocked(ask, blocked.why)

    def _block(self, lane: Lane, ask: Ask, choices: int, why: PendReason) -> Waiting:
        """Asks of the class with so many choices are passed over from now on. A class has one
        entry for all its asks, however many alternatives are open to each."""
        entry = self._waiting.setdefault(ask.class_key, Waiting(why, ask.label))
        lane.blocked[choices] = entry
        if not lane.changes:
            lane.stopped = entry
        return entry

    def _try(self, lane: Lane, ask: Ask, choices: Sequence[Choice]) -> Placement | PendReason:
        """The first choice that has a place; else the most hopeful reason."""
        best: PendReason | None = None
        for choice in choices:
            try_ = self._try_range if is_range(ask.roles[0]) else self._try_one
            outcome = try_(lane, ask, choice)
            if isinstance(outcome, Placement):
                return outcome
            if best is None or RANK[outcome.cure] > RANK[best.cure]:
                best = outcome
        assert best is not None, "there is always a first alternative"
        return best

    def _try_range(self, lane: Lane, ask: Ask, choice: Choice) -> Placement | PendReason:
        """As many tasks as fit now; the reason of the least where not even those do."""

        def sized(tasks: int) -> Placement | PendReason:
            mine = of_size(ask, tasks)
            return self._try_one(lane.sizes.setdefault(tasks, Lane(mine)), mine, choice)

        def fits(tasks: int) -> bool:
            with self._work.ledger.trial():
                found = sized(tasks)
                for host, _ in found.host_versions if isinstance(found, Placement) else ():
                    self._versions[self._work.hosts.index[host]] -= 1
            return isinstance(found, Placement)

        sizes = sizes_of(ask.roles[0], choice[0])
        return sized(largest(sizes, fits) if fits(sizes[0]) else sizes[0])

    def _try_one(self, lane: Lane, ask: Ask, choice: Choice) -> Placement | PendReason:
        compiled = lane.compiled.get(choice)
        if compiled is None:
            compiled = compile_ask(self._work, ask, choice, self._shelves)
            lane.compiled[choice] = compiled
            lane.quick, lane.least = compiled.quick, least_of(ask, choice) if ask.limits else {}
            self.steps += len(self._versions) // HOSTS_PER_STEP
        if compiled.refusal is not None:
            return compiled.refusal
        least = least_of(ask, choice) if ask.limits else {}
        if (over := self._limits.refuses(ask.limits, least)) is not None:
            return over
        self.steps += TRY_STEPS
        self._time.prepare(ask)
        mark = self._work.ledger.mark()
        if compiled.quick is not None:
            placement = compiled.quick.place(ask.job, self._versions)
            return placement or self._why(ask, compiled, exhausted=False)
        turn = self._snapshot.seed or self._snapshot.session
        salt = turn + (ask.group or ask.roles[0].jobs[0])
        if compiled.serial is not None:
            cell = compiled.serial.place(salt)
            if cell is None:
                return self._why(ask, compiled, exhausted=False)
            return self._placement(ask, choice, compiled.terms, (mark, [cell]), 1)
        allowed = [term.allowed for term in compiled.terms]
        search = Search(self._work, ask, plans_of(self._work, compiled.terms, allowed), salt)
        cells = search.run()
        self.steps += search.steps
        if cells is None:
            return self._why(ask, compiled, exhausted=search.exhausted)
        return self._placement(ask, choice, compiled.terms, (mark, cells), search.steps)

    def _placement(
        self,
        ask: Ask,
        choice: Choice,
        terms: Sequence[Term],
        found: tuple[int, Sequence[Cell]],
        steps: int,
    ) -> Placement | PendReason:
        mark, cells = found
        members: list[PlacedMember] = []
        claims: list[PlacedClaim] = []
        for owner, (role, alternative) in enumerate(zip(ask.roles, choice, strict=True)):
            parts = [
                PartCells(term.need, [cell for cell in cells if cell.role == index])
                for index, term in enumerate(terms)
                if term.owner == owner
            ]
            placed, made = role_outcome(self._work, role, parts, alternative)
            members.extend(placed)
            claims.extend(made)
        over = self._limits.refuses(ask.limits, taken_by(members, claims)) if ask.limits else None
        if over is not None:
            self._work.ledger.rollback(mark)
            return over
        self._close(terms, cells)
        return Placement(
            group=ask.group,
            members=tuple(members),
            claims=tuple(claims),
            host_versions=self._touched(sorted({cell.host for cell in cells})),
            steps=steps,
        )

    def _close(self, terms: Sequence[Term], cells: Sequence[Cell]) -> None:
        """Takes what is left of the units that are kept for the ask alone."""
        ledger = self._work.ledger
        for index, term in enumerate(terms):
            units = term.alone
            if units is None:
                continue
            ids, _ = exclusive_ids(self._work.hosts, units)
            mine = {int(ids[cell.host]) for cell in cells if cell.role == index}
            for host, unit in enumerate(ids.tolist()):
                left = int(ledger.column(SLOTS)[host])
                if unit in mine and left > 0:
                    ledger.take(Taking(host, ((SLOTS, left),)))

    def _touched(self, hosts: Sequence[int]) -> tuple[tuple[str, int], ...]:
        """The versions as the plan's earlier placements leave them; this one counts from now on."""
        found = []
        for host in hosts:
            found.append((self._work.hosts.names[host], self._versions[host]))
            self._versions[host] += 1
        return tuple(found)

    def _why(self, ask: Ask, compiled: Compiled, *, exhausted: bool) -> PendReason:
        kept = self._time.reason_for(ask)
        if kept is not None:
            return kept
        if self._empty is None:
            self._empty = Workspace(emptied(self._snapshot))
        cases = [Case.of(self._work, self._empty, ask, term) for term in compiled.terms]
        why = explain(cases, exhausted=exhausted, bound=self._snapshot.search_bound)
        why = on_hosts(why, self._snapshot.host_bounds)
        if why.code in NEVER_OF and self._never(self._empty, ask, compiled.terms):
            never = reason(NEVER_OF[why.code], detail=why.detail)
            why = structs.replace(never, hosts=why.hosts)
        return why

    def _never(self, empty: Workspace, ask: Ask, terms: Sequence[Term]) -> bool:
        """Whether the ask has no place even where nothing runs; a given-up search says no."""
        plans = plans_of(empty, terms, [term.matching for term in terms])
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
    alone = structs.replace(snapshot, pending=(ask,), resumes=(), known={})
    plan = run_session(alone)
    return plan.placements[0] if plan.placements else plan.reasons[0].reason


__all__ = ["Budget", "SessionRun", "dry_run", "run_session"]

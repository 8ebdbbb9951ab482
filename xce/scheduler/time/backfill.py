"""Reserve and backfill: what a session does about asks that do not fit now.

The first blocked asks of a scope, `depth` of them in order, get reservations; with `easy` that is
one by default. Everybody else may use what is reserved only if it is expected to end in time, or
leaves enough: before an ask is tried, what it must leave alone is set aside in the ledger. What
does end in time on reserved space must also be over by then (`must_end_us`).

A reservation that stands is kept: it moves only when it can begin earlier, when it cannot begin
as it was to, or when its hosts cannot be used; each move says why. `strict` lets nobody overtake.
"""

from collections.abc import Sequence

from msgspec import structs

from xce.model.ids import claim_of
from xce.model.placing import Share
from xce.scheduler.candidates import Workspace
from xce.scheduler.ledger import Taking
from xce.scheduler.plan import Placement
from xce.scheduler.reasons import Code, PendReason, reason
from xce.scheduler.snapshot import Ask, ResumeAsk, SameAsk
from xce.scheduler.time.attempt import attempt
from xce.scheduler.time.book import Book, Kept
from xce.scheduler.time.preempt import Preemption
from xce.scheduler.time.reserve import CURABLE, Start, Starts
from xce.scheduler.time.terms import (
    ADVANCE,
    BACKFILL,
    FOREVER_US,
    JITTER_US,
    NONE,
    PREEMPT,
    SLACK_US,
    STRICT,
    Eviction,
    Hold,
    Reserve,
    TimePolicy,
    less,
    share_of,
)

SECOND_US = 1_000_000
EVICTIONS_MAX = 16
OFF = TimePolicy(policy=NONE, depth=0, look=0)


class Backfill:
    """The time side of one session: asked before an ask is tried and told what became of it."""

    def __init__(self, work: Workspace) -> None:
        self._work = work
        self._policies = work.snapshot.time_policies
        self.book = Book(work)
        self.starts = Starts(self.book)
        self.reserves: list[Reserve] = []
        self._mine = {h.holder: h for h in work.snapshot.holds if h.holder != (0, 0)}
        self._aside: tuple[Taking, ...] = ()
        self._key: tuple[object, ...] = ()
        self._blocked: dict[str, str] = {}
        self._looked: dict[str, int] = {}
        self._ahead = self._unseen()
        self.preemption = Preemption(self.book)
        self.evictions: list[Eviction] = []
        self._victims = {(one.group, one.job): one for one in work.snapshot.preempting.victims}
        strict = any(one.policy == STRICT for one in self._policies.values())
        ends = bool(work.snapshot.ends) and any(p.policy != NONE for p in self._policies.values())
        self._active = bool(self.book.holds or self._victims or strict or ends)
        self._full: dict[str, None] = {}

    def plays(self, timed: bool) -> bool:
        """Whether time plays any part in what is asked: where nothing has an end and nothing is
        reserved, only work that has a limit (`timed`) brings time in."""
        return self._active or (timed and bool(self._policies))

    def minds(self, ask: Ask | SameAsk, stopped: bool) -> bool:
        """Where time plays a part, whether it does for this ask: for what is `stopped` with its
        class only where it may still reserve, or has reserved, or somebody may give way."""
        whole = ask.like if isinstance(ask, SameAsk) else ask
        if stopped and self._full and not self._victims and ask.holder not in self._mine:
            own = self._policies.get(whole.queue) or self._policies.get("", OFF)
            return own.scope not in self._full
        return True

    def holds_for(self, ask: Ask) -> bool:
        """Whether something is reserved for the ask: it is looked at whatever its class does."""
        return bool(self._mine) and _holder(ask) in self._mine

    def policy(self, ask: Ask) -> TimePolicy:
        """How the ask's queue treats what does not fit."""
        return self._policies.get(ask.queue) or self._policies.get("", OFF)

    @property
    def decided(self) -> list[Reserve | Eviction]:
        """What it has come to: reservations, then who gives way."""
        return [*self.reserves, *self.evictions]

    # -- before an ask is tried ------------------------------------------------------------------
    def refuses(self, ask: Ask) -> PendReason | None:
        """Why the ask may not even be tried: what it joined is not there (yet), it would overtake,
        or too many were looked at."""
        if ask.reservation:
            return self._closed(ask)
        if not self._blocked:
            return None
        policy = self.policy(ask)
        first = self._blocked.get(policy.scope, "")
        if not first or self.holds_for(ask):
            return None
        if policy.policy == STRICT:
            return reason(Code.BEHIND, where=first)
        looked = self._looked[policy.scope] = self._looked.get(policy.scope, 0) + 1
        if policy.policy != NONE and policy.look and looked > policy.look:
            return reason(Code.BACKFILL_BOUND, needed=policy.look, where=first)
        return None

    def _closed(self, ask: Ask) -> PendReason | None:
        joined = self._joined(ask)
        if joined is None:
            return reason(Code.RESERVATION_OVER, where=ask.reservation)
        if joined.from_us > self.book.now_us:
            return reason(Code.RESERVATION_LATER, where=ask.reservation, until_us=joined.from_us)
        return None

    def _joined(self, ask: Ask) -> Hold | None:
        """The advance reservation that the ask joined."""
        found = self.book.holds.values()
        return next((h for h in found if h.kind == ADVANCE and h.who == ask.reservation), None)

    def _within(self, ask: Ask) -> None:
        """Sets aside everything but what is left of the reservation that the ask joined."""
        self._lift()
        joined = self._joined(ask)
        if joined is None:
            return
        book, ledger = self.book, self._work.ledger
        kept = book.kept_now(joined.end_us, joined.number)
        mine = {taking.host: taking for taking in book.takings[joined.number]}
        for host in range(len(self._work.hosts.names)):
            taking = mine.get(host)
            counters = dict(taking.counters) if taking is not None else {}
            bits = dict(taking.bits) if taking is not None else {}
            for name in ("slots", *counters):
                place, free = book.place(name, host), int(ledger.column(name)[host])
                more = max(0, free - counters.get(name, 0))
                kept.amounts[place] = max(kept.amounts.get(place, 0), more)
            for type_ in ledger.masks:
                away = ledger.mask(type_, host) & ~bits.get(type_, 0)
                kept.bits[type_, host] = kept.bits.get((type_, host), 0) | away
        self._put_aside(kept)

    def prepare(self, ask: Ask) -> None:
        """Sets aside what the ask must leave alone."""
        if ask.reservation:
            self._within(ask)
            return
        if self.book.holds or self._aside:
            self._prepare(self.starts.until_us(ask, self.book.now_us), self._own(ask))

    def prepare_to_resume(self, ask: ResumeAsk) -> None:
        """Sets aside what suspended work must leave alone when it is to go on: as any other."""
        if self.book.holds or self._aside:
            self._prepare(self._over_us(ask), 0)

    def _over_us(self, ask: ResumeAsk) -> int:
        return self.book.now_us + ask.left_us if ask.left_us else FOREVER_US

    def _prepare(self, until_us: int, skip: int) -> None:
        now_us = self.book.now_us
        numbers = tuple(hold.number for hold in self.book.in_way(now_us, until_us, skip))
        key = (numbers, self.book.revision)
        if key == self._key:
            return
        self._lift()
        if numbers:
            self._put_aside(self.book.kept_now(until_us, skip))
        self._key = key

    def _put_aside(self, kept: Kept) -> None:
        self._aside = self.book.set_aside(kept)
        for taking in self._aside:
            self._work.ledger.set_aside(taking)

    def _lift(self) -> None:
        for taking in self._aside:
            self._work.ledger.set_aside(taking, back=True)
        self._aside, self._key = (), ()

    def _own(self, ask: Ask) -> int:
        hold = self._mine.get(_holder(ask))
        return hold.number if hold is not None else 0

    def resumed(self, ask: ResumeAsk) -> None:
        """It goes on now: others may need its place later."""
        if self._active or (ask.left_us and self._policies):
            self._active = True
            takings = [Taking(part.host, part.counters, part.bits) for part in ask.parts]
            self.book.will_end(self._over_us(ask), ask.label, takings)

    # -- what became of it -------------------------------------------------------------------------
    def placed(self, ask: Ask, placement: Placement) -> Placement:
        """The ask begins now: its reservation is used, and others may need its place later."""
        if not self.plays(ask.length_us > 0):
            return placement
        book, self._active = self.book, True
        book.release(self._own(ask))
        takings = book.takings_of(_shares(placement))
        joined = self._joined(ask) if ask.reservation else None
        if joined is not None:
            return self._inside(ask, placement, joined, takings)
        end_us = self.starts.until_us(ask, book.now_us)
        if book.holds and end_us < FOREVER_US:
            self._lift()
            must_end_us = book.borrowed_until_us(end_us, takings)
            if must_end_us:
                placement = structs.replace(placement, must_end_us=must_end_us)
        book.will_end(end_us, ask.label, takings)
        return placement

    def _inside(
        self, ask: Ask, placement: Placement, joined: Hold, takings: Sequence[Taking]
    ) -> Placement:
        """It began inside of an advance reservation: over with it, and less of it is left."""
        shares = less(joined.shares, _shares(placement))
        self.book.reserve(structs.replace(joined, shares=shares))
        end_us = min(self.starts.until_us(ask, self.book.now_us), joined.end_us)
        self.book.will_end(end_us, ask.label, takings)
        return structs.replace(placement, must_end_us=joined.end_us)

    def blocked(self, ask: Ask, why: PendReason) -> int:
        """The ask waits: it may get, keep or move a reservation. Gives the steps that took."""
        if not self._active or ask.reservation or why.code not in CURABLE:
            return 0
        policy = self.policy(ask)
        self._blocked.setdefault(policy.scope, ask.label)
        own = self._mine.get(_holder(ask)) if self._mine else None
        if self._victims and (own is None or own.kind == BACKFILL) and self._preempt(ask, own):
            steps, self.preemption.steps = self.preemption.steps, 0
            return steps
        if own is None and not self._deserves(ask, policy):
            return 0
        if own is None or own.kind == BACKFILL:
            self._ahead[policy.scope] = self._ahead.get(policy.scope, 0) + 1
        if own is not None and (own.kind != BACKFILL or self._is_due(own)):
            return 0
        self._lift()
        start = self.starts.earliest(ask, own.number if own is not None else 0)
        if start is not None:
            self._reserve(ask, own, start)
        steps, self.starts.steps = self.starts.steps, 0
        return steps

    def _is_due(self, own: Hold) -> bool:
        """Whether it was to begin just now: ends are on their way, or it will soon be moved."""
        return own.from_us <= self.book.now_us < own.from_us + SLACK_US

    def _deserves(self, ask: Ask, policy: TimePolicy) -> bool:
        """Whether fewer than `depth` blocked asks of the scope came before it."""
        if policy.scope in self._full or policy.policy in (NONE, STRICT):
            return False
        if self._ahead.get(policy.scope, 0) >= policy.depth:
            self._full[policy.scope] = None
            return False
        return True

    def _unseen(self) -> dict[str, int]:
        """How many reservations a scope has for work that this session does not see."""
        found: dict[str, int] = {}
        seen = set(map(_holder, self._work.snapshot.pending)) if self._mine else set()
        for hold in self._mine.values():
            if hold.kind == BACKFILL and hold.holder not in seen:
                scope = (self._policies.get(hold.queue) or self._policies.get("", OFF)).scope
                found[scope] = found.get(scope, 0) + 1
        return found

    def _reserve(self, ask: Ask, own: Hold | None, start: Start) -> None:
        cause = ""
        if own is not None:
            if start.at_us >= own.from_us - JITTER_US and self.starts.stands(ask, own):
                return
            cause = self._cause(own, start)
        number = -1 - len(self.reserves) - len(self.evictions)
        if own is not None:
            number = own.number
        group, job = _holder(ask)
        hold = Hold(
            number=number, group=group, job=job, who=ask.label, queue=ask.queue,
            from_us=start.at_us, end_us=start.end_us, shares=start.shares,
        )  # fmt: skip
        self.book.reserve(hold)
        self._mine[group, job] = hold
        self.reserves.append(
            Reserve(
                number=max(number, 0), group=group, job=job, from_us=start.at_us,
                end_us=start.end_us, shares=start.shares, cause=cause,
                before_us=own.from_us if own is not None else 0,
            )
        )  # fmt: skip

    def _cause(self, own: Hold, start: Start) -> str:
        """Why a reservation moves, from what is in its way when it was to begin."""
        if start.at_us < own.from_us:
            return "something ended or was freed earlier than expected"
        hosts = {share.host for share in own.shares}
        for name in sorted(hosts):
            row = self._work.hosts.index.get(name)
            if row is None or not self._work.usable[row]:
                return f"host {name} cannot be used"
        for end in self.book.ends:
            names = {self._work.hosts.names[taking.host] for taking in end.takings}
            if end.at_us > own.from_us and names & hosts:
                return f"{end.who} runs on {sorted(names & hosts)[0]} for longer than expected"
        others = self.book.in_way(own.from_us, own.end_us, own.number)
        if others:
            return f"reserved for {others[0].who}"
        return "what it was to use is in use by work without a known end"

    # -- who gives way -----------------------------------------------------------------------------
    def _preempt(self, ask: Ask, own: Hold | None) -> bool:
        """Whether work of queues that give way to the ask's does; then its place is kept."""
        preempting = self._work.snapshot.preempting
        if claim_of(ask.job):
            return False
        over = preempting.over.get(ask.queue, ())
        candidates = [one for one in self._victims.values() if one.queue in over]
        if not candidates or len(self.evictions) >= EVICTIONS_MAX:
            return False
        self._lift()
        at_us = self.book.now_us + preempting.takes_us
        skip = own.number if own is not None else 0
        way = self.preemption.way(ask, candidates, at_us, skip)
        if way is None:
            return False
        self.book.release(skip)
        for one in way.victims:
            del self._victims[one.group, one.job]
            self.book.gives_way(at_us, one.who, self.book.takings_of(one.shares))
        group, job = _holder(ask)
        hold = Hold(
            number=-1 - len(self.reserves) - len(self.evictions), kind=PREEMPT, group=group,
            job=job, who=ask.label, queue=ask.queue, from_us=at_us,
            end_us=self.starts.until_us(ask, at_us), shares=way.shares,
        )  # fmt: skip
        self.book.reserve(hold)
        self._mine[group, job] = hold
        self.evictions.append(
            Eviction(
                group=group, job=job, from_us=at_us, end_us=hold.end_us, shares=way.shares,
                victims=tuple((one.group, one.job, one.attempt) for one in way.victims),
            )
        )  # fmt: skip
        return True

    # -- why ---------------------------------------------------------------------------------------
    def reason_for(self, ask: Ask) -> PendReason | None:
        """Why an ask that fits waits all the same; None where it does not fit either without
        what is reserved. What was set aside is back in the ledger afterwards."""
        if not self._aside:
            return None
        self._lift()
        if ask.reservation:
            return reason(Code.RESERVATION_FULL, where=ask.reservation)
        if attempt(self._work, ask, self.book.now_us) is None:
            return None
        now_us = self.book.now_us
        until_us = self.starts.until_us(ask, now_us)
        first = self.book.in_way(now_us, until_us, self._own(ask))[0]
        wait_s = -(-max(0, first.from_us - now_us) // SECOND_US)
        if first.kind == PREEMPT or first.from_us <= now_us:
            return reason(Code.RESERVED, where=first.who, until_us=_known(first.end_us))
        if not ask.length_us:
            return reason(
                Code.NO_RUN_LIMIT, where=first.who, available=wait_s, until_us=first.from_us
            )
        length_s = -(-ask.length_us // SECOND_US)
        return reason(
            Code.WOULD_DELAY, where=first.who, needed=length_s, available=wait_s,
            until_us=first.from_us,
        )  # fmt: skip


def _known(at_us: int) -> int:
    return at_us if at_us < FOREVER_US else 0


def _holder(ask: Ask | SameAsk) -> tuple[int, int]:
    return ask.holder


def _shares(placement: Placement) -> Sequence[Share]:
    found = [share for member in placement.members for share in member.shares]
    found += [share_of(holding) for claim in placement.claims for holding in claim.holdings]
    return found

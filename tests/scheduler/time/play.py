"""A cluster played on a virtual clock by sessions alone: arrivals, starts, ends, reservations.

No controller, log or host is here: what runs ends when its `runs_s` is over or its `must_end_us`
has come, and each moment's ends and arrivals are followed by one session. For comparing starts
with what an independent simulator says.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import structs

from tests.kit.cluster import idle_snapshot
from xce.model.placing import Share
from xce.scheduler.candidates import Workspace
from xce.scheduler.plan import Placement
from xce.scheduler.session import run_session
from xce.scheduler.snapshot import Ask, HostTable, Snapshot
from xce.scheduler.time.backfill import _shares
from xce.scheduler.time.book import Book
from xce.scheduler.time.terms import FOREVER_US, Ending, Hold, TimePolicy

SECOND_US = 1_000_000


@dataclass
class Here:
    """Something that runs."""

    ask: Ask
    shares: tuple[Share, ...]
    began_us: int
    over_us: int
    expected_us: int


@dataclass
class Play:
    """One cluster in motion. `runs_s` says how long asks really run, by label."""

    hosts: HostTable
    policy: TimePolicy
    runs_s: dict[str, int]
    now_us: int = 0
    pending: list[Ask] = field(default_factory=list)
    running: dict[str, Here] = field(default_factory=dict)
    holds: list[Hold] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)
    killed: list[str] = field(default_factory=list)
    slips: list[tuple[str, int, int, str]] = field(default_factory=list)
    session: int = 0
    promised: dict[str, int] = field(default_factory=dict)

    def snapshot(self) -> Snapshot:
        """What a session sees now."""
        base = idle_snapshot(self.hosts, sorted(self.pending, key=lambda ask: ask.order))
        self.session += 1
        base = structs.replace(base, session=self.session, now_us=self.now_us)
        book = Book(Workspace(base))
        free = {name: column.copy() for name, column in base.free.items()}
        masks = {type_: list(row) for type_, row in base.free_masks.items()}
        for here in self.running.values():
            for taking in book.takings_of(here.shares):
                for name, amount in taking.counters:
                    free[name][taking.host] -= amount
                for type_, bits in taking.bits:
                    assert masks[type_][taking.host] & bits == bits
                    masks[type_][taking.host] &= ~bits
        assert all((column >= 0).all() for column in free.values()), "something is exceeded"
        ends = tuple(
            Ending(end_us=here.expected_us, who=label, shares=here.shares)
            for label, here in self.running.items()
            if here.expected_us < FOREVER_US
        )
        return structs.replace(
            base, free=free, free_masks={k: tuple(v) for k, v in masks.items()}, ends=ends,
            holds=tuple(self.holds), time_policies={"": self.policy},
        )  # fmt: skip

    def turn(self) -> None:
        """One session."""
        plan = run_session(self.snapshot())
        asks = {ask.label: ask for ask in self.pending}
        for placement in plan.placements:
            self._begin(asks[_label(placement)], placement)
        for reserve in plan.reserves:
            old = [hold for hold in self.holds if hold.number == reserve.number]
            number = reserve.number or 1 + max((hold.number for hold in self.holds), default=0)
            label = f"g{reserve.group}" if reserve.group else str(reserve.job)
            self.promised.setdefault(label, reserve.from_us)
            if old:
                self.holds.remove(old[0])
                self.slips.append((label, old[0].from_us, reserve.from_us, reserve.cause))
            self.holds.append(
                Hold(
                    number=number, group=reserve.group, job=reserve.job, who=label,
                    queue=asks[label].queue, from_us=reserve.from_us,
                    end_us=reserve.end_us, shares=reserve.shares,
                )
            )  # fmt: skip

    def _begin(self, ask: Ask, placement: Placement) -> None:
        self.pending.remove(ask)
        self.holds = [hold for hold in self.holds if hold.who != ask.label]
        self.starts[ask.label] = self.now_us
        over_us = self.now_us + self.runs_s[ask.label] * SECOND_US
        expected_us = self.now_us + ask.length_us if ask.length_us else FOREVER_US
        over_us = min(over_us, expected_us)
        if placement.must_end_us and over_us > placement.must_end_us:
            over_us = placement.must_end_us
            self.killed.append(ask.label)
        shares = tuple(_shares(placement))
        self.running[ask.label] = Here(ask, shares, self.now_us, over_us, expected_us)

    def run(self, arrivals: Sequence[tuple[int, Ask]], until_s: int = 1 << 40) -> None:
        """All arrivals (seconds, ask) to the end."""
        coming = [(at_s * SECOND_US, n, ask) for n, (at_s, ask) in enumerate(arrivals)]
        heapq.heapify(coming)
        while coming or self.running:
            times = [here.over_us for here in self.running.values()]
            times += [coming[0][0]] if coming else []
            times += [hold.from_us for hold in self.holds if hold.from_us > self.now_us]
            self.now_us = max(self.now_us, min(times))
            if self.now_us > until_s * SECOND_US:
                return
            for label in [n for n, here in self.running.items() if here.over_us <= self.now_us]:
                del self.running[label]
            while coming and coming[0][0] <= self.now_us:
                self.pending.append(heapq.heappop(coming)[2])
            self.turn()


def _label(placement: Placement) -> str:
    return f"g{placement.group}" if placement.group else str(placement.job)

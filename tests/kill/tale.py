"""What a log tells, folded record by record from nothing, with every invariant checked on the way.

The fold goes over the *exported* log, so that what is judged is what anybody could read. It keeps
what marks are compared with: when each launch was let go, which starts failed before their pass,
how often each job ended, what broke, where two gangs were whole at once (`shared`). `held_twice`
is the judge's own count of holdings, made from allocations and claims alone.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from xce.controller.core.fold.apply import apply
from xce.controller.core.fold.check import Broken, check
from xce.controller.core.fold.encode import digest
from xce.controller.core.fold.state import Key, State
from xce.model.records import Record
from xce.model.tables import CLAIM, ENDED_GROUP, ENDED_JOB
from xce.wal.export import export_lines, import_lines
from xce.wal.memory import MemoryLog
from xce.wal.verify import LogAudit

KEPT = ("job", "group", "start", "launch")
"""Tables whose entities are remembered as they last were, those that retired, too."""
_HOLDING = CLAIM.of_kind("active", "wait")


class Go(Struct, frozen=True):
    """The record that let a launch go."""

    lsn: int
    at_us: int


class Tale:
    """The fold, and what was noted on the way."""

    def __init__(self) -> None:
        self.state = State()
        self.faults: list[str] = []
        self.gos: dict[int, Go] = {}
        self.failed: dict[int, Record] = {}
        self.broken: dict[int, Record] = {}
        self.ends: dict[int, int] = {}
        self.group_ends: dict[int, int] = {}
        self.job_of_launch: dict[int, tuple[int, int, int]] = {}
        self.ran: dict[int, str] = {}
        self.starts_of: dict[int, list[int]] = {}
        self.leaders = 0
        self.refused: list[str] = []
        self.shared: list[int] = []
        self.ever: dict[str, dict[Key, Any]] = {name: {} for name in KEPT}

    @property
    def digest(self) -> str:
        """One hash over everything."""
        return digest(self.state)

    def take(self, record: Record) -> None:
        """Fold a record, note it, check."""
        apply(self.state, record)
        for name in KEPT:
            self.ever[name].update(self.state.tables[name])
        self._note(record)
        self._note_changes(record)
        if len(self._whole_gangs()) > 1:
            self.shared.append(record.lsn)
        for wrong in self._wrong(record):
            self.faults.append(f"lsn {record.lsn} {record.kind}: {wrong}")

    def _whole_gangs(self) -> list[int]:
        """Gangs that hold something and of which no member has ended since."""
        jobs = [self.state.jobs[one.job] for one in self.state.allocations.values()]
        groups = {job.group for job in jobs if job.group}
        return [number for number in groups if not self._has_finished(number)]

    def _has_finished(self, number: int) -> bool:
        members = self.state.groups[number].members()
        return any(self.state.jobs[key].state not in ("STARTING", "RUNNING") for key in members)

    def _wrong(self, record: Record) -> Iterator[str]:
        try:
            check(self.state)
        except Broken as broken:
            yield str(broken)
        yield from held_twice(self.state)
        if record.kind == "BarrierPassed":
            yield from not_there(self.state, record.body.start)  # type: ignore[attr-defined]

    def _note(self, record: Record) -> None:
        body = record.body
        if record.kind == "LeaderStarted":
            self.leaders += 1
        elif record.kind == "StartFailed":
            table = self.broken if body.broken else self.failed  # type: ignore[attr-defined]
            table[body.start] = record  # type: ignore[attr-defined]
        elif record.kind == "ReportRefused":
            self.refused.append(f"lsn {record.lsn}: {body.report}: {body.why}")  # type: ignore[attr-defined]
        elif record.kind == "LaunchEnded":
            self.ran[body.launch] = body.ran  # type: ignore[attr-defined]
        elif record.kind == "Planned":
            for group in body.groups:  # type: ignore[attr-defined]
                attempts = {member.job: member.attempt for member in group.members}
                for launch in group.launches:
                    told = (launch.job, attempts[launch.job], group.start)
                    self.job_of_launch[launch.launch] = told
                for job in attempts:
                    self.starts_of.setdefault(job, []).append(group.start)

    def _note_changes(self, record: Record) -> None:
        for change in record.body.then:
            values = change.set or {}
            if change.what == "launch" and values.get("go"):
                self.gos.setdefault(int(change.key), Go(record.lsn, record.at_us))
            state = values.get("state")
            if change.what == "job" and state in ENDED_JOB:
                self.ends[int(change.key)] = self.ends.get(int(change.key), 0) + 1
            elif change.what == "group" and state in ENDED_GROUP:
                self.group_ends[int(change.key)] = self.group_ends.get(int(change.key), 0) + 1


def not_there(state: State, number: int) -> Iterator[str]:
    """What a start that passes just now did not have."""
    start = state.starts[number]
    launches = [state.launches[one] for one in start.launches]
    attachments = [state.attachments[one] for one in start.attachments]
    for launch in launches:
        if launch.state != "ARMED":
            yield f"start {number} passed, launch {launch.number} is {launch.state}"
    for attached in attachments:
        if attached.state != "READY":
            yield f"start {number} passed, attachment {attached.number} is {attached.state}"
    for name in sorted({one.host for one in (*launches, *attachments)}):
        host = state.hosts[name]
        if host.liveness != "UP" or host.reconciled_epoch != state.epoch:
            yield f"start {number} passed, host {name} is {host.liveness}, not asked in this epoch"


def held_twice(state: State) -> Iterator[str]:
    """Instances with more holders than they may have, counters over their total."""
    holders: dict[str, list[str]] = {}
    used: dict[tuple[str, str], int] = {}
    for who, host, instance, counter, amount in _holdings(state):
        if instance:
            holders.setdefault(instance, []).append(who)
        if counter:
            used[host, counter] = used.get((host, counter), 0) + amount
    for key, names in sorted(holders.items()):
        known = state.instances.get(key)
        if len(names) > (known.sharing if known else 1):
            yield f"{key} is held by {' and '.join(names)}"
    for (host, name), amount in sorted(used.items()):
        total = dict(state.hosts[host].facts.counters).get(name, 0) if host in state.hosts else 0
        if amount > total:
            yield f"{amount} of {total} {name} of {host} are held"


def _holdings(state: State) -> Iterator[tuple[str, str, str, str, int]]:
    """Who holds, on which host, an instance or so much of a counter."""
    for number, granted in state.allocations.items():
        who = f"allocation {number}"
        for share in granted.shares:
            for key in share.instances:
                yield who, share.host, key, "", 0
            for name, amount in share.counters:
                yield who, share.host, "", name, amount
    for number, claim in state.claims.items():
        for one in claim.holdings if claim.state in _HOLDING else ():
            yield f"c{number}", one.host, one.instance, one.counter, one.amount


def held(state: State) -> list[str]:
    """Everything that is held still."""
    found = [f"allocation {number}" for number in state.allocations]
    found += [
        f"c{number} ({claim.state})"
        for number, claim in state.claims.items()
        if claim.holdings or claim.state != "RELEASED"
    ]
    return [*found, *(f"{one.key} is {one.state}" for one in state.instances.values()
                      if one.state != "PRESENT")]  # fmt: skip


def read_tale(log: LogAudit) -> Tale:
    """The tale of a log, by way of its export."""
    store = import_lines(export_lines(log))
    copy, tale = MemoryLog(store), Tale()
    for name, blob in store.blobs.items():
        tale.state.intern(name, blob)
    for record in copy.read(1):
        tale.take(record)
    return tale

"""The log decided again, command by command; the first difference ends it.

Records with one cause came of one command. What was asked is read back from them (`inputs.py`), a
session is run anew on the state that it saw, a deadline is one of those that are due; then decide
must give the same records. Records whose inputs were never written down are folded as they are and
counted by kind.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct, structs

from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome, decide, decide_and_apply
from xce.controller.core.fold.apply import apply
from xce.controller.core.fold.interned import texts_of
from xce.controller.core.fold.state import State
from xce.controller.core.view import Viewer
from xce.controller.sessions import Sessions, Work
from xce.model.actor import CONTROLLER
from xce.model.records import Planned, Preempted, Record, ReservationSet
from xce.scheduler.session import SessionRun
from xce.sim.replay.compare import Names, alike, equal, first_path, text_of, under_version_of
from xce.sim.replay.inputs import commands_of
from xce.wal.verify import LogAudit

TIMERS_MAX = 4_096


class Difference(Struct, frozen=True, kw_only=True):
    """Where the code of now decides otherwise: the record of the log, what was asked, and both
    sides as JSON; `path` is the first field in which they part."""

    lsn: int
    asked: str
    path: str
    logged: tuple[str, ...]
    decided: tuple[str, ...]


class Replayed(Struct, kw_only=True):
    """What a replay came to. `folded` counts, by kind of their first record, commands whose inputs
    are not in the log; `digests` plans that decide the same and have another digest."""

    records: int = 0
    commands: int = 0
    sessions: int = 0
    timers: int = 0
    digests: int = 0
    folded: dict[str, int] = {}
    difference: Difference | None = None


SessionKey = tuple[int, int, int]


class Replay:
    """One log being decided again."""

    def __init__(self, log: LogAudit) -> None:
        self._log = log
        self.state = State()
        self.done = Replayed()
        self._viewer = Viewer(self.state)
        self._sessions: dict[int, list[SessionKey]] = {}
        self._plans: dict[int, list[c.Command]] = {}
        self._names = Names()

    def run(self) -> Replayed:
        """All of it, or up to the first difference."""
        records = list(self._log.read(self._log.floor() + 1))
        for record in records:
            if (seen := _seen_by(record)) is not None:
                row = self._sessions.setdefault(seen[0], [])
                if seen not in row:
                    row.append(seen)
        for group in _commands(records):
            self._look()
            self.state.epoch = group[0].epoch
            if not self._again(group):
                break
            self.done.records += len(group)
        self.done.digests = self._names.digests
        return self.done

    # -- sessions ------------------------------------------------------------------------------
    def _look(self) -> None:
        """Sessions that saw the state as it is now."""
        for lsn, now_us, number in self._sessions.pop(self.state.lsn, ()):
            state = self.state
            snapshot = self._viewer.snapshot(now_us, {})
            run = SessionRun(snapshot)
            run.advance(0)
            lsns = (state.config_lsn, state.last("tick_lsn"))
            work = Work(run, lsn, now_us, state.index.freed, *lsns, {})
            self._plans[number] = list(Sessions(state).slices(work))
            self.done.sessions += 1

    def _slice(self, record: Record) -> c.Command | None:
        """The slice of a plan that a record came of."""
        body = record.body
        number = getattr(body, "session", 0)
        slices = self._plans.get(number, [])
        if isinstance(body, Planned):
            kind = c.CommitResumes if body.resumed else c.CommitPlan
            for one in slices:
                if isinstance(one, kind) and getattr(one, "slice", 0) == body.slice:
                    return one
            return None
        return next((one for one in reversed(slices) if isinstance(one, c.CommitPlan)), None)

    # -- commands ------------------------------------------------------------------------------
    def _again(self, group: list[Record]) -> bool:
        """Whether the records of a command are what is decided now."""
        head = group[0]
        self._intern(group)
        if _seen_by(head) is not None:
            command = self._slice(head)
            if command is None:
                return self._differs(group, "a session, which now plans nothing", ())
            candidates: tuple[c.Command, ...] = (command,)
        else:
            candidates = commands_of(self.state, group)
        now_us = head.at_us
        outcome: Outcome | c.Rejection | None = None
        for command in candidates:
            outcome = decide(self.state, command, now_us)
            if isinstance(outcome, Outcome) and alike(group, outcome.records):
                self._keep(command, now_us)
                return True
        if self._by_clock(group):
            return True
        if outcome is None:
            return self._fold(group)
        decided = outcome.records if isinstance(outcome, Outcome) else ()
        if isinstance(outcome, Outcome):
            outcome = structs.replace(outcome, records=under_version_of(group, outcome.records))
            decided = outcome.records
        if isinstance(outcome, Outcome) and self._says_the_same(group, outcome):
            self._apply(group)
            self.done.commands += 1
            return True
        told = candidates[-1] if isinstance(outcome, Outcome) else outcome
        return self._differs(group, text_of(told), decided)

    def _says_the_same(self, group: list[Record], outcome: Outcome) -> bool:
        """Whether only what came later than the log tells both sides apart."""
        old = self._log.blobs({name for record in group for name in texts_of(record)})
        self._names.learn(group, outcome.records, old, outcome.blobs)
        raw = [self._raw(record) for record in group]
        return equal(group, outcome.records, self._names, raw)

    def _raw(self, record: Record) -> bytes:
        """A record's body as it was written."""
        return next(self._log.rows(record.lsn, record.lsn)).body

    def _keep(self, command: c.Command, now_us: int) -> None:
        decide_and_apply(self.state, command, now_us)
        self.state.changed.clear()
        self.done.commands += 1

    def _by_clock(self, group: list[Record]) -> bool:
        """Whether a deadline that is due brought the records about. Those that were due and bring
        nothing about were fired by then, and are over."""
        timers, now_us = self.state.index.timers, group[0].at_us
        kept, found = [], False
        for at_us, what, key in timers.due(now_us, TIMERS_MAX):
            command = c.TimerDue(actor=CONTROLLER, what=what, key=key)
            outcome = decide(self.state, command, now_us) if not found else None
            if isinstance(outcome, Outcome) and alike(group, outcome.records):
                found = True
                due = command
            elif outcome is None or (isinstance(outcome, Outcome) and outcome.records):
                kept.append((at_us, what, key))
        for timer in kept:
            timers.set(*timer)
        if found:
            self._keep(due, now_us)
            self.done.timers += 1
        return found

    def _apply(self, group: list[Record]) -> None:
        for record in group:
            self._intern([record])
            apply(self.state, record)
        self.state.changed.clear()

    def _fold(self, group: list[Record]) -> bool:
        self._apply(group)
        kind = group[0].kind
        self.done.folded[kind] = self.done.folded.get(kind, 0) + 1
        return True

    def _intern(self, group: list[Record]) -> None:
        """The texts that records name, and those that these name."""
        names = {name for record in group for name in texts_of(record)}
        while names:
            names = {name for name in names if name and not self.state.knows(name)}
            found = self._log.blobs(sorted(names))
            names = set()
            for name, blob in sorted(found.items()):
                self.state.intern(name, blob)
                spec = self.state.specs.get(name)
                names |= {spec.script, spec.environment} if spec is not None else set()

    def _differs(self, group: list[Record], asked: str, decided: Iterable[Record]) -> bool:
        logged, other = tuple(map(text_of, group)), tuple(map(text_of, decided))
        place = next(
            (n for n, (a, b) in enumerate(zip(logged, other, strict=False)) if a != b),
            min(len(logged), len(other)),
        )
        path = f"record {place + 1} of {len(logged)}"
        if place < min(len(logged), len(other)):
            mine, now = msgspec.json.decode(logged[place]), msgspec.json.decode(other[place])
            path = f"{path}: {first_path(mine, now)}"
        elif len(logged) != len(other):
            path = f"{len(logged)} records in the log, {len(other)} now"
        lsn = group[min(place, len(group) - 1)].lsn
        self.done.difference = Difference(
            lsn=lsn, asked=asked, path=path, logged=logged, decided=other
        )
        return False


def _seen_by(record: Record) -> SessionKey | None:
    """What the session of a record saw: lsn, moment, its number."""
    body: Any = record.body
    if isinstance(body, Planned):
        return body.snapshot_lsn, body.now_us, body.session
    if isinstance(body, ReservationSet | Preempted) and body.snapshot_lsn:
        return body.snapshot_lsn, body.snapshot_us, body.session
    return None


def _commands(records: list[Record]) -> Iterator[list[Record]]:
    """Records by the command that they came of."""
    for _, group in groupby(records, key=lambda record: (record.cause, record.at_us)):
        yield list(group)


def replay(log: LogAudit) -> Replayed:
    """Decides a log again, from its first record on."""
    return Replay(log).run()

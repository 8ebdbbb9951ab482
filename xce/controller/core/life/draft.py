"""How decide writes: records opened one after the other on a trial of the state.

`draft.open(...)` starts a record: its facts take effect on the trial at once, and all that
follows (`fire`, `patch`, `drop`) is listed in its `then`. The next `open`, or `close`, ends it.
`fire` looks the event up in the tables, moves the entity and runs the couplings that the tables
list for it, depth first and in their order; nothing else moves a state.
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import structs

from xce.controller.core.arrays.elements import is_over, job_of
from xce.controller.core.fold.apply import ELEMENT, apply, apply_change, open_record
from xce.controller.core.fold.state import Key, State
from xce.controller.core.life.relations import CONDITIONS, RELATIONS
from xce.model.actor import Actor
from xce.model.ids import claim_text, group_text, host_ref, job_index, job_number, job_text
from xce.model.job import Job
from xce.model.machine import Coupling
from xce.model.records import Body, Change, Record
from xce.model.tables import COUPLINGS, ENDED_GROUP, ENDED_JOB, MACHINES
from xce.model.waiting.array import HELD, JOB, PENDING, Runs

# machine -> (table, field that holds its state)
_HOME = {name: (name, "state") for name in MACHINES} | {
    "liveness": ("host", "liveness"),
    "admin": ("host", "admin"),
    "suspension": ("job", "suspension"),
}

_NAMES: dict[str, Callable[[Any], str]] = {
    "job": job_text,
    "group": group_text,
    "claim": claim_text,
    "host": host_ref,
}
_ENDED = {"job": ENDED_JOB, "group": ENDED_GROUP}

_MOVING = frozenset({"job", "group", "array"})
_COUPLED: dict[tuple[str, str], tuple[Coupling, ...]] = {}
for _coupling in COUPLINGS:
    _key = (_coupling.machine, _coupling.event)
    _COUPLED[_key] = (*_COUPLED.get(_key, ()), _coupling)


class Draft:
    """The records of one command in the making; `moved` are jobs and gangs whose state moved."""

    def __init__(self, state: State, actor: Actor, now_us: int, cause: str = "") -> None:
        self.state = state
        self.actor = actor
        self.now_us = now_us
        self.records: list[Record] = []
        self.cause = cause or f"@{state.lsn + 1}"
        self._head: Record | None = None
        self._then: list[Change] = []
        self._entities: dict[str, None] = {}
        self.moved: dict[tuple[str, int], None] = {}

    # -- records -----------------------------------------------------------------------------
    def open(self, body: Body, entities: Iterable[str]) -> int:
        """Begin a record with its facts; gives its lsn."""
        self.close()
        record = self._record(body)
        self._head = record
        self._entities = dict.fromkeys(entities)
        open_record(self.state, record)
        return record.lsn

    def write(self, body: Body, then: Iterable[Change], entities: Iterable[str]) -> None:
        """A whole record at once: its changes are known, and no other machine takes part."""
        self.close()
        record = self._record(structs.replace(body, then=tuple(then)))
        record = structs.replace(record, entities=tuple(dict.fromkeys(entities)))
        apply(self.state, record)
        for change in record.body.then:
            if change.event and change.what in ("job", "group"):
                self.moved[change.what, change.key] = None  # type: ignore[index]
            elif change.what == ELEMENT:
                self.moved["array", change.key] = None  # type: ignore[index]
        self.records.append(record)

    def _record(self, body: Body) -> Record:
        return Record(
            lsn=self.state.lsn + 1,
            epoch=self.state.epoch,
            at_us=max(self.now_us, self.state.at_us),
            kind=type(body).__name__,
            v=body.V,
            cause=self.cause,
            actor=self.actor.text(),
            entities=(),
            body=body,
        )

    def close(self) -> list[Record]:
        """End the record in the making; gives all records so far."""
        head = self._head
        if head is not None:
            self.state.index.settle()
            body = structs.replace(head.body, then=tuple(self._then))
            self.records.append(structs.replace(head, body=body, entities=tuple(self._entities)))
            self._head, self._then = None, []
        return self.records

    def name(self, *entities: str) -> None:
        """Also list these entities in the record in the making."""
        self._entities.update(dict.fromkeys(entities))

    @property
    def lsn(self) -> int:
        """The lsn of the record in the making."""
        return self.state.lsn

    # -- what follows --------------------------------------------------------------------------
    def fire(self, machine: str, key: Key, event: str, **fields: Any) -> bool:
        """Let an event reach an entity, with fields to set if it moves; runs its couplings.

        Gives whether it moved; an ignored cell moves nothing. An illegal cell raises.
        """
        what, field = _HOME[machine]
        entity = self.state.tables[what].get(key)
        if entity is None:
            entity = job_of(self.state, key)  # type: ignore[arg-type]
        target = MACHINES[machine].next(getattr(entity, field), event, f"{what} {key}")
        if target is None:
            return False
        fields = {**self._always(machine, event, entity), **fields}
        if target in _ENDED.get(machine, ()):
            fields.setdefault("ended_us", self.now_us)
        self._change(what, key, event, {field: target, **fields})
        for coupling in _COUPLED.get((machine, event), ()):
            self._couple(what, key, coupling)
        if machine == "job" and job_index(key):  # type: ignore[arg-type]
            self._settle_array(job_number(key))  # type: ignore[arg-type]
        return True

    def elements(self, number: int, event: str, runs: Runs, letter: str) -> None:
        """Move elements of an array that are no jobs of their own: to another letter, or out of
        it (JOB). No entity is named by it: a million of them are one change."""
        if runs:
            self._put(Change(ELEMENT, number, event, {"indices": runs, "to": letter}))
            self.moved["array", number] = None
            self._settle_array(number)

    def single_out(self, key: int) -> Job | None:
        """The job of that key, made of its array's letter where it waits there: by its first
        change. None where nothing of that key is a job or waits."""
        array = self.state.arrays.get(job_number(key))
        index = job_index(key)
        if array is not None and array.letter(index) in (PENDING, HELD):
            self.patch("job", key)
            self.elements(array.number, "single_out", ((index, index, 1),), JOB)
        return self.state.jobs.get(key)

    def _settle_array(self, number: int) -> None:
        """Say when the last element has ended, and when one that had ended is back."""
        array = self.state.arrays.get(number)
        if array is not None and is_over(self.state, number) != bool(array.ended_us):
            event, ended_us = ("go_on", 0) if array.ended_us else ("end", self.now_us)
            self._put(Change("array", number, event, {"ended_us": ended_us}))

    def patch(self, what: str, key: Key, **fields: Any) -> None:
        """Set fields of an entity; no state moves."""
        self._change(what, key, "", fields)

    def drop(self, what: str, key: Key, event: str) -> None:
        """Take an entity out of the state."""
        self._put(Change(what, key, event, None))

    def _change(self, what: str, key: Key, event: str, fields: dict[str, Any]) -> None:
        if self._head is None:
            raise AssertionError(f"{what} {key} changes outside a record")
        self._name(what, key)
        if what in _MOVING and ("state" in fields or "after_ids" in fields):
            self.moved[what, key] = None  # type: ignore[index]
        self._put(Change(what, key, event, fields))

    def _put(self, change: Change) -> None:
        self._then.append(change)
        apply_change(self.state, change)

    def _name(self, what: str, key: Key) -> None:
        """The things that a change is about stand in the record, so that history finds it."""
        if what in ("launch", "allocation"):
            what, key = "job", self.state.tables[what][key].job
        elif what == "attachment":
            what, key = "claim", self.state.attachments[key].claim  # type: ignore[index]
        text = _NAMES.get(what)
        if text is not None:
            self._entities[text(key)] = None

    def _couple(self, what: str, key: Key, coupling: Coupling) -> None:
        holds = CONDITIONS[coupling.when]
        table = _HOME[coupling.target][0]
        for target in RELATIONS[what, coupling.relation](self.state, key):
            if target in self.state.tables[table] and holds(self.state, target):
                self.fire(coupling.target, target, coupling.target_event, **_because(coupling))

    def _always(self, machine: str, event: str, entity: Any) -> dict[str, Any]:
        """Fields that an event always sets: when it was, and what it leaves behind."""
        match machine, event:
            case "launch", "stop":
                return {"stop_us": self.now_us}
            case "claim", "free":
                ended = {"ended_us": self.now_us} if entity.stands_alone else {}
                return {"holdings": (), **ended}
            case "job", "start":
                return {"started_us": self.now_us}
            case "job", ("start_failed" | "return" | "requeue"):
                again = {**_AGAIN, "pending_us": self.now_us}
                return {**again, "suspended_us": 0} if entity.suspended_us else again
            case "suspension", ("resumed" | "over"):
                # What returned has no start any more: its next attempt was never stopped.
                total_us = entity.stopped_us(self.now_us) if entity.start else 0
                return {**_NOT_STOPPED, "suspended_us": total_us}
        return {}


def _because(coupling: Coupling) -> dict[str, Any]:
    """The reason that a coupled event leaves on what it stops."""
    field = {("launch", "stop"): "stop_reason", ("job", "kill"): "kill_reason"}
    name = field.get((coupling.target, coupling.target_event))
    return {name: f"{coupling.machine}_{coupling.event}"} if name else {}


_NOT_STOPPED: dict[str, Any] = {
    "suspended_by": "",
    "suspend_why": "",
    "suspend_since_us": 0,
    "resume_us": 0,
}
_AGAIN: dict[str, Any] = {
    "start": 0,
    "allocation": 0,
    "launches": (),
    "exit": None,
    "started_us": 0,
    "ended_us": 0,
}

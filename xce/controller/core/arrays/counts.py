"""What is counted of elements that are jobs of their own; kept in step by every change."""

from typing import Any

from xce.model.ids import job_number
from xce.model.job import Job
from xce.model.tables import ENDED_JOB
from xce.model.waiting.array import Array

Marks = dict[int, dict[int, None]]


class ElementCounts:
    """By array: the keys of its elements that are jobs, how many are in each state, and the keys
    of those that have ended, in the order of their ends. `seen` are elements as they were last
    looked at, with the array that they were made of; `limited` are arrays with a slot limit."""

    def __init__(self) -> None:
        self.keys: Marks = {}
        self.states: dict[int, dict[str, int]] = {}
        self.ended: Marks = {}
        self.limited: dict[int, None] = {}
        self.seen: dict[int, tuple[Array, Job, str]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ElementCounts) and self._all() == other._all()

    def _all(self) -> tuple[Any, ...]:
        return self.keys, self.states, self.ended, self.limited

    __hash__ = None  # type: ignore[assignment]

    def note_array(self, number: int, new: Array | None) -> None:
        """An array changed (None: it left)."""
        if new is not None and new.limit:
            self.limited[number] = None
        else:
            self.limited.pop(number, None)

    def note(self, key: int, old: Any, new: Any) -> None:
        """An element that is a job changed from `old` to `new` (None: no job)."""
        number = job_number(key)
        states = self.states.setdefault(number, {})
        for one, sign in ((old, -1), (new, 1)):
            if one is not None:
                states[one.state] = states.get(one.state, 0) + sign
                if not states[one.state]:
                    del states[one.state]
        if not states:
            del self.states[number]
        _mark(self.keys, number, key, there=new is not None)
        _mark(self.ended, number, key, there=new is not None and new.state in ENDED_JOB)


def _mark(marks: Marks, number: int, key: int, *, there: bool) -> None:
    """Whether a key is among those of a number; a number that has none is not there."""
    if there:
        marks.setdefault(number, {}).setdefault(key)
    elif number in marks:
        marks[number].pop(key, None)
        if not marks[number]:
            del marks[number]

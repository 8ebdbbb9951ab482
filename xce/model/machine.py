"""The engine of the state machines: a table, and one step in it.

A machine is data: states, events with their source, legal rows, and ignored cells with a reason
word. Every other cell is illegal. What an illegal cell means is the caller's to say: a user's
misfit is a Rejection, a host's is recorded and closes its source, an internal one is a bug.
This file knows no particular machine; `tables.py` has them all.
"""

from collections.abc import Mapping

from msgspec import Struct

INITIAL, WAIT, ACTIVE, TERMINAL = "initial", "wait", "active", "terminal"
IGNORED_REASONS = ("already", "late", "repeat", "moot")
SOURCES = {
    "user": "a user, an operator or a configuration asked for it",
    "session": "a plan of a session",
    "dispatch": "the barrier judged a start",
    "agent": "a host or one of its providers reported it",
    "clock": "a timer ran out",
    "coupling": "another machine moved",
    "rule": "decide judged it: a group's rules, the proof of a death, a takeover",
}


class IllegalTransition(Exception):
    """An event that a machine has no cell for reached it: a bug, never a user's mistake."""

    def __init__(self, machine: str, state: str, event: str, who: str = "") -> None:
        super().__init__(f"{machine} {who}: no cell for event {event!r} in state {state}")
        self.machine, self.state, self.event, self.who = machine, state, event, who


class StateRow(Struct, frozen=True, gc=False, array_like=True):
    """A state: its kind and its meaning in one line."""

    name: str
    kind: str
    meaning: str


class EventRow(Struct, frozen=True, gc=False, array_like=True):
    """An event: who causes it and its meaning in one line."""

    name: str
    source: str
    meaning: str


class Machine(Struct, frozen=True, kw_only=True):
    """One machine, whole. `rows`: (state, event) -> next state; `ignored`: (state, event) ->
    reason word."""

    name: str
    states: tuple[StateRow, ...]
    events: tuple[EventRow, ...]
    rows: Mapping[tuple[str, str], str]
    ignored: Mapping[tuple[str, str], str]

    def next(self, state: str, event: str, who: str = "") -> str | None:
        """The next state, None when the event is ignored here; IllegalTransition otherwise."""
        target = self.rows.get((state, event))
        if target is not None:
            return target
        if (state, event) in self.ignored:
            return None
        raise IllegalTransition(self.name, state, event, who)

    def legal(self, state: str, event: str) -> bool:
        """Whether the event moves this state."""
        return (state, event) in self.rows

    def of_kind(self, *kinds: str) -> frozenset[str]:
        """Names of the states of the given kinds."""
        return frozenset(state.name for state in self.states if state.kind in kinds)


class Coupling(Struct, frozen=True, gc=False, array_like=True):
    """When `machine` takes `event`, each entity that `relation` names takes `target_event`,
    in the order of the table, if the condition `when` holds for it ("" always does). A cell that
    ignores it stays; an illegal one is a bug."""

    machine: str
    event: str
    relation: str
    target: str
    target_event: str
    when: str
    why: str


def table(name: str, states: str, events: str, cells: str) -> Machine:
    """Build a machine from its written form.

    `states`: lines `NAME kind meaning`; `events`: lines `name source meaning`; `cells`: lines
    `STATE: event>NEXT event=reason ...`. Raises ValueError on a cell named twice.
    """
    rows: dict[tuple[str, str], str] = {}
    ignored: dict[tuple[str, str], str] = {}
    for line in _lines(cells):
        state, _, rest = line.partition(":")
        for cell in rest.split():
            event, mark, value = _split_cell(cell)
            key = (state.strip(), event)
            if key in rows or key in ignored:
                raise ValueError(f"{name}: cell {key} is written twice")
            (rows if mark == ">" else ignored)[key] = value
    return Machine(
        name=name,
        states=tuple(StateRow(*line.split(None, 2)) for line in _lines(states)),
        events=tuple(EventRow(*line.split(None, 2)) for line in _lines(events)),
        rows=rows,
        ignored=ignored,
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines() if line.strip()]


def _split_cell(cell: str) -> tuple[str, str, str]:
    for mark in (">", "="):
        event, found, value = cell.partition(mark)
        if found:
            return event, mark, value
    raise ValueError(f"cell {cell!r} has neither '>' nor '='")

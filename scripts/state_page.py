"""The page of all state machines, drawn from the tables.

`page()` gives `docs/reference/states.md`, whole: for each machine its states and events with
their meanings, its matrix of cells, a mermaid diagram, and at the end the couplings. The text is
a function of the tables alone, in their order, so equal tables give equal bytes. Reading and
writing the file is `scripts/draw_docs.py`; this module touches nothing.
"""

from collections.abc import Iterable, Sequence

from xce.model.machine import INITIAL, SOURCES, TERMINAL, Machine
from xce.model.tables import CONDITION_MEANINGS, COUPLINGS, MACHINES

ILLEGAL = "."
REASONS = {
    "already": "it is so already",
    "late": "it was overtaken by what came first",
    "repeat": "the same report again",
    "moot": "it no longer (or not yet) matters here",
}
_HEAD = """# State machines

<!-- Drawn from xce/model/tables.py by `python -m scripts.draw_docs`; do not edit. -->

Every state of XCE belongs to one of the machines below. A cell of a matrix names the next state,
or, in italics, why the event is ignored there; `.` is illegal. What an illegal cell means depends
on who caused the event: a user's command is refused, a host's report is recorded as
`ReportRefused` and closes its source, and an internal one stops the process, since it is a bug.
Only `apply` assigns a state.
"""


def page() -> str:
    """The whole page, ending in one newline."""
    parts = [_HEAD, _legend()]
    parts += [_contents()]
    parts += [_machine(machine) for machine in MACHINES.values()]
    parts += [_couplings()]
    return "\n".join(parts).rstrip("\n") + "\n"


def _legend() -> str:
    reasons = _grid(("ignored because", "meaning"), [(f"*{w}*", m) for w, m in REASONS.items()])
    sources = _grid(("source of an event", "meaning"), list(SOURCES.items()))
    return f"{reasons}\n{sources}"


def _contents() -> str:
    rows = [
        (
            f"[{machine.name}](#{machine.name})",
            str(len(machine.states)),
            str(len(machine.rows)),
            str(len(machine.ignored)),
            str(_cells(machine) - len(machine.rows) - len(machine.ignored)),
        )
        for machine in MACHINES.values()
    ]
    return _grid(("machine", "states", "legal cells", "ignored", "illegal"), rows)


def _cells(machine: Machine) -> int:
    return len(machine.states) * len(machine.events)


def _machine(machine: Machine) -> str:
    states = [(row.name, row.kind, row.meaning) for row in machine.states]
    events = [(row.name, row.source, row.meaning) for row in machine.events]
    return "\n".join(
        (
            f"## {machine.name}\n",
            _grid(("state", "kind", "meaning"), states),
            _grid(("event", "source", "meaning"), events),
            _matrix(machine),
            _diagram(machine),
        )
    )


def _matrix(machine: Machine) -> str:
    names = [event.name for event in machine.events]
    rows = [
        (state.name, *(_cell(machine, state.name, event) for event in names))
        for state in machine.states
    ]
    return _grid(("state", *names), rows)


def _cell(machine: Machine, state: str, event: str) -> str:
    target = machine.rows.get((state, event))
    if target is not None:
        return target
    reason = machine.ignored.get((state, event))
    return f"*{reason}*" if reason else ILLEGAL


def _diagram(machine: Machine) -> str:
    edges: dict[tuple[str, str], list[str]] = {}
    for state in machine.states:
        for event in machine.events:
            target = machine.rows.get((state.name, event.name))
            if target is not None:
                edges.setdefault((state.name, target), []).append(event.name)
    lines = ["```mermaid", "stateDiagram-v2"]
    lines += [f"    [*] --> {state.name}" for state in machine.states if state.kind == INITIAL]
    lines += [f"    {old} --> {new}: {', '.join(names)}" for (old, new), names in edges.items()]
    lines += [f"    {state.name} --> [*]" for state in machine.states if state.kind == TERMINAL]
    return "\n".join((*lines, "```\n"))


def _couplings() -> str:
    rows = [
        (
            f"{one.machine} {one.event}",
            one.relation,
            f"{one.target} {one.target_event}",
            one.when or "always",
            one.why,
        )
        for one in COUPLINGS
    ]
    text = (
        "## Couplings\n\nWhen the event on the left moved its entity, the entities that the "
        "relation names take the event\non the right, depth first and in this order. All of it "
        "is listed in the record of the cause.\n"
    )
    conditions = _grid(("condition", "meaning"), list(CONDITION_MEANINGS.items()))
    return f"{text}\n{_grid(('when', 'who follows', 'takes', 'if', 'why'), rows)}\n{conditions}"


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"

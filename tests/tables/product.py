"""The full product of every machine, compared with matrices that were written by hand.

`expected/<machine>.txt` is the independent form: one line per state, one column per event, each
cell the next state, a reason word for an ignored event, or `.` for an illegal one. It is written
from what the states mean, never printed from the tables.
"""

from pathlib import Path

from xce.model.machine import IGNORED_REASONS, IllegalTransition, Machine

EXPECTED = Path(__file__).parent / "expected"
ILLEGAL = "."


def read_matrix(name: str) -> dict[tuple[str, str], str]:
    """(state, event) -> cell of one machine's matrix; ValueError on a ragged line."""
    lines = (EXPECTED / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    head, *rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    cells: dict[tuple[str, str], str] = {}
    for state, *row in rows:
        if len(row) != len(head) - 1 or any((state, event) in cells for event in head[1:]):
            raise ValueError(f"{name}.txt: line of {state} is ragged or written twice")
        cells |= {(state, event): cell for event, cell in zip(head[1:], row, strict=True)}
    return cells


def behaviour(machine: Machine, state: str, event: str) -> str:
    """What the machine does there, in the words of a matrix."""
    try:
        target = machine.next(state, event)
    except IllegalTransition:
        return ILLEGAL
    return target if target is not None else machine.ignored[state, event]


def differences(machine: Machine, expected: dict[tuple[str, str], str]) -> list[str]:
    """Every cell in which the machine does not do what the matrix says, by name."""
    return [
        f"{machine.name}-{state}-{event}: expected {cell}, found {found}"
        for (state, event), cell in expected.items()
        if (found := behaviour(machine, state, event)) != cell
    ]


def is_ignored(cell: str) -> bool:
    """Whether a matrix cell is a reason word."""
    return cell in IGNORED_REASONS

"""Every (state, event) of every machine does what its hand-written matrix says."""

import pytest
from msgspec import structs

from tests.tables.product import EXPECTED, ILLEGAL, differences, is_ignored, read_matrix
from xce.model.machine import IllegalTransition
from xce.model.tables import MACHINES

MATRICES = {name: read_matrix(name) for name in MACHINES}
CELLS = [
    pytest.param(name, state, event, cell, id=f"{name}-{state}-{event}")
    for name, matrix in MATRICES.items()
    for (state, event), cell in matrix.items()
]
LEGAL = [
    pytest.param(name, key, id=f"{name}-{key[0]}-{key[1]}")
    for name, machine in MACHINES.items()
    for key in machine.rows
]


@pytest.mark.parametrize(("name", "state", "event", "cell"), CELLS)
def test_each_cell_moves_ignores_or_refuses_as_written(
    name: str, state: str, event: str, cell: str
) -> None:
    machine = MACHINES[name]
    if cell == ILLEGAL:
        with pytest.raises(IllegalTransition) as caught:
            machine.next(state, event, "12[3]")
        assert (caught.value.machine, caught.value.state) == (name, state)
        assert str(caught.value) == f"{name} 12[3]: no cell for event '{event}' in state {state}"
    elif is_ignored(cell):
        assert machine.next(state, event) is None
        assert machine.ignored[state, event] == cell
        assert not machine.legal(state, event)
    else:
        assert machine.next(state, event) == cell
        assert machine.legal(state, event)


@pytest.mark.parametrize("name", MACHINES)
def test_the_matrix_names_exactly_the_machines_states_and_events(name: str) -> None:
    machine = MACHINES[name]
    assert set(MATRICES[name]) == {
        (state.name, event.name) for state in machine.states for event in machine.events
    }


def test_there_is_a_matrix_for_every_machine_and_no_other() -> None:
    assert sorted(path.stem for path in EXPECTED.iterdir()) == sorted(MACHINES)


@pytest.mark.parametrize(("name", "key"), LEGAL)
def test_removing_a_legal_row_is_found_under_the_name_of_its_cell(
    name: str, key: tuple[str, str]
) -> None:
    machine = MACHINES[name]
    rows = {cell: target for cell, target in machine.rows.items() if cell != key}
    wounded = structs.replace(machine, rows=rows)
    state, event = key
    found = differences(wounded, MATRICES[name])
    assert found == [f"{name}-{state}-{event}: expected {machine.rows[key]}, found ."]


@pytest.mark.parametrize(("name", "key"), LEGAL)
def test_sending_a_legal_row_elsewhere_is_found(name: str, key: tuple[str, str]) -> None:
    machine = MACHINES[name]
    others = [state.name for state in machine.states if state.name != machine.rows[key]]
    wounded = structs.replace(machine, rows={**machine.rows, key: others[0]})
    assert len(differences(wounded, MATRICES[name])) == 1

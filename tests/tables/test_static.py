"""What can be said of the tables without running them."""

from collections.abc import Callable

import pytest

from xce.controller.core.life import relations as core
from xce.model import tables
from xce.model.machine import (
    ACTIVE,
    IGNORED_REASONS,
    INITIAL,
    SOURCES,
    TERMINAL,
    WAIT,
    Machine,
    table,
)  # fmt: skip
from xce.model.tables import COUPLINGS, MACHINES

EVERY = pytest.mark.parametrize("machine", MACHINES.values(), ids=list(MACHINES))

# By nature without an end: a job is suspended and resumed as often as its owner likes, a host
# opened and closed.
ENDLESS = {"suspension", "admin"}
# What was taken out or vanished may be reported again; all other terminal states are final.
MAY_RETURN = {
    ("instance", "GONE", "report"), ("liveness", "GONE", "register"),
    ("job", "DONE", "requeue"), ("job", "EXITED", "requeue"),
}  # fmt: skip

# (machine, event, relation) -> states in which the target cannot be, and why.
CANNOT_BE = {
    ("start", "pass", "group"): (
        {"FORMING", "PENDING", "RETRACTING", "DONE", "EXITED"},
        "an OPEN start keeps its group STARTING or RUNNING; a retract fails it in the same step",
    ),
    ("start", "fail", "group"): (
        {"FORMING", "DONE", "EXITED"},
        "an unsealed group is not planned, and an end waits until no start is OPEN",
    ),
    ("launch", "start", "job"): (
        {"PENDING", "HELD"},
        "a job waits again only when its start failed or its launches are gone",
    ),
    ("claim", "release", "self"): ({"PENDING"}, "release has just moved it"),
    ("instance", "miss", "claims"): ({"PENDING"}, "a claim that waits holds no instance"),
    ("attachment", "free", "claim"): ({"PENDING"}, "a claim that waits has no attachments"),
    ("attachment", "lose", "claim"): ({"PENDING"}, "a claim that waits has no attachments"),
    ("attachment", "fail", "claim"): ({"PENDING"}, "a claim that waits has no attachments"),
}
RELATIONS = {
    "self", "group", "members", "launches", "claims", "job", "attachments", "claim", "instances",
}  # fmt: skip
CONDITIONS = {"", *tables.CONDITION_MEANINGS}


def names(machine: Machine) -> list[str]:
    return [state.name for state in machine.states]


def closure(machine: Machine, begin: set[str], step: Callable[[str, str], bool]) -> set[str]:
    """All states that follow from `begin` where `step(state, other)` links them."""
    found = set(begin)
    while more := {o for s in found for o in names(machine) if step(s, o)} - found:
        found |= more
    return found


@EVERY
def test_a_machine_has_one_initial_state_and_it_comes_first(machine: Machine) -> None:
    assert [state.kind for state in machine.states].count(INITIAL) == 1
    assert machine.states[0].kind == INITIAL


@EVERY
def test_kinds_sources_and_reasons_are_words_of_the_lists(machine: Machine) -> None:
    assert {state.kind for state in machine.states} <= {INITIAL, WAIT, ACTIVE, TERMINAL}
    assert {event.source for event in machine.events} <= set(SOURCES)
    assert set(machine.ignored.values()) <= set(IGNORED_REASONS)
    assert all(row.meaning for row in (*machine.states, *machine.events))


@EVERY
def test_names_are_written_once_and_cells_use_only_them(machine: Machine) -> None:
    events = [event.name for event in machine.events]
    assert len(set(names(machine))) == len(machine.states)
    assert len(set(events)) == len(events)
    for state, event in (*machine.rows, *machine.ignored):
        assert state in names(machine)
        assert event in events
    assert set(machine.rows.values()) <= set(names(machine))


@EVERY
def test_no_cell_is_both_legal_and_ignored(machine: Machine) -> None:
    assert not machine.rows.keys() & machine.ignored.keys()


@EVERY
def test_every_state_can_be_reached(machine: Machine) -> None:
    linked = {(state, target) for (state, _), target in machine.rows.items()}
    reached = closure(machine, {machine.states[0].name}, lambda s, o: (s, o) in linked)
    assert reached == set(names(machine))


@EVERY
def test_every_state_can_end_unless_the_machine_is_endless(machine: Machine) -> None:
    linked = {(target, state) for (state, _), target in machine.rows.items()}
    ends = set(machine.of_kind(TERMINAL))
    assert bool(ends) == (machine.name not in ENDLESS)
    if ends:
        assert closure(machine, ends, lambda s, o: (s, o) in linked) == set(names(machine))


@EVERY
def test_terminal_states_are_left_only_by_what_may_return(machine: Machine) -> None:
    leaving = {
        (machine.name, state, event)
        for state, event in machine.rows
        if state in machine.of_kind(TERMINAL)
    }
    assert leaving == {row for row in MAY_RETURN if row[0] == machine.name}


@EVERY
def test_every_event_moves_something(machine: Machine) -> None:
    moved = {event for _, event in machine.rows}
    assert moved == {event.name for event in machine.events}


@EVERY
def test_events_of_couplings_are_fired_by_one_and_rule_events_by_none(machine: Machine) -> None:
    fired = {c.target_event for c in COUPLINGS if c.target == machine.name}
    for event in machine.events:
        if event.source == "coupling":
            assert event.name in fired, event.name
        if event.source == "rule":
            assert event.name not in fired, event.name


def test_couplings_name_machines_events_relations_and_conditions_that_exist() -> None:
    for coupling in COUPLINGS:
        assert coupling.relation in RELATIONS
        assert coupling.when in CONDITIONS
        assert coupling.why
        for name, event in (
            (coupling.machine, coupling.event),
            (coupling.target, coupling.target_event),
        ):
            assert event in {row.name for row in MACHINES[name].events}, (name, event)


def test_the_core_knows_every_relation_and_condition_of_the_couplings() -> None:
    for coupling in COUPLINGS:
        home = {"liveness": "host", "admin": "host", "suspension": "job"}.get(
            coupling.machine, coupling.machine
        )
        assert (home, coupling.relation) in core.RELATIONS
        assert coupling.when in core.CONDITIONS


def test_no_coupling_is_written_twice() -> None:
    written = {(c.machine, c.event, c.relation, c.target, c.target_event) for c in COUPLINGS}
    assert len(written) == len(COUPLINGS)


def test_couplings_of_one_event_stand_together() -> None:
    order = [(coupling.machine, coupling.event) for coupling in COUPLINGS]
    runs = [key for at, key in enumerate(order) if at == 0 or order[at - 1] != key]
    assert len(runs) == len(set(runs))


@pytest.mark.parametrize(
    "coupling", COUPLINGS, ids=lambda c: f"{c.machine}.{c.event}-{c.relation}.{c.target_event}"
)
def test_a_coupled_cell_is_legal_or_ignored_wherever_its_target_can_be(
    coupling: tables.Coupling,
) -> None:
    target = MACHINES[coupling.target]
    missing = {
        state
        for state in names(target)
        if not target.legal(state, coupling.target_event)
        and (state, coupling.target_event) not in target.ignored
    }
    excused, _ = CANNOT_BE.get((coupling.machine, coupling.event, coupling.relation), (set(), ""))
    assert missing <= excused


def test_couplings_do_not_run_in_circles() -> None:
    follows: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for c in COUPLINGS:
        follows.setdefault((c.machine, c.event), set()).add((c.target, c.target_event))
    for begin in follows:
        seen, todo = set(), [begin]
        while todo:
            new = follows.get(todo.pop(), set()) - seen
            seen |= new
            todo += sorted(new)
        assert begin not in seen, begin


def test_the_sets_of_live_states_are_the_tables() -> None:
    assert {"PREPARING", "ARMED", "RUNNING", "STOPPING"} == tables.LIVE_LAUNCH
    assert {"PROVISIONING", "READY", "FAILED", "RELEASING"} == tables.LIVE_ATTACHMENT
    assert {"DONE", "EXITED"} == tables.ENDED_JOB
    assert {"DONE", "EXITED"} == tables.ENDED_GROUP


def test_a_cell_written_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="written twice"):
        table("toy", "A initial one", "go user it goes", "A: go>A go=already")


def test_a_cell_without_a_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="neither"):
        table("toy", "A initial one", "go user it goes", "A: go")

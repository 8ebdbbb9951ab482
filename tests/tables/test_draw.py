"""The generated page of the state machines says what the tables say, and is current."""

from pathlib import Path

import pytest

from scripts import draw_docs, state_page
from xce.model.machine import IGNORED_REASONS
from xce.model.tables import COUPLINGS, MACHINES


def test_the_committed_pages_are_current() -> None:
    assert draw_docs.stale() == []
    assert draw_docs.main(["--check"]) == 0


def test_the_page_has_each_machines_matrix_line_by_line() -> None:
    lines = state_page.page().splitlines()
    assert "| OPEN | PASSED | FAILED | . |" in lines
    assert "| PASSED | *already* | *late* | FAILED |" in lines
    assert "| FAILED | *late* | *already* | *already* |" in lines
    assert "| GONE | JOINING | *late* | *moot* | *moot* | *late* | *moot* | *already* |" in lines
    for machine in MACHINES.values():
        assert f"## {machine.name}" in lines


def test_the_page_counts_the_cells() -> None:
    assert "| [start](#start) | 3 | 3 | 5 | 1 |" in state_page.page().splitlines()


def test_the_diagrams_show_begin_moves_and_ends() -> None:
    page = state_page.page()
    assert "    [*] --> PREPARING\n" in page
    assert "    STOPPING --> EXITED: exit\n" in page
    assert "    LOST --> [*]\n" in page
    assert page.count("```mermaid") == len(MACHINES)


def test_every_coupling_has_its_line() -> None:
    lines = state_page.page().splitlines()
    for one in COUPLINGS:
        begin = f"| {one.machine} {one.event} | {one.relation} | {one.target} {one.target_event} |"
        assert len([line for line in lines if line.startswith(begin)]) == 1


def test_every_reason_word_is_explained() -> None:
    assert set(state_page.REASONS) == set(IGNORED_REASONS)


def test_a_missing_or_changed_page_is_stale_until_it_is_written(tmp_path: Path) -> None:
    assert draw_docs.stale(tmp_path) == list(draw_docs.PAGES)
    assert draw_docs.write(tmp_path) == list(draw_docs.PAGES)
    assert draw_docs.stale(tmp_path) == []
    (tmp_path / "docs/reference/states.md").write_text("older", encoding="utf-8")
    assert draw_docs.stale(tmp_path) == ["docs/reference/states.md"]


def test_the_check_names_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(draw_docs, "PAGES", {"docs/reference/none.md": state_page.page})
    assert draw_docs.main(["--check"]) == 1
    assert "docs/reference/none.md is not current" in capsys.readouterr().err

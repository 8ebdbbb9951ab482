"""Who goes first, who may not yet, and what is told: the cases of cases/*.txt."""

from pathlib import Path

import pytest

from tests.scheduler.waiting.play import Case, cases, play

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_work_begins_when_the_case_says(case: Case, tmp_path: Path) -> None:
    answers = play(case, tmp_path / "xce.toml")
    assert [found for _, found in answers] == [wanted for wanted, _ in answers]


def test_there_are_enough_cases_and_none_twice() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60

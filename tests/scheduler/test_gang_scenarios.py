"""Segments, balance and exclusive domains: every case that is written down comes out as it says."""

import pytest

from tests.scheduler.gang_scenarios import Case, answers, cases

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_gang_lies_as_the_case_says(case: Case) -> None:
    assert answers(case) == [answer for _, answer in case.gangs]


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 30

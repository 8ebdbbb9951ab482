"""The cases of cases/*.txt: every answer was worked out by hand."""

import pytest

from tests.scheduler.time.cases import Case, answers, cases

ALL = cases()


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_session_says_what_the_case_says(case: Case) -> None:
    assert answers(case) == [answer for _, answer in case.asked]


def test_there_are_enough_of_them_with_names_of_their_own() -> None:
    assert len({case.name for case in ALL}) == len(ALL) >= 40

"""Every feature of the requirement language changes a placement: the cases of features/*.txt."""

import pytest

from tests.scheduler.scenarios import Scenario, answer, plain, scenarios

CASES = scenarios()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_tasks_lie_where_the_case_says(case: Scenario) -> None:
    found = [answer(case, tasks, resreq) for tasks, resreq, _ in case.asked]
    assert found == [plain(place) for _, _, place in case.asked]


def test_every_case_has_two_answers_at_least_and_there_are_enough_of_them() -> None:
    assert [case.name for case in CASES if len({place for *_, place in case.asked}) < 2] == []
    assert len({case.name for case in CASES}) == len(CASES) >= 80

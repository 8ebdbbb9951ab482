"""A slice of the crash points; `python -m tests.core.crash --pairs 10000` plays many more."""

from tests.core.crash import POINTS, many


def test_five_hundred_crashes_lose_nothing_and_run_nothing_twice() -> None:
    total = many(500)
    assert total.pairs >= 500
    assert {name: total.points[name] >= 3 for name in POINTS} == dict.fromkeys(POINTS, True)

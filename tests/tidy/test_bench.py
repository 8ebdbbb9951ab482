"""The benchmarks are found by name, and a wrong name lists them."""

import pytest

from bench.__main__ import main, names


def test_the_benchmarks_are_listed_without_importing_them() -> None:
    assert "log" in names()
    assert all(not name.startswith("_") for name in names())


@pytest.mark.parametrize("argv", [[], ["nothing-of-that-name"]])
def test_a_wrong_name_is_a_usage_error(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert "NAME is one of: " in capsys.readouterr().err

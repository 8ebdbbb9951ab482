"""The benchmark of the language gives its figures and prints nothing."""

import pytest

from bench.resreq import run


def test_the_benchmark_returns_figures_and_prints_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = run(["--texts", "3", "--hosts", "50"])
    assert found["name"] == "resreq"
    figures = found["figures"]
    assert isinstance(figures, dict)
    assert list(figures) == [
        *["cold_us", "warm_us", "print_us", "resolve_us", "match_us", "columns_us"],
        "columns_of_five_us",
    ]
    assert all(value > 0 for value in figures.values())
    assert capsys.readouterr().out == ""

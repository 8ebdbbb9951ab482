"""The session's benchmark runs and its figures are what they say."""

from bench.session import run


def test_the_session_benchmark_places_all_that_fits_and_nothing_on_full_hosts():
    result = run(
        ["--jobs", "40", "--classes", "7", "--hosts", "8", "--gangs", "2", "--repeat", "1"]
    )
    figures = result["figures"]
    assert set(figures) == {"full_s", "full_cpu_s", "idle_s", "known_s", "placed", "placed_idle"}
    assert figures["placed"] == 40
    assert figures["placed_idle"] == 0
    assert result["setting"]["hosts"] == 8

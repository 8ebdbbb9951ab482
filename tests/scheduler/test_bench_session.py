"""The session's benchmark runs and its figures are what they say."""

from bench.session import run

SECONDS = {
    "full_s", "full_wall_s", "view_s", "plan_s", "commit_s", "idle_s", "known_s", "gang_s",
    "gang_single_s",
}  # fmt: skip


def test_the_session_benchmark_places_all_that_fits_and_nothing_on_full_hosts():
    result = run(
        ["--jobs", "40", "--classes", "7", "--hosts", "8", "--gangs", "2", "--repeat", "1"]
    )
    figures = result["figures"]
    assert set(figures) == SECONDS | {"placement_us", "placed", "placed_idle", "job_bytes"}
    assert figures["placed"] == 40
    assert figures["placed_idle"] == 0
    assert result["setting"]["hosts"] == 8

"""Two gangs of which each needs more than half of the cluster, with real processes."""

import pytest

from tests.kill.scenes import two_large_gangs

pytestmark = [pytest.mark.processes, pytest.mark.slow]


def test_of_two_large_gangs_submitted_at_once_one_runs_whole_and_the_other_holds_nothing() -> None:
    assert two_large_gangs("ci") == []

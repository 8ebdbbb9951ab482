"""Random worlds, a slice of them; `python -m tests.core.walk --worlds 2000` plays many more."""

from collections import Counter

import pytest

from tests.core.walk import play

# What a slice must have gone through, or it shows little.
MUST_HAPPEN = (
    "AttachmentReported", "BarrierPassed", "FailureNoted", "GroupDecided", "GroupEnded",
    "HostChanged", "HostReconciled", "HostRegistered", "KillAsked", "LaunchArmed", "LaunchEnded",
    "LaunchStarted", "LeaderStarted", "Planned", "Retired", "RoleReady", "SessionEnded",
    "StartFailed", "WaveOpened",
)  # fmt: skip


@pytest.mark.slow
def test_random_worlds_come_whole_to_their_end() -> None:
    kinds = Counter[str]()
    for seed in range(40):
        kinds += play(seed).world.ledger.kinds
    assert [kind for kind in MUST_HAPPEN if not kinds[kind]] == []


@pytest.mark.slow
def test_random_worlds_whose_controller_dies_again_and_again_come_whole_to_their_end() -> None:
    crashes = sum(play(seed, crash_per_1000=25).world.crashes for seed in range(100, 120))
    assert crashes > 100

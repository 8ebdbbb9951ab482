"""Reservations that fall while their holder runs: duration, decay and phases."""

import pytest

from tests.scheduler.scenarios import need
from xce.model.placing import Share
from xce.scheduler.over_time import amount_at, fallen, falls_us

MINUTE_US = 60_000_000
MB = 2**20


def left(text: str, minutes: float) -> int:
    """The memory still reserved for one task after so long, in MB, rounded up."""
    return -(-amount_at(need(text).timed[0].phases, int(minutes * MINUTE_US)) // MB)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("rusage[mem=100:duration=10]", {0: 100, 9.99: 100, 10: 0, 99: 0}),
        ("rusage[mem=100:duration=10:decay=1]", {0: 100, 2.5: 75, 5: 50, 9: 10, 10: 0}),
        ("rusage[mem=(100 40):duration=(10)]", {0: 100, 9: 100, 10: 40, 99: 40}),
        ("rusage[mem=(100 40):duration=(10 5)]", {9: 100, 10: 40, 14: 40, 15: 0}),
        ("rusage[mem=(100 40):duration=(10 4):decay=(0 1)]", {9: 100, 10: 40, 11: 30, 14: 0}),
        ("rusage[mem=(100 40 10):duration=(10 4):decay=(1 0)]", {5: 50, 10: 40, 14: 10, 99: 10}),
    ],
)
def test_what_is_still_reserved_at_a_time(text: str, at: dict[float, int]) -> None:
    assert {minutes: left(text, minutes) for minutes in at} == at


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("rusage[mem=100:duration=10]", (10,)),
        ("rusage[mem=(100 40):duration=(10 5)]", (10, 15)),
        ("rusage[mem=100:duration=8:decay=1]", (1, 2, 3, 4, 5, 6, 7, 8)),
        ("rusage[mem=100:duration=10,tok=1:duration=4]", (4, 10)),
        ("rusage[mem=100]", ()),
    ],
)
def test_when_an_amount_falls(text: str, minutes: tuple[int, ...]) -> None:
    assert falls_us(need(text).timed) == tuple(m * MINUTE_US for m in minutes)


def test_a_share_lends_for_its_tasks_its_host_and_on_the_first_host_for_the_job() -> None:
    asked = "rusage[mem=10:duration=10,tok=3/host:duration=10,scratch=5/job:duration=10]"
    part = need(asked)
    granted = (("mem", 40 * MB), ("scratch", 5 * MB), ("slots", 4), ("tok", 3))
    share = Share(host="a", tasks=4, counters=granted)
    later_us = 10 * MINUTE_US
    everything = (("mem", 40 * MB), ("scratch", 5 * MB), ("tok", 3))
    assert fallen(share, part, later_us, first=True) == everything
    assert fallen(share, part, later_us, first=False) == (("mem", 40 * MB), ("tok", 3))
    assert fallen(share, part, later_us - 1, first=True) == ()


def test_what_falls_is_rounded_so_that_nothing_held_is_lent() -> None:
    part = need("rusage[tok=1:duration=10:decay=1]")
    share = Share(host="a", tasks=3, counters=(("slots", 3), ("tok", 3)))
    assert fallen(share, part, 9 * MINUTE_US, first=True) == ()
    assert fallen(share, part, 10 * MINUTE_US, first=True) == (("tok", 3),)

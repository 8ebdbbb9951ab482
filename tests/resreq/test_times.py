"""Begin and termination times: what a written time means now, worked out by hand."""

from calendar import timegm

import pytest

from xce.model.units import format_moment
from xce.resreq.errors import ResreqError
from xce.resreq.options.exits import exit_values
from xce.resreq.options.times import Local, moment_us

NOW: Local = (2026, 11, 30, 20, 15)


def utc(local: Local) -> int:
    return timegm((*local, 0)) * 1_000_000


def meant(text: str, now: Local = NOW, beyond_us: int = 0) -> str:
    return format_moment(moment_us(text, now, utc(now) + beyond_us, utc))[:16]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("20:16", "2026-11-30 20:16"),
        ("20:15", "2026-12-01 20:15"),  # this very minute has begun
        ("6:00", "2026-12-01 06:00"),
        ("0:00", "2026-12-01 00:00"),
        ("30:23:59", "2026-11-30 23:59"),
        ("30:20:00", "2026-12-30 20:00"),
        ("31:08:00", "2026-12-31 08:00"),  # November has no 31st
        ("1:08:00", "2026-12-01 08:00"),
        ("12:24:18:30", "2026-12-24 18:30"),
        ("11:30:20:00", "2027-11-30 20:00"),
        ("2:29:12:00", "2028-02-29 12:00"),
        ("2027:1:2:03:04", "2027-01-02 03:04"),
        ("2020:1:2:03:04", "2020-01-02 03:04"),  # a year says it whole
    ],
)
def test_a_time_is_the_next_that_comes(text: str, moment: str) -> None:
    assert meant(text) == moment


def test_a_second_before_the_minute_it_is_still_today() -> None:
    assert meant("20:16", beyond_us=59_999_999) == "2026-11-30 20:16"
    assert meant("20:16", (2026, 11, 30, 20, 16), 1) == "2026-12-01 20:16"


def test_the_day_after_the_last_of_the_year_is_the_first() -> None:
    assert meant("6:00", (2027, 12, 31, 7, 0)) == "2028-01-01 06:00"
    assert meant("6:00", (2028, 2, 28, 7, 0)) == "2028-02-29 06:00"
    assert meant("6:00", (2027, 2, 28, 7, 0)) == "2027-03-01 06:00"


@pytest.mark.parametrize("text", ["2027:2:29:12:00", "2:30:12:00", "4:31:1:00"])
def test_a_day_that_is_in_no_calendar_is_refused(text: str) -> None:
    with pytest.raises(ResreqError, match="there is no such day"):
        meant(text)


@pytest.mark.parametrize("text", ["", "20", "24:00", "20:60", "0:20:00", "13:1:2:00", "1:2:3:4:5"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ResreqError):
        meant(text)


@pytest.mark.parametrize(
    ("at_s", "text"),
    [
        (0, "1970-01-01 00:00:00 UTC"),
        (951_782_399, "2000-02-28 23:59:59 UTC"),
        (951_782_400, "2000-02-29 00:00:00 UTC"),
        (1_740_787_199, "2025-02-28 23:59:59 UTC"),
        (1_740_787_200, "2025-03-01 00:00:00 UTC"),
        (1_796_068_800, "2026-11-30 20:00:00 UTC"),
        (4_107_542_400, "2100-03-01 00:00:00 UTC"),
    ],
)
def test_a_moment_prints_as_the_calendar_has_it(at_s: int, text: str) -> None:
    assert format_moment(at_s * 1_000_000 + 999_999) == text


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("3", {3: "requeue", 4: ""}),
        ("1 2 EXCLUDE(3)", {1: "requeue", 2: "requeue", 3: "exclude", 0: ""}),
        ("all ~0", {0: "", 1: "requeue", 255: "requeue"}),
        ("all ~0 ~5", {0: "", 5: "", 6: "requeue"}),
        ("EXCLUDE(all ~1) 1", {1: "requeue", 0: "exclude", 9: "exclude"}),
        ("EXCLUDE(20) 30 EXCLUDE(21)", {20: "exclude", 21: "exclude", 30: "requeue"}),
        ("", {0: "", 1: ""}),
    ],
)
def test_exit_values_mean_what_lsf_means(text: str, codes: dict[int, str]) -> None:
    assert {code: exit_values(text).meaning(code) for code in codes} == codes

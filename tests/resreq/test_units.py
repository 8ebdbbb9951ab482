"""Sizes are bytes, durations are microseconds, and both print in exactly one way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xce.model.units import (
    UnitError,
    format_decimal,
    format_duration,
    format_size,
    nearest,
    parse_decimal,
    parse_duration,
    parse_size,
)

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("512", 512 * MB),
        ("0", 0),
        ("1KB", 1024),
        ("1k", 1024),
        ("4GB", 4096 * MB),
        ("4G", 4096 * MB),
        ("4g", 4096 * MB),
        ("4gb", 4096 * MB),
        ("1.5GB", 1536 * MB),
        (".5g", 512 * MB),
        ("2TB", 2 * 1024 * 1024 * MB),
        ("1P", 2**50),
        ("1EB", 2**60),
        ("64000.00", 64000 * MB),
        ("0.0000001", 1),
        ("99999999999999999999", 99999999999999999999 * MB),
    ],
)
def test_a_size_text_is_read_as_exact_bytes(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0MB"),
        (1024, "1KB"),
        (1536, "1.5KB"),
        (1, "0.0009765625KB"),
        (4096 * MB, "4GB"),
        (5000 * MB, "5000MB"),
        (2**50, "1PB"),
    ],
)
def test_a_size_prints_with_the_largest_unit_that_divides_it(size_bytes: int, text: str) -> None:
    assert format_size(size_bytes) == text


@given(st.integers(0, 2**80))
def test_a_printed_size_reads_as_the_same_bytes(size_bytes: int) -> None:
    assert parse_size(format_size(size_bytes)) == size_bytes


@pytest.mark.parametrize(
    ("text", "column", "end", "message"),
    [
        ("4gigs", 11, 15, "unknown size unit 'gigs': '4gigs'"),
        ("", 10, 10, "not a size: ''"),
        ("-4", 10, 12, "not a size: '-4'"),
        ("4 GB", 11, 14, "unknown size unit ' GB': '4 GB'"),
        ("1e9", 11, 13, "unknown size unit 'e9': '1e9'"),
    ],
)
def test_what_is_no_size_is_refused_with_its_column(
    text: str, column: int, end: int, message: str
) -> None:
    with pytest.raises(UnitError) as refusal:
        parse_size(text, column=10)
    assert (refusal.value.column, refusal.value.end) == (column, end)
    assert refusal.value.message == message
    assert "512MB" in refusal.value.expected


def test_a_number_of_thousands_of_digits_is_refused_at_once() -> None:
    with pytest.raises(UnitError):
        parse_size("9" * 5000)
    with pytest.raises(UnitError):
        parse_duration("9" * 5000 + "s")


@pytest.mark.parametrize(
    ("text", "duration_us"),
    [("90s", 90_000_000), ("10m", 600_000_000), ("2h", 7_200_000_000), ("0s", 0)],
)
def test_a_duration_is_read_as_microseconds(text: str, duration_us: int) -> None:
    assert parse_duration(text) == duration_us


def test_a_bare_duration_needs_a_unit_unless_one_is_given() -> None:
    assert parse_duration("10", bare="m") == 600_000_000
    with pytest.raises(UnitError) as refusal:
        parse_duration("10", column=5)
    assert str(refusal.value) == (
        "a duration needs a unit: '10' (column 7); expected a duration like 90s, 10m or 2h"
    )


@pytest.mark.parametrize("text", ["", "s", "-5s", "1.5h", "5d", "5 m"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UnitError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("duration_us", "text"),
    [(0, "0s"), (90_000_000, "90s"), (120_000_000, "2m"), (3_600_000_000, "1h")],
)
def test_a_duration_prints_with_the_largest_unit_that_divides_it(
    duration_us: int, text: str
) -> None:
    assert format_duration(duration_us) == text
    assert parse_duration(text) == duration_us


@pytest.mark.parametrize(
    ("text", "value"), [("1.50", (15, 1)), ("007", (7, 0)), (".25", (25, 2)), ("2.0", (2, 0))]
)
def test_a_decimal_is_kept_exactly_in_lowest_form(text: str, value: tuple[int, int]) -> None:
    assert parse_decimal(text) == value
    assert parse_decimal(format_decimal(*value)) == value


def test_the_nearest_word_is_found_across_cases_and_slips() -> None:
    assert nearest("rsuage", ["select", "rusage", "span"]) == "rusage"
    assert nearest("Select", ["select", "rusage"]) == "select"
    assert nearest("zzz", ["select", "rusage"]) == ""

"""Sizes and durations: text to exact integers and back.

Sizes are bytes, durations are microseconds, both plain `int`; no float is ever made, so that
equal texts mean equal numbers on every machine. A size without a unit counts megabytes. Units
are powers of 1024, in both cases, with one or two letters (`4g`, `4GB`). Every number has
exactly one printed form, and reading the printed form gives the number back.

A text that is no size or duration raises `UnitError`, which names the 1-based column, what was
found there and what was expected. This module knows nothing of resources or requirements.
"""

import re
from collections.abc import Iterable

KB = 1 << 10
MB = 1 << 20

SIZE_UNITS = ("KB", "MB", "GB", "TB", "PB", "EB", "ZB")
_SIZE_FACTOR = {unit: 1 << (10 * power) for power, unit in enumerate(SIZE_UNITS, start=1)}
_SIZE_SPELLING = {
    spelling: _SIZE_FACTOR[unit]
    for unit in SIZE_UNITS
    for spelling in (unit, unit[0], unit.lower(), unit[0].lower())
}

SECOND_US = 1_000_000
_DURATION_FACTOR = {"s": SECOND_US, "m": 60 * SECOND_US, "h": 3600 * SECOND_US}

# Beyond this many characters a number is no quantity of anything; reading it costs time only.
NUMBER_CHARACTERS_MAX = 40
# Nobody meant a known word by one this long; comparing takes time in the square of its length.
WORD_CHARACTERS_MAX = 80

_DECIMAL = re.compile(r"(?:(\d+)(?:\.(\d+))?|\.(\d+))")
_INTEGER = re.compile(r"\d+")


class UnitError(ValueError):
    """A text that is no size or duration: what, where (1-based columns), expected what."""

    def __init__(self, message: str, *, column: int, end: int, found: str, expected: str) -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.end = end
        self.found = found
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.message} (column {self.column}); expected {self.expected}"


_SIZE_EXPECTED = "a size like 512MB or 4GB (a bare number is MB)"
_DURATION_EXPECTED = "a duration like 90s, 10m or 2h"


def size_factor(unit: str) -> int | None:
    """The bytes that one `unit` stands for; None when there is no such unit."""
    return _SIZE_SPELLING.get(unit)


def parse_decimal(text: str) -> tuple[int, int]:
    """A plain decimal as (digits, places): its value is digits / 10**places, in lowest form."""
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return int((whole or "0") + fraction), len(fraction)


def format_decimal(digits: int, places: int) -> str:
    """The one printed form of digits / 10**places."""
    if places == 0:
        return str(digits)
    padded = str(digits).rjust(places + 1, "0")
    return f"{padded[:-places]}.{padded[-places:]}"


def scaled_up(digits: int, places: int, factor: int) -> int:
    """digits / 10**places * factor, rounded up to a whole number."""
    divisor: int = 10**places
    return -(-digits * factor // divisor)


def parse_size(text: str, *, column: int = 1) -> int:
    """Bytes of a size text such as `512`, `512MB`, `1.5g`; part of a byte counts as one."""
    number = _DECIMAL.match(text)
    if number is None or len(text) > NUMBER_CHARACTERS_MAX:
        raise _refused("not a size", text, 0, column, _SIZE_EXPECTED)
    unit = text[number.end() :]
    factor = _SIZE_SPELLING.get(unit) if unit else MB
    if factor is None:
        raise _refused(f"unknown size unit {unit!r}", text, number.end(), column, _SIZE_EXPECTED)
    return scaled_up(*parse_decimal(number.group()), factor)


def format_size(size_bytes: int) -> str:
    """The one printed form of a size: the largest unit that divides it, else parts of a KB."""
    if size_bytes == 0:
        return "0MB"
    for unit in reversed(SIZE_UNITS):
        whole, rest = divmod(size_bytes, _SIZE_FACTOR[unit])
        if rest == 0:
            return f"{whole}{unit}"
    # 1/1024 has exactly ten decimal places, so this form is exact, too.
    digits, places = size_bytes * (10**10 // KB), 10
    while digits % 10 == 0:
        digits, places = digits // 10, places - 1
    return f"{format_decimal(digits, places)}KB"


def parse_duration(text: str, *, column: int = 1, bare: str = "") -> int:
    """Microseconds of `90s`, `10m` or `2h`. `bare` is the unit of a number without one; without
    `bare` such a number is refused."""
    number = _INTEGER.match(text)
    if number is None or len(text) > NUMBER_CHARACTERS_MAX:
        raise _refused("not a duration", text, 0, column, _DURATION_EXPECTED)
    unit = text[number.end() :] or bare
    factor = _DURATION_FACTOR.get(unit)
    if factor is None:
        what = f"unknown duration unit {unit!r}" if unit else "a duration needs a unit"
        raise _refused(what, text, number.end(), column, _DURATION_EXPECTED)
    return int(number.group()) * factor


def format_duration(duration_us: int) -> str:
    """The one printed form of a duration of whole seconds: the largest unit that divides it."""
    for unit in ("h", "m"):
        whole, rest = divmod(duration_us, _DURATION_FACTOR[unit])
        if whole and rest == 0:
            return f"{whole}{unit}"
    return f"{duration_us // SECOND_US}s"


def format_moment(at_us: int) -> str:
    """A moment as `2026-11-30 20:00:00 UTC`: integer arithmetic, the same on every machine."""
    days, rest_s = divmod(at_us // 1_000_000, 86_400)
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    day, month = (
        of_year - (153 * shifted + 2) // 5 + 1,
        shifted + 3 if shifted < 10 else shifted - 9,
    )
    year += era * 400 + (month <= 2)
    clock = f"{rest_s // 3600:02}:{rest_s // 60 % 60:02}:{rest_s % 60:02}"
    return f"{year:04}-{month:02}-{day:02} {clock} UTC"


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that `word` was most likely meant to be, or "" when none is near."""
    if len(word) > WORD_CHARACTERS_MAX:
        return ""
    from difflib import get_close_matches

    lowered = {name.lower(): name for name in sorted(known, reverse=True)}
    close = get_close_matches(word.lower(), sorted(lowered), n=1, cutoff=0.6)
    return lowered[close[0]] if close else ""


def _refused(what: str, text: str, offset: int, column: int, expected: str) -> UnitError:
    found = text[offset:] or text
    return UnitError(
        f"{what}: {text[:NUMBER_CHARACTERS_MAX]!r}",
        column=column + offset,
        end=column + len(text),
        found=found[:NUMBER_CHARACTERS_MAX],
        expected=expected,
    )

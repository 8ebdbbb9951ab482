"""Moments as `-b` and `-t` write them: [[[year:]month:]day:]hour:minute, in the user's local time.

What is left out is the next that comes: an hour and minute that are past today are tomorrow's, a
day that is past is next month's, a month next year's. A year says the moment whole; whether that
may be past is the asker's to judge. What time it is, and how local time counts, is given.
"""

from collections.abc import Callable, Iterator

from xce.resreq.options.values import ValueFault, time_parts

Local = tuple[int, int, int, int, int]
"""Year, month, day, hour, minute."""
YEARS_AHEAD, MONTHS_AHEAD = 9, 13
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def moment_us(
    value: str, now: Local, now_us: int, stamp: Callable[[Local], int], name: str = "-b"
) -> int:
    """The moment that a value means; raises ValueFault. `now` is the local time at `now_us`,
    `stamp` gives the microseconds of a local time."""
    year, month, day, hour, minute = time_parts(value, name)
    for found in _candidates((year, month, day), now):
        if not _exists(*found):
            continue
        at_us = stamp((*found, hour, minute))
        if year is not None or at_us > now_us:
            return at_us
    raise ValueFault.of(f"{name} {value}: there is no such day", value)


def _candidates(
    asked: tuple[int | None, int | None, int | None], now: Local
) -> Iterator[tuple[int, int, int]]:
    """Days that the date may mean, soonest first; some of them do not exist."""
    year, month, day = asked
    if year is not None and month is not None and day is not None:
        yield year, month, day
    elif month is not None and day is not None:
        for ahead in range(YEARS_AHEAD):
            yield now[0] + ahead, month, day
    elif day is not None:
        for ahead in range(MONTHS_AHEAD):
            months = now[1] - 1 + ahead
            yield now[0] + months // 12, months % 12 + 1, day
    else:
        yield now[0], now[1], now[2]
        yield _tomorrow(now[0], now[1], now[2])


def _exists(year: int, month: int, day: int) -> bool:
    return day <= _days_of(year, month)


def _days_of(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _DAYS[month - 1]


def _tomorrow(year: int, month: int, day: int) -> tuple[int, int, int]:
    if day < _days_of(year, month):
        return year, month, day + 1
    return (year, month + 1, 1) if month < 12 else (year + 1, 1, 1)


__all__ = ["Local", "moment_us"]

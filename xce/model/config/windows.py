"""Time windows as LSF writes them: `8:00-18:00` every day, `fri:20:00-mon:8:00` every week.

A window is a stretch of the week, or of each day, in minutes; one that ends where it begins, or
before, goes on over the end of the week or day. What minute of the week it is, only the loop knows.
"""

import re

from msgspec import Struct

DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
DAY, WEEK = 24 * 60, 7 * 24 * 60
_POINT = re.compile(r"^(?:([a-z]{3}):|([0-7]):(?=\d+:))?(\d{1,2})(?::(\d{1,2}))?$", re.ASCII)
"""`hour`, `hour:minute` or `day:hour:minute`; a day that has a name may stand before an hour."""


class WindowError(ValueError):
    """A text that is no window."""


class Window(Struct, frozen=True, gc=False):
    """From `begin` up to `end`, in minutes of `every` (a day or a week)."""

    begin: int
    end: int
    every: int

    def holds(self, minute: int) -> bool:
        """Whether a minute of the week is inside."""
        at = minute % self.every
        if self.begin < self.end:
            return self.begin <= at < self.end
        return at >= self.begin or at < self.end


def parse_window(text: str) -> Window:
    """The window that a text names."""
    left, mark, right = text.strip().lower().partition("-")
    if not mark:
        raise WindowError(f"'{text}' has no end")
    begin, end = _point(left, text), _point(right, text)
    if (begin[0] is None) != (end[0] is None):
        raise WindowError(f"'{text}' names a day at one end only")
    if begin[0] is None:
        return Window(begin[1], end[1] % DAY, DAY)
    return Window(begin[0] * DAY + begin[1], ((end[0] or 0) * DAY + end[1]) % WEEK, WEEK)


def _point(text: str, whole: str) -> tuple[int | None, int]:
    found = _POINT.match(text.strip())
    if found is None:
        raise WindowError(f"'{whole}' is none")
    day, hour, minute = found[1] or found[2], int(found[3]), int(found[4] or 0)
    if hour > 24 or minute > 59 or (hour == 24 and minute):
        raise WindowError(f"'{whole}' names no time of the day")
    if day is not None and not day.isdecimal() and day not in DAYS:
        raise WindowError(f"'{whole}' names no day; days are {', '.join(DAYS)}")
    number = None if day is None else int(day) % 7 if day.isdecimal() else DAYS.index(day)
    return number, hour * 60 + minute


def is_open(windows: tuple[str, ...], minute: int) -> bool:
    """Whether one of the windows holds a minute of the week; without any all of it is open."""
    return not windows or any(parse_window(one).holds(minute) for one in windows)


def next_edge(windows: tuple[str, ...], minute: int) -> int:
    """In how many minutes the windows open or close next; a week where they never do."""
    now = is_open(windows, minute)
    parsed = [parse_window(one) for one in windows]
    edges = {edge for one in parsed for edge in (one.begin, one.end)}
    waits = sorted({(edge - minute) % every or every for edge in edges for every in (DAY, WEEK)})
    return next((wait for wait in waits if is_open(windows, minute + wait) != now), WEEK)

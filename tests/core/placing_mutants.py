"""Planted mistakes in how much work gets, and where."""

from typing import Any

from tests.core.swapped import swapped
from xce.scheduler import session

PLACING: dict[str, tuple[Any, str]] = {
    "a range of tasks gets its least": (
        lambda: swapped(session, "largest", lambda sizes, fits: sizes[0]),
        "task_ranges.a_range_gets_as_many_as_fit_up_to_its_most",
    ),
    "a range of tasks gets its most or nothing": (
        lambda: swapped(session, "largest", lambda sizes, fits: sizes[-1]),
        "task_ranges.limits_bound_the_range",
    ),
}

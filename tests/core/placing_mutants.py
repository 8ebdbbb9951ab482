"""Planted mistakes in how much work gets, and where."""

from typing import Any

from tests.core.swapped import swapped
from xce.controller.core import view
from xce.controller.core.queueing import run_windows
from xce.scheduler import session
from xce.scheduler.place import classes

PLACING: dict[str, tuple[Any, str]] = {
    "a range of tasks gets its least": (
        lambda: swapped(session, "largest", lambda sizes, fits: sizes[0]),
        "task_ranges.a_range_gets_as_many_as_fit_up_to_its_most",
    ),
    "a range of tasks gets its most or nothing": (
        lambda: swapped(session, "largest", lambda sizes, fits: sizes[-1]),
        "task_ranges.limits_bound_the_range",
    ),
    "a job that wants its hosts for itself shares them": (
        lambda: swapped(classes, "_alone_in", lambda ask, role, part: None),
        "exclusive_hosts.it_waits_for_hosts_that_nobody_uses_and_says_so",
    ),
    "others come to the hosts of an exclusive job": (
        lambda: swapped(view, "exclusive_use", lambda state: ()),
        "exclusive_hosts.nobody_comes_to_a_host_that_is_somebodys_alone",
    ),
    "a dry run knows no limits": (
        lambda: swapped(view, "_bounded", lambda bounds, asks: asks),
        "limits.a_dry_run_keeps_within_limits",
    ),
    "a shut run window stops nothing": (
        lambda: swapped(run_windows, "outside", lambda state, queue: iter(())),
        "run_windows.a_gang_is_stopped_whole",
    ),
}

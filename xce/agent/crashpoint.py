"""Named points at which a kill run ends the process as `kill -9` would.

`XCE_CRASH_AT="name:N"` in the environment makes the N-th arrival at the point `name` the last
thing the process does; several are separated by commas. Without the variable a point costs one
dictionary look-up. Standard library only: the supervisor uses it as well. A forked child counts
on from its parent's numbers. The points are listed here so that a kill run can go through them.
"""

import os
import signal

POINTS = (
    "order.received",
    "journal.before_write",
    "journal.after_write",
    "journal.after_sync",
    "launch.before_fork",
    "launch.before_started",
    "launch.after_started",
    "launch.before_exec",
    "launch.after_exited",
    "report.before_post",
    "report.after_post",
)


def _parse(text: str) -> dict[str, int]:
    """The arrivals that are left to each point named in `text`."""
    found: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition(":")
        if name not in POINTS or not (number or "1").isdigit():
            raise SystemExit(f"XCE_CRASH_AT: '{part}' is no NAME:N; names are {', '.join(POINTS)}")
        found[name] = int(number or "1")
    return found


_left = _parse(os.environ.get("XCE_CRASH_AT", ""))


def reach(name: str) -> None:
    """Arrive at a point; the arrival that was asked for does not return."""
    if name not in _left:
        return
    _left[name] -= 1
    if _left[name] == 0:
        os.kill(os.getpid(), signal.SIGKILL)

"""Named points at which a kill run ends a process as `kill -9` would.

`XCE_CRASH_AT="name:N"` in the environment makes the N-th arrival at the point `name` the last
thing the process does; several are separated by commas. Arrivals are counted in the process and
its forked children go on from its numbers. With `XCE_CRASH_COUNTS=FOLDER` they are counted in
FOLDER/name by all processes together, those started again included, so that each point kills
once in the life of the folder. Without the variable a point costs one dictionary look-up.

Controller, agent and supervisor use this module, so it needs the standard library only and must
know nothing of XCE. `PARTS` is the whole list: kill runs go through it.
"""

import os
import signal

AT, COUNTS = "XCE_CRASH_AT", "XCE_CRASH_COUNTS"

PARTS: dict[str, tuple[str, ...]] = {
    "controller": (
        "before_append",
        "log.begun",
        "log.written",
        "log.committed",
        "after_commit",
        "after_anchor",
        "before_publish",
        "after_publish",
        "before_answer",
        "after_answer",
        "before_order",
        "after_order",
    ),
    "agent": (
        "order.received",
        "journal.before_write",
        "journal.after_write",
        "journal.after_sync",
        "report.before_post",
        "report.after_post",
    ),
    "supervisor": (
        "journal.before_write",
        "journal.after_write",
        "journal.after_sync",
        "launch.before_fork",
        "launch.before_started",
        "launch.after_started",
        "launch.before_exec",
        "launch.after_exited",
    ),
}
"""By part, roughly in the order in which a command passes them. An agent's journal is that of its
attachments. At `launch.before_exec` the process that ends is the one that was to be the user's."""

POINTS = tuple(dict.fromkeys(name for points in PARTS.values() for name in points))


def _parse(text: str) -> dict[str, int]:
    """The arrivals that are left to each point named in `text`."""
    found: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition(":")
        if name not in POINTS or not (number or "1").isdigit():
            raise SystemExit(f"{AT}: '{part}' is no NAME:N; names are {', '.join(POINTS)}")
        found[name] = int(number or "1")
    return found


_wanted = _parse(os.environ.get(AT, ""))
_arrived: dict[str, int] = {}


def reach(name: str) -> None:
    """Arrive at a point; the arrival that was asked for does not return."""
    if name in _wanted and _arrival(name) == _wanted[name]:
        os.kill(os.getpid(), signal.SIGKILL)


def _arrival(name: str) -> int:
    """The number of this arrival, from 1 on."""
    folder = os.environ.get(COUNTS, "")
    if not folder:
        _arrived[name] = _arrived.get(name, 0) + 1
        return _arrived[name]
    # The place of a byte appended is its number, whoever else appends meanwhile.
    handle = os.open(
        f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666
    )
    try:
        os.write(handle, b".")
        return os.lseek(handle, 0, os.SEEK_CUR)
    finally:
        os.close(handle)

"""The built-in load indices: LSF's names and units, from what the operating system counts.

r15s r1m r15m are lengths of the run queue (r15s is an average of our own samples), ut the busy
part of the processors, pg pages swapped per second, io KB of disk traffic per second, ls users
logged in, it minutes since somebody touched a terminal, tmp swp mem MB that are free. What this
machine does not count is left out, never told as 0. `indices` is pure; `read` asks psutil.
"""

import contextlib
import os
import threading
import time
from math import exp

import psutil
from msgspec import Struct

from xce.agent.reporters.board import Board

SOURCE = "load"
MB = 1 << 20
KB = 1 << 10
PAGE = os.sysconf("SC_PAGE_SIZE")


class Readings(Struct, frozen=True, kw_only=True):
    """What was counted at one moment; None is not counted on this machine."""

    at_s: float
    running: float | None = None
    averages: tuple[float, float] | None = None
    busy_s: float | None = None
    processors_s: float | None = None
    swapped_bytes: int | None = None
    disk_bytes: int | None = None
    users: int | None = None
    idle_s: float | None = None
    tmp_bytes: int | None = None
    swap_bytes: int | None = None
    mem_bytes: int | None = None


def indices(before: Readings | None, now: Readings, r15s: float | None) -> dict[str, float | None]:
    """The load indices; rates need an earlier reading, `r15s` is the average so far."""
    found: dict[str, float | None] = {"r15s": averaged(before, now, r15s)}
    if now.averages is not None:
        found["r1m"], found["r15m"] = now.averages
    if before is not None:
        found["ut"] = _part(before, now)
        found["pg"] = _rate(before, now, "swapped_bytes", PAGE)
        found["io"] = _rate(before, now, "disk_bytes", KB)
    found["ls"] = now.users
    found["it"] = None if now.idle_s is None else float(int(now.idle_s // 60))
    for name, amount in (
        ("tmp", now.tmp_bytes), ("swp", now.swap_bytes), ("mem", now.mem_bytes),
    ):  # fmt: skip
        found[name] = None if amount is None else amount / MB
    return found


def averaged(before: Readings | None, now: Readings, r15s: float | None) -> float | None:
    """The run queue as an average that forgets in 15 s."""
    if now.running is None or before is None or r15s is None:
        return now.running
    kept = exp(-max(0.0, now.at_s - before.at_s) / 15)
    return r15s * kept + now.running * (1 - kept)


def _part(before: Readings, now: Readings) -> float | None:
    if None in (before.busy_s, before.processors_s, now.busy_s, now.processors_s):
        return None
    passed = now.processors_s - before.processors_s  # type: ignore[operator]
    busy = now.busy_s - before.busy_s  # type: ignore[operator]
    return min(1.0, max(0.0, busy / passed)) if passed > 0 else None


def _rate(before: Readings, now: Readings, name: str, unit: int) -> float | None:
    old, new = getattr(before, name), getattr(now, name)
    passed_s = now.at_s - before.at_s
    if old is None or new is None or passed_s <= 0 or new < old:
        return None
    return float((new - old) / unit / passed_s)


def read() -> Readings:
    """What the machine counts now."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    swap, disks = psutil.swap_memory(), psutil.disk_io_counters()
    averages = os.getloadavg()
    users = psutil.users()
    return Readings(
        at_s=time.monotonic(),
        running=_running(),
        averages=(averages[0], averages[2]),
        busy_s=total - idle,
        processors_s=total,
        swapped_bytes=swap.sin + swap.sout,
        disk_bytes=disks.read_bytes + disks.write_bytes if disks is not None else None,
        users=len(users),
        idle_s=_idle_s([user.terminal for user in users if user.terminal]),
        tmp_bytes=psutil.disk_usage("/tmp").free,
        swap_bytes=swap.free,
        mem_bytes=psutil.virtual_memory().available,
    )


def _running() -> float | None:
    """Processes that run or want to, without this one."""
    try:
        with open("/proc/loadavg", encoding="ascii") as source:
            return float(max(0, int(source.read().split()[3].split("/")[0]) - 1))
    except (OSError, ValueError, IndexError):
        return None


def _idle_s(terminals: list[str]) -> float:
    """Since the last touch of a terminal in use; where there is none, since the boot."""
    touched = [psutil.boot_time()]
    for terminal in terminals:
        with contextlib.suppress(OSError):
            touched.append(os.stat(f"/dev/{terminal}").st_atime)
    return max(0.0, time.time() - max(touched))


class LoadSampler:
    """Samples the load indices every `interval_s` until it is told to stop."""

    def __init__(self, board: Board, interval_s: float) -> None:
        self._board = board
        self._interval_s = interval_s

    def run(self, stop: threading.Event) -> None:
        """Sample; the second one comes early, so that rates are known soon."""
        before: Readings | None = None
        r15s: float | None = None
        pause_s = min(1.0, self._interval_s)
        while True:
            # What cannot be counted now goes stale by itself; the next sample may have it again.
            with contextlib.suppress(OSError, ValueError, RuntimeError, psutil.Error):
                now = read()
                found = indices(before, now, r15s)
                self._board.put(SOURCE, found)
                before, r15s = now, found["r15s"]
            if stop.wait(pause_s):
                return
            pause_s = self._interval_s

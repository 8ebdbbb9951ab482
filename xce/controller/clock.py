"""The controller's time: microseconds that never step.

Wall clock at start plus the boot-time clock (which also runs while the machine sleeps), slewed
gently toward the wall: at most 500 us per second. At a start it is not before the last record.
"""

import time

SLEW_PER_SECOND_US = 500
_BEHIND_US = 1_000_000


class Clock:
    """One clock per controller process."""

    def __init__(self, not_before_us: int = 0) -> None:
        self._boot_us = _boot_us()
        self._base_us = max(not_before_us, time.time_ns() // 1000)

    def now_us(self) -> int:
        """The time; never less than an earlier answer."""
        boot_us = _boot_us()
        passed_us = boot_us - self._boot_us
        if passed_us >= _BEHIND_US:
            self._slew(passed_us)
            self._boot_us = boot_us
            return self._base_us
        return self._base_us + passed_us

    def _slew(self, passed_us: int) -> None:
        reached_us = self._base_us + passed_us
        most_us = passed_us * SLEW_PER_SECOND_US // 1_000_000
        off_us = time.time_ns() // 1000 - reached_us
        self._base_us = reached_us + max(-most_us, min(most_us, off_us))


def _boot_us() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def boot_us() -> int:
    """The boot-time clock, for leases: microseconds since the machine started."""
    return _boot_us()

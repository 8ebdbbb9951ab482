"""Fairshare in exact integers: what was used, how it fades, what priority that leaves.

    priority = shares / ( cpu_time * CPU_TIME_FACTOR
                        + (hist_run_time + run_time) * RUN_TIME_FACTOR
                        + (committed_run_time - run_time) * COMMITTED_RUN_TIME_FACTOR
                        + (1 + job_slots) * RUN_JOB_FACTOR
                        + fairshare_adjustment * FAIRSHARE_ADJUSTMENT_FACTOR
                        + gpu_run_time * GPU_RUN_TIME_FACTOR )

with times in hours. Here times are microseconds and factors thousandths, so the denominator times
1000 hours is a whole number and nothing is rounded before the one division; a priority is in
millionths. History falls to a tenth within `history_us`: by tenths for whole periods, and by
square roots of square roots of a tenth for the rest, all of them whole numbers over 2 ** 64.
"""

from math import isqrt

from msgspec import Struct

HOUR_US = 3_600_000_000
SCALE = 1_000_000
_FINE = 16


def _roots() -> tuple[int, ...]:
    """10 ** -(2 ** -i) * 2 ** 64 for i from 1 on: each is the root of the one before."""
    found, root = [], (1 << 64) // 10
    for _ in range(_FINE):
        root = isqrt(root << 64)
        found.append(root)
    return tuple(found)


_ROOTS = _roots()


def decayed(amount: int, passed_us: int, history_us: int) -> int:
    """What is left of an amount after a while; `history_us` 0 keeps it for ever."""
    if amount <= 0 or passed_us <= 0 or history_us <= 0:
        return max(amount, 0)
    whole, rest = divmod(passed_us, history_us)
    if whole > 40:
        return 0
    steps, left = (rest << _FINE) // history_us, 1 << 64
    for place, root in enumerate(_ROOTS):
        if steps >> (_FINE - 1 - place) & 1:
            left = left * root >> 64
    return amount * left // (int(10**whole) << 64)


class Factors(Struct, frozen=True, gc=False, kw_only=True):
    """The weights of a share tree, in thousandths, and how long history lasts."""

    history_us: int = 5 * HOUR_US
    cpu_time: int = 700
    run_time: int = 700
    committed: int = 0
    slots: int = 3000
    adjustment: int = 0
    gpu_time: int = 0


class Used(Struct, gc=False, kw_only=True):
    """What one user or group has used and uses: decayed times, times of what runs, slots now."""

    cpu_us: int = 0
    past_us: int = 0
    run_us: int = 0
    committed_us: int = 0
    slots: int = 0
    adjustment: int = 0
    gpu_us: int = 0

    def add(self, other: "Used") -> None:
        """Also what another one used."""
        self.cpu_us += other.cpu_us
        self.past_us += other.past_us
        self.run_us += other.run_us
        self.committed_us += other.committed_us
        self.slots += other.slots
        self.adjustment += other.adjustment
        self.gpu_us += other.gpu_us


def weight_of(used: Used, factors: Factors) -> int:
    """The denominator, times 1000 hours; never below one."""
    return max(
        1,
        used.cpu_us * factors.cpu_time
        + (used.past_us + used.run_us) * factors.run_time
        + max(0, used.committed_us - used.run_us) * factors.committed
        + (1 + used.slots) * factors.slots * HOUR_US
        + used.adjustment * factors.adjustment * HOUR_US // 1000
        + used.gpu_us * factors.gpu_time,
    )


def priority_of(shares: int, weight: int) -> int:
    """The dynamic priority in millionths."""
    return shares * 1000 * HOUR_US * SCALE // weight


class Account(Struct, frozen=True, gc=False, kw_only=True):
    """One node of a share tree as a session sees it: its shares, its weight before the session
    booked anything, and by how much each slot that is booked makes it heavier."""

    shares: int
    weight: int
    slot_weight: int

"""Times and how they grow. All durations are microseconds."""

from msgspec import Struct

SECOND_US = 1_000_000


def grown_us(first_us: int, factor: int, cap_us: int, times: int) -> int:
    """A delay that grew `times` times by `factor`, at most `cap_us`."""
    return min(cap_us, first_us * int(factor ** min(max(times, 0), 40)))


class RetryConfig(Struct, frozen=True, gc=False, kw_only=True):
    """How often and when a failed or broken start is tried again."""

    max: int = 5
    first_us: int = 10 * SECOND_US
    factor: int = 2
    cap_us: int = 300 * SECOND_US

    def delay_us(self, failures: int) -> int:
        """How long to wait after the `failures`-th failure (1-based)."""
        return grown_us(self.first_us, self.factor, self.cap_us, failures - 1)

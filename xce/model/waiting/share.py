"""What a user's account in a share tree was charged: the history that fairshare looks at."""

from msgspec import Struct


class Share(Struct, frozen=True, gc=False, kw_only=True):
    """An account: slot time, processor time and GPU time of what ended, as decayed at `at_us`."""

    path: str
    at_us: int = 0
    run_us: int = 0
    cpu_us: int = 0
    gpu_us: int = 0

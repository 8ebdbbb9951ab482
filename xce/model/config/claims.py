"""How much users may hold by standalone claims, and for how long."""

from msgspec import Struct


class ClaimsConfig(Struct, frozen=True, gc=False, kw_only=True):
    """One user may hold so much of each type (`per_user`), have so many claims (`count_max`), and
    without a lease hold `unleased_percent` of what there is. A lease is at most `lease_max_us`
    long (0: as long as one likes, or none at all)."""

    per_user: tuple[tuple[str, int], ...] = ()
    count_max: int = 1000
    unleased_percent: int = 50
    lease_max_us: int = 0

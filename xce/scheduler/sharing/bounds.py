"""What a snapshot says of limits: bounds on the cluster, and bounds on hosts."""

import numpy as np
import numpy.typing as npt
from msgspec import Struct

UNBOUNDED = 1 << 40
Column = npt.NDArray[np.int64]


class Bound(Struct, frozen=True, gc=False, kw_only=True):
    """A limit as it stands for one user, queue, project or application (`whose`), or for all."""

    name: str
    what: str
    allowed: int
    used: int
    whose: str = ""


class HostBound(Struct, frozen=True, gc=False, kw_only=True):
    """A limit on hosts: what is allowed and free on each; `shared` hosts have it together."""

    name: str
    what: str
    allowed: Column
    free: Column
    shared: Column | None = None
    whose: str = ""

"""The resolved form of a resource requirement."""

from xce.model.need.sections import (
    BEST_FIT,
    CONFIG,
    MAX_AVAIL,
    MIN_AVAIL,
    PER_HOST,
    PER_JOB,
    PER_TASK,
    CpuNeed,
    InstanceNeed,
    Phase,
    Timed,
    UnitNeed,
)
from xce.model.need.whole import WHOLE, Alternative, Need, Part, Term

__all__ = [
    "BEST_FIT",
    "CONFIG",
    "MAX_AVAIL",
    "MIN_AVAIL",
    "PER_HOST",
    "PER_JOB",
    "PER_TASK",
    "WHOLE",
    "Alternative",
    "CpuNeed",
    "InstanceNeed",
    "Need",
    "Part",
    "Phase",
    "Term",
    "Timed",
    "UnitNeed",
]

"""Reported values as whole numbers on a grid, and the dead band in which a change is none.

Agents put values on the grid before they send them; the controller writes one down only when it
left the band. Both sides use these functions, so that a value that an agent sends again and again
is the same number each time. A size is told in 16 MiB, a fraction in hundredths. A change counts
when it is at least two steps of the grid (one, where the grid is whole numbers) and a sixteenth
of the old value; from nothing to something, and back, always counts. Texts count whenever they
differ.
"""

from xce.model.resources import BYTES, ResourceType

Value = int | str
TEXT_MAX = 64
NUMBER_MAX = 1 << 62
SIZE_STEP = 16 << 20
PARTS_PER_UNIT = 100
BAND_PART = 16


def step_of(type_: ResourceType) -> int:
    """The grid of a type's values, in its base unit."""
    if type_.unit == BYTES:
        return SIZE_STEP
    return max(1, type_.scale // PARTS_PER_UNIT)


def quantised(type_: ResourceType, number: float) -> int:
    """A number as it was measured (sizes in bytes, others plain) on the grid, in the base unit."""
    step = step_of(type_)
    base = number if type_.unit == BYTES else number * type_.scale
    bounded = max(-NUMBER_MAX, min(NUMBER_MAX, base))
    return int(bounded / step + (0.5 if bounded >= 0 else -0.5)) * step


def moved(type_: ResourceType, old: Value, new: Value) -> bool:
    """Whether a value left the dead band around the old one."""
    if isinstance(old, str) or isinstance(new, str):
        return old != new
    if (old == 0) != (new == 0):
        return True
    step = step_of(type_)
    return abs(new - old) >= max(1 if step == 1 else 2 * step, abs(old) // BAND_PART)

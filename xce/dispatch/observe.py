"""Reported values as whole numbers on a grid, and the dead band in which a change is none.

Agents send what was reported as people write it: a bare number of a size is MB, a switch is 0 or 1.
`read_value` brings that to the base unit of its type and onto a grid; `moved` says when it is worth
writing down. A size is told in 16 MiB, a fraction in hundredths. A change counts when it is at
least two steps of the grid (one, where the grid is whole numbers) and a sixteenth of the old value;
from nothing to something, and back, always counts. Texts count whenever they differ.
"""

from math import isfinite

from xce.model.resources import BYTES, Kind, ResourceType
from xce.model.units import MB, UnitError, parse_size

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


def read_value(type_: ResourceType, told: float | str) -> Value | None:
    """A reported value in the base unit of its type, on the grid; None where it does not fit."""
    if type_.kind is Kind.STRING:
        text = str(told)
        return text if len(text) <= TEXT_MAX and text.isprintable() else None
    number = _number(type_, told)
    if number is None or not isfinite(number):
        return None
    if type_.kind is Kind.BOOLEAN:
        return int(number != 0)
    return _on_grid(number * (MB if type_.unit == BYTES else type_.scale), step_of(type_))


def _number(type_: ResourceType, told: float | str) -> float | None:
    if not isinstance(told, str):
        return told
    try:
        return float(told)
    except ValueError:
        if type_.unit != BYTES:
            return None
    try:
        return parse_size(told) / MB
    except UnitError:
        return None


def _on_grid(base: float, step: int) -> int:
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

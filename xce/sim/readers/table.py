"""Comma-separated tables with a line of names."""

import csv
from collections.abc import Iterator, Sequence

from xce.sim.readers.form import BrokenTrace, Reading


def rows(reading: Reading, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row by name, with the number of its line; rows of another width are faults."""
    names: list[str] = []
    for number, line in reading.lines():
        words = next(csv.reader([line]))
        if not names:
            names = [word.strip().lower() for word in words]
            missing = [name for name in needed if name not in names]
            if missing:
                raise BrokenTrace(
                    f"{reading.name}:{number}: the columns {', '.join(missing)} are missing"
                )
        elif len(words) != len(names):
            reading.fault(number, f"expected {len(names)} columns, found {len(words)}")
        else:
            yield number, dict(zip(names, words, strict=True))
    if not names:
        raise BrokenTrace(f"{reading.name}: is empty")

"""Texts made by mutating seeds, and the memory that reading them takes."""

import os
import random
from collections.abc import Sequence
from pathlib import Path

COUNT = int(os.environ.get("XCE_RESREQ_FUZZ", "0"))
CLEARED_EVERY = 5_000
GROWTH_BYTES_MAX = 48 << 20


def mutated(source: random.Random, seeds: Sequence[str], pieces: Sequence[str]) -> str:
    """A seed after a few insertions, deletions, repetitions and splices."""
    text = source.choice(seeds)
    for _ in range(source.randint(1, 6)):
        at, other = source.randint(0, len(text)), source.randint(0, len(text))
        match source.randint(0, 3):
            case 0:
                text = text[:at] + source.choice(pieces) + text[at:]
            case 1:
                text = text[:at] + text[at + source.randint(1, 4) :]
            case 2:
                text = text[:at] + text[min(at, other) : max(at, other)] + text[at:]
            case _:
                text = text[:at] + source.choice(seeds)[other:]
    return text


def resident_bytes() -> int:
    """The memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")

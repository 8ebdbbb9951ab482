"""Processors of the machine as the kernel tells them: thread, core, socket, memory node.

Only threads that this process may run on are told, so that a host in a container or a partition
offers what it has. A kernel that does not tell its topology leaves the host without processors:
it then serves no affinity request, and nothing is guessed.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from xce.model.host import CpuFacts

ROOT = Path("/sys/devices/system/cpu")


def processors(root: Path = ROOT, usable: Iterable[int] | None = None) -> tuple[CpuFacts, ...]:
    """The threads by number; () where the kernel does not tell."""
    numbers = os.sched_getaffinity(0) if usable is None else usable
    try:
        return tuple(_thread(root / f"cpu{number}", number) for number in sorted(numbers))
    except (OSError, ValueError):
        # Not told, or told in words that are no numbers: see the module.
        return ()


def _thread(folder: Path, number: int) -> CpuFacts:
    topology = folder / "topology"
    nodes = sorted(int(path.name.removeprefix("node")) for path in folder.glob("node[0-9]*"))
    return CpuFacts(
        number=number,
        core=int((topology / "core_id").read_text()),
        socket=max(0, int((topology / "physical_package_id").read_text())),
        numa=nodes[0] if nodes else 0,
    )

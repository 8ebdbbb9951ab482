"""`host`: what the machine itself says of its processors and memory.

Read from the operating system, as counters in base units: slots (processors this process may run
on), mem (bytes). It provisions nothing: a claim of the host itself is usable as it is.
"""

import os
import platform

from xce.providers.contract import Provider, Request


class HostProvider(Provider):
    """The machine."""

    name = "host"

    def counters(self) -> tuple[tuple[str, int], ...]:
        """Total slots and memory, sorted by name."""
        mem_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return (("mem", mem_bytes), ("slots", len(os.sched_getaffinity(0))))

    def attributes(self) -> tuple[tuple[str, str | int | bool], ...]:
        """LSF's host type and the kernel, sorted by name."""
        return (("ostype", platform.system().lower()), ("type", platform.machine().upper()))

    def provision(self, request: Request) -> str:
        """The host's name for itself."""
        return platform.node()

"""A host's processors as a tree of bit masks: threads in cores in sockets, and memory nodes.

Equal hosts share one tree. Nothing here knows what is free: masks are of all there is.
"""

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from xce.model.host import CpuFacts, HostFacts

CPU = "cpu"
"""The type under which threads are held, as instances that only a session numbers."""
CPUS_MAX = 4096


class Cpus(Struct, frozen=True, gc=False, kw_only=True):
    """One host's processors: per level the masks of its units, in order of their lowest thread;
    `nodes` are the numbers of the memory nodes."""

    thread: tuple[int, ...]
    core: tuple[int, ...]
    socket: tuple[int, ...]
    numa: tuple[int, ...]
    nodes: tuple[int, ...]

    def level(self, name: str) -> tuple[int, ...]:
        """The units of a level; the whole host as one where no level is named."""
        if not name:
            return (sum(self.thread),)
        found: tuple[int, ...] = getattr(self, name)
        return found

    def around(self, bits: int, level: str) -> int:
        """The bits widened to whole units of a level."""
        if not level:
            return bits
        return sum(mask for mask in self.level(level) if mask & bits)


@lru_cache(maxsize=1024)
def cpus_from(facts: tuple[CpuFacts, ...]) -> Cpus:
    """The tree of a host's processors."""

    def units(keys: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
        found: dict[tuple[int, ...], int] = {}
        for one, key in zip(facts, keys, strict=True):
            found[key] = found.get(key, 0) | 1 << one.number
        return dict(sorted(found.items(), key=lambda pair: pair[1] & -pair[1]))

    nodes = units([(one.numa,) for one in facts])
    return Cpus(
        thread=tuple(1 << one.number for one in sorted(facts, key=lambda one: one.number)),
        core=tuple(units([(one.socket, one.core) for one in facts]).values()),
        socket=tuple(units([(one.socket,) for one in facts]).values()),
        numa=tuple(nodes.values()),
        nodes=tuple(number for (number,) in nodes),
    )


@lru_cache(maxsize=1024)
def _regular(sockets: int, cores: int, threads: int) -> tuple[CpuFacts, ...]:
    """Threads numbered as Linux does: first one of each core, then the others."""
    return tuple(
        CpuFacts(
            number=(thread * sockets + socket) * cores + core,
            core=core,
            socket=socket,
            numa=socket,
        )
        for thread in range(threads)
        for socket in range(sockets)
        for core in range(cores)
    )


def cpus_of(facts: HostFacts) -> Cpus | None:
    """A host's processors as it reports them, else from LSF's counts of sockets, cores per socket
    and threads per core; None where it tells neither."""
    if facts.cpus:
        return cpus_from(facts.cpus)
    said = dict(facts.attributes)
    counts = [said.get(name, 0) for name in ("nprocs", "ncores", "nthreads")]
    sizes = [n for n in counts if isinstance(n, int) and n > 0]
    if len(sizes) < 3 or sizes[0] * sizes[1] * sizes[2] > CPUS_MAX:
        return None
    return cpus_from(_regular(*sizes))

"""Hosts, what they report of themselves, and the instances on them.

Two machines describe a host: liveness (is it heard?) and admin (may it take work?). What it has
is declared by its own report: counters (slots, mem, scratch, ...) with their totals, attributes
for `select`, the domains it belongs to, and instances. Usage is never stored here: it is the fold
of the holdings in allocations and claims.
"""

from msgspec import Struct

Attribute = str | int | bool


class InstanceFacts(Struct, frozen=True, gc=False, kw_only=True):
    """One nameable thing as its host reports it. `domains` holds (level, domain name) pairs."""

    type: str
    name: str
    attributes: tuple[tuple[str, Attribute], ...] = ()
    domains: tuple[tuple[str, str], ...] = ()
    sharing: int = 1


class CpuFacts(Struct, frozen=True, gc=False, kw_only=True):
    """One hardware thread by the number the kernel gives it: its core within the socket, its
    socket, and the memory node (numa) it is near."""

    number: int
    core: int
    socket: int = 0
    numa: int = 0


class HostFacts(Struct, frozen=True, gc=False, kw_only=True):
    """What a host says it is. Counters in their base unit: slots, bytes. Sorted by name."""

    address: str = "127.0.0.1"
    counters: tuple[tuple[str, int], ...] = ()
    attributes: tuple[tuple[str, Attribute], ...] = ()
    domains: tuple[tuple[str, str], ...] = ()
    instances: tuple[InstanceFacts, ...] = ()
    ports: tuple[int, int] = (0, 0)
    cpus: tuple[CpuFacts, ...] = ()


class Host(Struct, frozen=True, gc=False, kw_only=True):
    """A host as the log knows it. `incarnation` numbers its registrations; a new boot id means
    that nothing of the old boot runs. `agent` names the journal that its agent has.
    `reconciled_epoch` is the last epoch it listed its work in; `question` is the lsn at which it
    was last asked to: only an answer to that counts. `reconciled_boot` is the boot that it listed
    its work of last: under another one, what lived then is over. `can` says what its agent does
    beyond the first version (`LEASES`); `admin_why` is why it was closed.
    """

    name: str
    liveness: str
    admin: str
    incarnation: int
    boot_id: str
    facts: HostFacts
    agent: str = ""
    reconciled_epoch: int = 0
    reconciled_boot: str = ""
    question: int = 0
    registered_us: int = 0
    changed_us: int = 0
    why: str = ""
    can: tuple[str, ...] = ()
    admin_why: str = ""


class Instance(Struct, frozen=True, gc=False, kw_only=True):
    """One instance. `number` is its bit in the host's mask of its type; held = some holding
    names it, which is derived."""

    key: str
    host: str
    type: str
    name: str
    number: int
    state: str
    attributes: tuple[tuple[str, Attribute], ...] = ()
    domains: tuple[tuple[str, str], ...] = ()
    sharing: int = 1
    why: str = ""


class Observed(Struct, frozen=True, gc=False, kw_only=True):
    """What ticks said of a host, or of a pool (`of` is then `TYPE@LABEL`): values that are known,
    sorted by name, in their base unit. A value that went stale is not here any more."""

    of: str
    values: tuple[tuple[str, int | str], ...] = ()

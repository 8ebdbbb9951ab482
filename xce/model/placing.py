"""What a plan grants: shares, and the numbers of what a start brings into being.

A share is what one member has on one host: tasks, amounts of counters, instances. It is a
holding until the host has confirmed that nothing of the member runs or is attached there.
"""

from msgspec import Struct


class Binding(Struct, frozen=True, gc=False, kw_only=True):
    """What one task is bound to: hardware threads, and the memory nodes its memory may (or, with
    `localonly`, must) come from."""

    cpus: tuple[int, ...]
    nodes: tuple[int, ...] = ()
    memory: str = ""


class Share(Struct, frozen=True, gc=False, kw_only=True):
    """A member's part on one host. Counters and instances are sorted; `bindings` has one entry
    for each task where tasks are bound to processors."""

    host: str
    tasks: int
    counters: tuple[tuple[str, int], ...] = ()
    instances: tuple[str, ...] = ()
    bindings: tuple[Binding, ...] = ()


class MemberPlan(Struct, frozen=True, gc=False, kw_only=True):
    """One member of a start: which attempt of which job, its rank, its shares in host order, and
    which alternative of its requirement they serve. `uses` are the standalone claims that it is
    from now on a consumer of."""

    job: int
    attempt: int
    role: str
    rank: int
    allocation: int
    shares: tuple[Share, ...]
    alternative: int = 0
    uses: tuple[int, ...] = ()


class Holding(Struct, frozen=True, gc=False, kw_only=True):
    """A claim's right to an instance (`instance`) or to an amount of a counter (`counter`)."""

    host: str
    instance: str = ""
    counter: str = ""
    amount: int = 0


class ClaimPlan(Struct, frozen=True, gc=False, kw_only=True):
    """A claim born with a start: from a template of a group, role or member."""

    claim: int
    name: str
    type: str
    scope: str
    role: str = ""
    job: int = 0
    count: int = 1
    generation: int
    holdings: tuple[Holding, ...] = ()


class AttachmentPlan(Struct, frozen=True, gc=False, kw_only=True):
    """A claim made usable on one host by its provider; keyed by its own number for ever."""

    attachment: int
    claim: int
    host: str
    provider: str
    parameters: tuple[tuple[str, str], ...] = ()


class BoundClaim(Struct, frozen=True, gc=False, kw_only=True):
    """A standalone claim that waited and got what it asked for; the record's lsn is its
    generation."""

    claim: int
    holdings: tuple[Holding, ...]
    attachments: tuple[AttachmentPlan, ...] = ()


class LaunchPlan(Struct, frozen=True, gc=False, kw_only=True):
    """The part of one attempt on one host. `wave` is the wave whose opening lets it exec;
    `processes` is how many of its own it has (0 beyond the first host under `run: once`);
    `first_rank` is XCE_RANK of its first process in the start."""

    launch: int
    job: int
    host: str
    wave: int = 0
    processes: int = 1
    first_rank: int = 0

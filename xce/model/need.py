"""The resolved form of a resource requirement: what one job asks of its hosts, as data.

Everything the requirement language can say ends here, with names, units and directions resolved:
amounts are integers in the base unit of their type, sizes bytes, times microseconds. A `Part` is
one simple requirement. A `Need` is a part, and beside it the other terms of a compound and the
other alternatives; where it has those, the part's own fields are those of the first term of the
first alternative. New fields have defaults, so that older logs still fold. This module holds data
only: it parses and checks nothing, and knows neither hosts nor the session.
"""

from msgspec import Struct

Amounts = tuple[tuple[str, int], ...]

PER_TASK, PER_HOST, PER_JOB = "task", "host", "job"
BEST_FIT, CONFIG, MAX_AVAIL, MIN_AVAIL = "bestfit", "config", "maxavail", "minavail"
WHOLE = -1
"""What `tile` and `gtile` are for '!': as many as the host, or one socket, has."""


class InstanceNeed(Struct, frozen=True, gc=False, kw_only=True):
    """Instances of one type, counted for each task (or host or job, as `per` says); `select` is
    a select expression over their attributes ("" takes any)."""

    type: str
    count_per_task: int
    select: str = ""
    per: str = PER_TASK


class Phase(Struct, frozen=True, gc=False, kw_only=True):
    """An amount for a time: `duration_us` 0 is until the end, `decay` 1 falls to nothing."""

    amount: int
    duration_us: int = 0
    decay: int = 0


class Timed(Struct, frozen=True, gc=False, kw_only=True):
    """How a reserved amount changes while its holder runs. The amounts of a need's `per_task`
    and the like are those of the first phase; phases never grow."""

    name: str
    per: str
    phases: tuple[Phase, ...]


class UnitNeed(Struct, frozen=True, gc=False, kw_only=True):
    """cu[ ]: domains of a level ("" = the cluster's default) as compute units. `most` and `least`
    are the units used and the tasks in each, 0 for no bound; `exclusive` is the level of which no
    other job may use the same domains, "" for none ("!" = the level itself)."""

    level: str = ""
    pref: str = CONFIG
    most: int = 0
    least: int = 0
    balance: bool = False
    exclusive: str = ""


class CpuNeed(Struct, frozen=True, gc=False, kw_only=True):
    """affinity[ ]: for each task `times` groups of `count` units (thread core socket numa), each
    group inside one `same`. Nobody else (`exclusive_scope`: injob, alljobs) gets a unit of the
    level `exclusive`. `bind` widens what a task is bound to; `memory` is where its memory may
    come from. `spread` is any, balance or pack; `pack_most` bounds the `pack_level`s used."""

    unit: str
    count: int = 1
    times: int = 1
    same: str = ""
    exclusive: str = ""
    exclusive_scope: str = ""
    bind: str = ""
    memory: str = ""
    spread: str = ""
    pack_level: str = ""
    pack_most: int = 0


class Part(Struct, frozen=True, gc=False, kw_only=True):
    """One simple requirement.

    Amounts are (name, amount) pairs sorted by name, in the base unit of the type: bytes for
    sizes, else the number times the type's `scale`. `span_hosts` 1 means all on one host;
    `ptile` is the number of tasks per host, `tile_by` says whether it depends on the host's type
    or model, `tiles` its values (`ptile` is then for all others, WHOLE for '!'). `stripe` 1
    spreads evenly, `stripe_most` tasks per host at most. `gtile` bounds the instances of one
    socket. 0 leaves any of them open. `order` are (name, direction) pairs: -1 = most first.
    """

    select: str = ""
    span_hosts: int = 0
    ptile: int = 0
    per_task: Amounts = ()
    per_host: Amounts = ()
    per_job: Amounts = ()
    instances: tuple[InstanceNeed, ...] = ()
    order: tuple[tuple[str, int], ...] = ()
    same: tuple[str, ...] = ()
    tile_by: str = ""
    tiles: Amounts = ()
    block: int = 0
    stripe: int = 0
    stripe_most: int = 0
    gtile: int = 0
    units: UnitNeed | None = None
    cpus: CpuNeed | None = None
    timed: tuple[Timed, ...] = ()


class Term(Struct, frozen=True, gc=False, kw_only=True):
    """`tasks` tasks of a compound requirement; 0 takes those that are left."""

    tasks: int
    part: Part


class Alternative(Struct, frozen=True, gc=False, kw_only=True):
    """A whole requirement that is considered once its job has waited for `delay_us`."""

    part: Part
    terms: tuple[Term, ...] = ()
    delay_us: int = 0


class Need(Part, frozen=True, gc=False, kw_only=True):
    """A resolved requirement: a part, the terms it is made of where it is a compound, and the
    alternatives that come after it."""

    terms: tuple[Term, ...] = ()
    others: tuple[Alternative, ...] = ()

    def alternative(self, index: int) -> Alternative:
        """The alternatives by number; 0 is the need's own first one."""
        if index:
            return self.others[index - 1]
        fields = {name: getattr(self, name) for name in Part.__struct_fields__}
        return Alternative(part=Part(**fields), terms=self.terms)

    def terms_of(self, index: int, tasks: int) -> tuple[tuple[int, Part], ...]:
        """Tasks and requirement of each term of an alternative for a job of so many tasks."""
        chosen = self.alternative(index)
        if not chosen.terms:
            return ((tasks, chosen.part),)
        given = sum(term.tasks for term in chosen.terms)
        sized = ((term.tasks or tasks - given, term.part) for term in chosen.terms)
        return tuple((count, part) for count, part in sized if count > 0)

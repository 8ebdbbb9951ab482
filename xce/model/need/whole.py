"""The resolved form of a resource requirement: what one job asks of its hosts, as data.

Everything the requirement language can say ends here, with names, units and directions resolved:
amounts are integers in the base unit of their type, sizes bytes, times microseconds. A `Part` is
one simple requirement. A `Need` is a part, and beside it the other terms of a compound and the
other alternatives; where it has those, the part's own fields are those of the first term of the
first alternative. New fields have defaults, so that older logs still fold. This module holds data
only: it parses and checks nothing, and knows neither hosts nor the session.
"""

from msgspec import Struct

from xce.model.need.sections import CpuNeed, InstanceNeed, Timed, UnitNeed

Amounts = tuple[tuple[str, int], ...]

WHOLE = -1
"""What `ptile` and `gtile` are for '!': as many as the host, or one socket, has."""


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

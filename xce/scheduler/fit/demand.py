"""What one member asks of its hosts, worked out once per class from its resreq and templates.

A member runs on one host (`span[hosts=1]`, or a single task), on hosts of `ptile` tasks each, in
blocks, spread evenly, or wherever its tasks fit (FILL). Amounts come per task, per host, or once
on the first host: there sit the per-job amounts and the member's own claims. A role or group
claim sits on the first host of one role's rank 0: it is that role's `anchor`.

Which kind of thing a claim holds is read from its type's descriptor: a number of an interval, an
amount of the counter it draws on, instances, or nothing. No type is known by name here.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, structs

from xce.model.job import ClaimTemplate
from xce.model.need import PER_HOST, PER_JOB, PER_TASK, CpuNeed, InstanceNeed, Part
from xce.model.resources import Direction, Kind, Layer, ResourceType
from xce.scheduler.ledger import Amounts
from xce.scheduler.snapshot import Ask, RoleAsk

SLOTS, JOBS = "slots", "jobs"
MARK = "!"
"""In the name of a counter that is a limit on hosts: shares do not name it."""
MEMBER, ROLE, GROUP = "member", "role", "group"


class Shape(StrEnum):
    """How a member's tasks lie on hosts."""

    ONE_HOST = "one_host"
    PTILE = "ptile"
    BLOCK = "block"
    STRIPE = "stripe"
    FILL = "fill"


class Item(Struct, frozen=True, gc=False):
    """`count` instances of a type from one host. `claim` is the index of the template that holds
    them, -1 where the allocation does; `same` a level whose one domain must hold them all;
    `tile` the most from one socket (WHOLE: all from one where possible)."""

    type: str
    count: int
    select: str = ""
    same: str = ""
    claim: int = -1
    tile: int = 0


class Extra(Struct, frozen=True, gc=False, kw_only=True):
    """What claims hold on one host: amounts (per claim), instances, port counts (per claim)."""

    templates: tuple[ClaimTemplate, ...] = ()
    amounts: tuple[tuple[int, str, int], ...] = ()
    items: tuple[Item, ...] = ()
    ports: tuple[tuple[int, int], ...] = ()

    def counters(self) -> Amounts:
        """The amounts as counters."""
        return merged(tuple((name, amount) for _, name, amount in self.amounts))

    def port_count(self) -> int:
        """How many port numbers the claims need together."""
        return sum(count for _, count in self.ports)


class Load(Struct, frozen=True, gc=False, kw_only=True):
    """What a host must have for `n` units: `fixed` once and `unit` n times; of processors `cpus`
    for each of the `unit_tasks` tasks of a unit (0: the units are tasks of one member)."""

    fixed: Amounts = ()
    unit: Amounts = ()
    fixed_items: tuple[Item, ...] = ()
    unit_items: tuple[Item, ...] = ()
    fixed_ports: int = 0
    unit_ports: int = 0
    cpus: CpuNeed | None = None
    unit_tasks: int = 0


class MemberNeed(Struct, frozen=True, gc=False, kw_only=True):
    """A role's member, compiled. `task_items` are counted per task, `host_items` come with every
    host, `job_items` with the first; `loads` are the four loads of `load`, `whole` the counters of
    a member on one host; both are worked out once. `part` is the requirement it was made from."""

    shape: Shape
    tasks: int
    ptile: int
    select: str
    per_task: Amounts
    per_host: Amounts
    first: Amounts
    task_items: tuple[Item, ...]
    own: Extra
    anchor: Extra
    part: Part = Part()
    host_items: tuple[Item, ...] = ()
    job_items: tuple[Item, ...] = ()
    loads: tuple[Load, ...] = ()
    whole: Amounts = ()

    def counters(self, tasks: int, first: bool) -> Amounts:
        """What the allocation takes of counters for `tasks` tasks on one host."""
        scaled = tuple((name, amount * tasks) for name, amount in self.per_task)
        return merged(scaled + self.per_host + (self.first if first else ()))

    def items(self, tasks: int, first: bool) -> tuple[Item, ...]:
        """The instances for `tasks` tasks on one host: those that the allocation holds, then
        those of the member's claims."""
        scaled = tuple(structs.replace(item, count=item.count * tasks) for item in self.task_items)
        return scaled + self.held_items(first) + (self.own.items if first else ())

    def held_items(self, first: bool) -> tuple[Item, ...]:
        """What the allocation holds of instances on a host however many tasks are there."""
        return self.host_items + (self.job_items if first else ())

    def load(self, first: bool, anchored: bool) -> Load:
        """Room in units: whole members under ONE_HOST, else tasks. `first` is the member's first
        host, `anchored` the first host of the role's rank 0."""
        return self.loads[2 * first + anchored]

    def types(self) -> tuple[str, ...]:
        """The instance types that the role asks for, sorted."""
        items = (*self.items(1, True), *self.anchor.items)
        return tuple(sorted({item.type for item in items}))


def merged(amounts: Amounts) -> Amounts:
    """The amounts, one per name, sorted, zeros left out."""
    total: dict[str, int] = {}
    for name, amount in amounts:
        total[name] = total.get(name, 0) + amount
    return tuple(sorted((name, amount) for name, amount in total.items() if amount))


def compile_role(
    ask: Ask, role: RoleAsk, types: Mapping[str, ResourceType], *, leads: bool = True
) -> MemberNeed:
    """The need of one member of `role`, and what the role's rank 0 carries for its group. What
    follows in a compound requirement does not lead: it bears no claims of role or group."""
    part, loose = _unclaimed(role.need, types), _nameless(role, types)
    own = [claim for claim in role.claims if claim.scope == MEMBER]
    per_task = part.per_task
    if all(name != SLOTS for name, _ in per_task):
        per_task = (*per_task, (SLOTS, 1))
    made = MemberNeed(
        shape=_shape(role),
        tasks=role.tasks,
        ptile=part.ptile,
        select=part.select,
        per_task=merged(per_task),
        per_host=part.per_host,
        first=part.per_job,
        task_items=_items(part, PER_TASK),
        host_items=_items(part, PER_HOST),
        job_items=_items(part, PER_JOB),
        own=_extra((*own, *loose), types),
        anchor=_extra(anchored(ask, role) if leads else (), types),
        part=part,
    )
    made = _limited(made, ask.host_limits)
    loads = [_load(made, first, anchor) for first in (False, True) for anchor in (False, True)]
    return structs.replace(made, loads=tuple(loads), whole=made.counters(made.tasks, True))


def _limited(need: MemberNeed, limits: tuple[tuple[str, str], ...]) -> MemberNeed:
    """The need with what limits on hosts count of it, as amounts of their own counters."""
    for counter, what in limits:
        task = dict(need.per_task).get(what, 0)
        task += sum(item.count for item in need.task_items if item.type == what)
        host = dict(need.per_host).get(what, 0) + (what == JOBS)
        host += sum(item.count for item in need.host_items if item.type == what)
        first = dict(need.first).get(what, 0) + dict(need.own.counters()).get(what, 0)
        first += sum(i.count for i in (*need.job_items, *need.own.items) if i.type == what)
        need = structs.replace(
            need,
            per_task=merged((*need.per_task, (counter, task))),
            per_host=merged((*need.per_host, (counter, host))),
            first=merged((*need.first, (counter, first))),
        )
    return need


def _items(part: Part, per: str) -> tuple[Item, ...]:
    return tuple(
        Item(item.type, item.count_per_task, item.select, tile=part.gtile)
        for item in part.instances
        if item.per == per
    )


def _load(need: MemberNeed, first: bool, anchored: bool) -> Load:
    anchor = need.anchor if anchored else Extra()
    if need.shape is Shape.ONE_HOST:
        return Load(
            fixed=anchor.counters(),
            unit=merged(need.counters(need.tasks, True) + need.own.counters()),
            fixed_items=anchor.items,
            unit_items=need.items(need.tasks, True),
            fixed_ports=anchor.port_count(),
            unit_ports=need.own.port_count(),
            cpus=need.part.cpus,
            unit_tasks=need.tasks,
        )
    own = need.own if first else Extra()
    fixed = need.per_host + (need.first if first else ()) + own.counters() + anchor.counters()
    return Load(
        fixed=merged(fixed),
        unit=need.per_task,
        fixed_items=own.items + anchor.items + need.held_items(first),
        unit_items=need.task_items,
        fixed_ports=own.port_count() + anchor.port_count(),
        cpus=need.part.cpus,
    )


def anchored(ask: Ask, role: RoleAsk) -> tuple[ClaimTemplate, ...]:
    """The group's and the role's claims that sit on the first host of this role's rank 0."""
    mine = [claim for claim in ask.claims if _home(ask, claim).name == role.name]
    return (*mine, *(claim for claim in role.claims if claim.scope == ROLE))


def _home(ask: Ask, claim: ClaimTemplate) -> RoleAsk:
    """The first role whose `ready` names the claim, else the first role."""
    named = (role for role in ask.roles if role.ready_claim == claim.name)
    return next(named, ask.roles[0])


def _shape(role: RoleAsk) -> Shape:
    need = role.need
    tiled = bool(need.ptile or need.tiles)
    whole = need.ptile >= role.tasks and not need.tiles
    if need.span_hosts == 1 or role.tasks == 1 or (tiled and whole):
        return Shape.ONE_HOST
    if tiled:
        return Shape.PTILE
    if need.block:
        return Shape.BLOCK
    return Shape.STRIPE if need.stripe else Shape.FILL


def _provisioned(name: str, types: Mapping[str, ResourceType]) -> bool:
    type_ = types.get(name)
    return type_ is not None and type_.provision


def _is_load(name: str, types: Mapping[str, ResourceType]) -> bool:
    type_ = types.get(name)
    return type_ is not None and type_.direction is Direction.INCREASING


def _unclaimed(need: Part, types: Mapping[str, ResourceType]) -> Part:
    """The need without what becomes a nameless claim because its type is provisioned, and
    without load: of what is the better the less there is, nothing can be used up."""

    def keep(pairs: Amounts) -> Amounts:
        return tuple(
            pair
            for pair in pairs
            if not _provisioned(pair[0], types) and not _is_load(pair[0], types)
        )

    return structs.replace(
        need,
        per_task=keep(need.per_task),
        per_host=keep(need.per_host),
        per_job=keep(need.per_job),
        instances=tuple(i for i in need.instances if not _provisioned(i.type, types)),
    )


def _nameless(role: RoleAsk, types: Mapping[str, ResourceType]) -> tuple[ClaimTemplate, ...]:
    """Member claims without a name: a resreq's request for a type that must be provisioned."""
    found: dict[str, int] = {}
    for pairs, times in (
        (role.need.per_task, role.tasks),
        (role.need.per_host, 1),
        (role.need.per_job, 1),
    ):
        for name, amount in pairs:
            if _provisioned(name, types):
                found[name] = found.get(name, 0) + amount * times
    claims = [ClaimTemplate(name="", type=name, size_bytes=n) for name, n in sorted(found.items())]
    claims.extend(
        ClaimTemplate(name="", type=item.type, count=_times(item, role), select=item.select)
        for item in role.need.instances
        if _provisioned(item.type, types)
    )
    return tuple(claims)


def _times(item: InstanceNeed, role: RoleAsk) -> int:
    return item.count_per_task * (role.tasks if item.per == PER_TASK else 1)


def _extra(templates: tuple[ClaimTemplate, ...], types: Mapping[str, ResourceType]) -> Extra:
    amounts: list[tuple[int, str, int]] = []
    items: list[Item] = []
    ports: list[tuple[int, int]] = []
    for index, claim in enumerate(templates):
        type_ = types.get(claim.type)
        if claim.use or type_ is None or type_.layer is Layer.ATTRIBUTE:
            continue
        if type_.kind is Kind.INTERVAL:
            ports.append((index, claim.count))
        elif type_.layer is Layer.INSTANCE:
            items.append(Item(claim.type, claim.count, claim.select, claim.same, index))
        else:
            amounts.append((index, type_.draws_on or claim.type, claim.size_bytes or claim.count))
    return Extra(
        templates=templates, amounts=tuple(amounts), items=tuple(items), ports=tuple(ports)
    )

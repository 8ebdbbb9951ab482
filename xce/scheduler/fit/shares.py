"""Cells made into what a plan says: members with their shares, claims with their holdings.

Ranks follow topology order: rank 0 is on the host that bears the role's claims, the others lie
in the order of their hosts. What a claim holds is no part of a share, so that the two add up.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from xce.model.ids import instance_key
from xce.model.placing import Binding, Holding, Share
from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.cpus import Bound, binding, numbers_of
from xce.scheduler.fit.demand import GROUP, MARK, MEMBER, ROLE, Extra, MemberNeed, Shape, merged
from xce.scheduler.fit.lay import Cell
from xce.scheduler.fit.processors import CPU
from xce.scheduler.ledger import Amounts
from xce.scheduler.plan import PlacedClaim, PlacedMember
from xce.scheduler.snapshot import RoleAsk


class Grant(Struct, frozen=True, gc=False):
    """What one `Extra` got on one host: bits per item, port numbers for all its claims."""

    host: int
    bits: tuple[int, ...]
    ports: tuple[int, ...]


class PartCells(Struct, frozen=True, gc=False):
    """The cells of one term of a role's requirement; a simple requirement is its only term."""

    need: MemberNeed
    cells: Sequence[Cell]


Placed = tuple[PlacedMember, list[PlacedClaim]]


def role_outcome(
    work: Workspace, role: RoleAsk, parts: Sequence[PartCells], alternative: int = 0
) -> tuple[list[PlacedMember], list[PlacedClaim]]:
    """The members of one role in rank order, and the claims: the anchor's, then each member's."""
    placed = _of_part(work, role, parts[0])
    claims = [
        claim
        for cell in parts[0].cells
        if cell.anchored
        for claim in _anchor(work, role, parts[0].need, cell)
    ]
    for part in parts[1:]:
        placed = [_joined(*pair) for pair in zip(placed, _of_part(work, role, part), strict=True)]
    for _, own in placed:
        claims.extend(own)
    members = [member for member, _ in placed]
    if alternative:
        members = [structs.replace(member, alternative=alternative) for member in members]
    return members, claims


def _of_part(work: Workspace, role: RoleAsk, part: PartCells) -> list[Placed]:
    if part.need.shape is not Shape.ONE_HOST:
        return list(_spanning_members(work, role, part.need, part.cells))
    ordered = sorted(part.cells, key=lambda cell: (not cell.anchored, cell.member, cell.spot))
    return list(_whole_members(work, role, part.need, ordered))


def _joined(left: Placed, right: Placed) -> Placed:
    """A member with what a further term gives it; shares of one host become one."""
    shares = {share.host: share for share in left[0].shares}
    for share in right[0].shares:
        old = shares.get(share.host)
        shares[share.host] = share if old is None else _one_share(old, share)
    member = structs.replace(left[0], shares=tuple(shares.values()))
    return member, [*left[1], *right[1]]


def _one_share(left: Share, right: Share) -> Share:
    return Share(
        host=left.host,
        tasks=left.tasks + right.tasks,
        counters=merged(left.counters + right.counters),
        instances=tuple(sorted(left.instances + right.instances)),
        bindings=left.bindings + right.bindings,
    )


def _whole_members(
    work: Workspace, role: RoleAsk, need: MemberNeed, cells: Sequence[Cell]
) -> Iterator[tuple[PlacedMember, list[PlacedClaim]]]:
    rank, own_ports = 0, need.own.port_count()
    plain, counters = len(need.task_items) + len(need.held_items(True)), _granted(need.whole)
    for cell in cells:
        skip = need.anchor.port_count() if cell.anchored else 0
        for unit in range(cell.units):
            bits = cell.picked.units[unit] if cell.picked.units else ()
            ports = cell.ports[skip + unit * own_ports : skip + (unit + 1) * own_ports]
            share = Share(
                host=work.hosts.names[cell.host],
                tasks=need.tasks,
                counters=counters,
                instances=_held(work, need, cell, unit, bits[:plain]),
                bindings=_bindings(work, need, cell, unit),
            )
            job = role.jobs[rank]
            grant = Grant(cell.host, bits[plain:], ports)
            yield (
                PlacedMember(job=job, role=role.name, rank=rank, shares=(share,)),
                list(_claims(work, need.own, grant, MEMBER, role.name, job)),
            )
            rank += 1


def _spanning_members(
    work: Workspace, role: RoleAsk, need: MemberNeed, cells: Sequence[Cell]
) -> Iterator[tuple[PlacedMember, list[PlacedClaim]]]:
    own_items, own_ports = len(need.own.items), need.own.port_count()
    for rank in sorted({cell.member for cell in cells}):
        mine = [cell for cell in cells if cell.member == rank]
        shares = tuple(
            Share(
                host=work.hosts.names[cell.host],
                tasks=cell.units,
                counters=_granted(need.counters(cell.units, cell.first)),
                instances=_held_by_tasks(work, need, cell),
                bindings=tuple(
                    one for unit in range(cell.units) for one in _bindings(work, need, cell, unit)
                ),
            )
            for cell in mine
        )
        job, first = role.jobs[rank], mine[0]
        grant = Grant(first.host, first.picked.fixed[:own_items], first.ports[:own_ports])
        yield (
            PlacedMember(job=job, role=role.name, rank=rank, shares=shares),
            list(_claims(work, need.own, grant, MEMBER, role.name, job)),
        )


def _granted(counters: Amounts) -> Amounts:
    """Counters without those that are limits on hosts."""
    return tuple(pair for pair in counters if MARK not in pair[0])


def _anchor(work: Workspace, role: RoleAsk, need: MemberNeed, cell: Cell) -> Iterator[PlacedClaim]:
    """The group's and role's claims on the first host of rank 0."""
    if not need.anchor.templates:
        return
    spans = need.shape is not Shape.ONE_HOST
    skip_items, skip_ports = (len(need.own.items), need.own.port_count()) if spans else (0, 0)
    grant = Grant(
        cell.host,
        cell.picked.fixed[skip_items:],
        cell.ports[skip_ports : skip_ports + need.anchor.port_count()],
    )
    own_role = sum(claim.scope == ROLE for claim in role.claims)
    of_group = len(need.anchor.templates) - own_role
    made = list(_claims(work, need.anchor, grant, GROUP, "", 0))
    yield from made[:of_group]
    for claim in made[of_group:]:
        yield PlacedClaim(
            template=claim.template,
            scope=ROLE,
            role=role.name,
            host=claim.host,
            holdings=claim.holdings,
        )


def _claims(
    work: Workspace, extra: Extra, grant: Grant, scope: str, role: str, job: int
) -> Iterator[PlacedClaim]:
    """One claim per template, in the templates' order."""
    if not extra.templates:
        return
    host = work.hosts.names[grant.host]
    held: list[list[Holding]] = [[] for _ in extra.templates]
    for index, counter, amount in extra.amounts:
        held[index].append(Holding(host=host, counter=counter, amount=amount))
    for item, bits in zip(extra.items, grant.bits, strict=False):
        held[item.claim].extend(
            Holding(host=host, instance=key) for key in _keys(work, item.type, grant.host, bits)
        )
    used = 0
    for index, count in extra.ports:
        type_ = extra.templates[index].type
        numbers = grant.ports[used : used + count]
        used += count
        held[index].extend(
            Holding(host=host, instance=instance_key(host, type_, str(number)))
            for number in numbers
        )
    for template, holdings in zip(extra.templates, held, strict=True):
        yield PlacedClaim(
            template=template,
            scope=scope,
            role=role,
            job=job,
            host=host,
            holdings=tuple(holdings),
        )


def _held(
    work: Workspace, need: MemberNeed, cell: Cell, unit: int, bits: Sequence[int]
) -> tuple[str, ...]:
    """Sorted keys of the instances that the allocation itself holds for a whole member."""
    items = need.task_items + need.held_items(True)
    keys = _cpu_keys(work, cell, cell.bound[unit : unit + 1])
    for item, part in zip(items, bits, strict=True):
        keys.extend(_keys(work, item.type, cell.host, part))
    return tuple(sorted(keys))


def _held_by_tasks(work: Workspace, need: MemberNeed, cell: Cell) -> tuple[str, ...]:
    """Sorted keys of the instances that the allocation holds for tasks on a host."""
    keys = _cpu_keys(work, cell, cell.bound)
    for unit in cell.picked.units:
        for item, bits in zip(need.task_items, unit, strict=True):
            keys.extend(_keys(work, item.type, cell.host, bits))
    claimed = len(need.own.items) * cell.first + len(need.anchor.items) * cell.anchored
    held = need.held_items(cell.first)
    for item, bits in zip(held, cell.picked.fixed[claimed:], strict=bool(held)):
        keys.extend(_keys(work, item.type, cell.host, bits))
    return tuple(sorted(keys))


def _cpu_keys(work: Workspace, cell: Cell, units: Sequence[Sequence[Bound]]) -> list[str]:
    host = work.hosts.names[cell.host]
    return [
        instance_key(host, CPU, str(number))
        for unit in units
        for one in unit
        for number in numbers_of(one.held)
    ]


def _bindings(work: Workspace, need: MemberNeed, cell: Cell, unit: int) -> tuple[Binding, ...]:
    """What the tasks of one unit are bound to."""
    cpus, asked = work.hosts.cpus[cell.host], need.part.cpus
    if asked is None or cpus is None:
        return ()
    return tuple(binding(cpus, one, asked) for one in cell.bound[unit])


def _keys(work: Workspace, type_: str, host: int, bits: int) -> list[str]:
    rows = work.hosts.instances.get(type_)
    if not rows or not bits:
        return []
    return [instance.key for number, instance in rows[host].items() if bits >> number & 1]

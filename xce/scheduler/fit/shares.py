"""Cells made into what a plan says: members with their shares, claims with their holdings.

Ranks follow topology order: rank 0 is on the host that bears the role's claims, the others lie
in the order of their hosts. What a claim holds is no part of a share, so that the two add up.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from xce.model.ids import instance_key
from xce.model.placing import Holding, Share
from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.demand import GROUP, MEMBER, ROLE, Extra, MemberNeed, Shape
from xce.scheduler.fit.lay import Cell
from xce.scheduler.plan import PlacedClaim, PlacedMember
from xce.scheduler.snapshot import RoleAsk


class Grant(Struct, frozen=True, gc=False):
    """What one `Extra` got on one host: bits per item, port numbers for all its claims."""

    host: int
    bits: tuple[int, ...]
    ports: tuple[int, ...]


def role_outcome(
    work: Workspace, role: RoleAsk, need: MemberNeed, cells: Sequence[Cell]
) -> tuple[list[PlacedMember], list[PlacedClaim]]:
    """The members of one role in rank order, and the claims: the anchor's, then each member's."""
    if need.shape is Shape.ONE_HOST:
        ordered = sorted(cells, key=lambda cell: (not cell.anchored, cell.spot))
        placed = list(_whole_members(work, role, need, ordered))
    else:
        placed = list(_spanning_members(work, role, need, cells))
    claims = [claim for cell in cells if cell.anchored for claim in _anchor(work, role, need, cell)]
    for _, own in placed:
        claims.extend(own)
    return [member for member, _ in placed], claims


def _whole_members(
    work: Workspace, role: RoleAsk, need: MemberNeed, cells: Sequence[Cell]
) -> Iterator[tuple[PlacedMember, list[PlacedClaim]]]:
    rank, own_ports = 0, need.own.port_count()
    plain = len(need.task_items)
    for cell in cells:
        skip = need.anchor.port_count() if cell.anchored else 0
        for unit in range(cell.units):
            bits = cell.picked.units[unit] if cell.picked.units else ()
            ports = cell.ports[skip + unit * own_ports : skip + (unit + 1) * own_ports]
            share = Share(
                host=work.hosts.names[cell.host],
                tasks=need.tasks,
                counters=need.whole,
                instances=_keys_of_tasks(work, need, cell.host, [bits[:plain]]),
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
                counters=need.counters(cell.units, cell.first),
                instances=_keys_of_tasks(work, need, cell.host, cell.picked.units),
            )
            for cell in mine
        )
        job, first = role.jobs[rank], mine[0]
        grant = Grant(first.host, first.picked.fixed[:own_items], first.ports[:own_ports])
        yield (
            PlacedMember(job=job, role=role.name, rank=rank, shares=shares),
            list(_claims(work, need.own, grant, MEMBER, role.name, job)),
        )


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


def _keys_of_tasks(
    work: Workspace, need: MemberNeed, host: int, units: Sequence[Sequence[int]]
) -> tuple[str, ...]:
    """Sorted keys of the instances that the allocation itself holds on a host."""
    keys: list[str] = []
    for unit in units:
        for item, bits in zip(need.task_items, unit, strict=True):
            keys.extend(_keys(work, item.type, host, bits))
    return tuple(sorted(keys))


def _keys(work: Workspace, type_: str, host: int, bits: int) -> list[str]:
    rows = work.hosts.instances.get(type_)
    if not rows or not bits:
        return []
    return [instance.key for number, instance in rows[host].items() if bits >> number & 1]

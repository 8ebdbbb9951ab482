"""What a class of asks comes down to, worked out once: its terms, their needs and hosts.

A role with a simple requirement is one term. A compound requirement gives its role a term for
each of its parts; the first bears the claims. Where a requirement has alternatives, a choice
names one for each role of the ask: the first ones come first, those with a delay only when the
ask has waited so long. Choices are tried in order, and the first that has a place wins.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product

import numpy as np
from msgspec import Struct, structs

from xce.model.job import Topology
from xce.model.need import Need, Part, UnitNeed
from xce.resreq.errors import ResreqError
from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import Hosts, caps
from xce.scheduler.fit.demand import MemberNeed, Shape, compile_role
from xce.scheduler.place.rows import sizes_of, unit_level, untouched
from xce.scheduler.place.scopes import RolePlan
from xce.scheduler.place.topology import is_finer, known
from xce.scheduler.reasons import Code, PendReason, reason
from xce.scheduler.serial.quick import Quick, quick_way
from xce.scheduler.serial.row import SerialRow
from xce.scheduler.serial.shelf import Shelves
from xce.scheduler.snapshot import HOST_LEVEL, Ask, Column, RoleAsk, Snapshot

Choice = tuple[int, ...]
CHOICES_MAX = 64
_FIRST: dict[int, list[Choice]] = {1: [(0,)]}


class Term(Struct, frozen=True, gc=False, kw_only=True):
    """A role, or one part of its compound requirement as if that were a role: its need, the hosts
    that match it, and those of them that may be used. `parts` counts the role's terms; `alone`
    are the units that it wants for itself, by cu[excl] or by its topology."""

    owner: int
    parts: int
    role: RoleAsk
    need: MemberNeed
    matching: Hosts
    allowed: Hosts
    alone: UnitNeed | None = None


class Compiled(Struct, frozen=True, gc=False, kw_only=True):
    """What one choice of a class comes down to, or why it cannot be tried at all. `serial` finds
    the host of one member on any one host; `quick` does all of it where the ask is that simple."""

    refusal: PendReason | None = None
    terms: tuple[Term, ...] = ()
    serial: SerialRow | None = None
    quick: Quick | None = None


def choices_of(ask: Ask, now_us: int) -> tuple[list[Choice], int]:
    """The choices that may be tried now, and when the next alternative may be (0 = none waits)."""
    if not any(role.need.others for role in ask.roles):
        return _FIRST.get(len(ask.roles)) or [(0,) * len(ask.roles)], 0
    waited, later = now_us - ask.pending_us, []
    open_: list[list[int]] = []
    for role in ask.roles:
        mine = [0]
        for index, other in enumerate(role.need.others, 1):
            if other.delay_us <= waited:
                mine.append(index)
            else:
                later.append(ask.pending_us + other.delay_us)
        open_.append(mine)
    return list(islice(product(*open_), CHOICES_MAX)), min(later, default=0)


def compile_ask(
    work: Workspace, ask: Ask, choice: Choice, shelves: Shelves | None = None
) -> Compiled:
    """The terms of a choice with their hosts; with shelves also the short way, if there is one."""
    try:
        refusal = refused(work.snapshot, ask, choice)
        if refusal is not None:
            return Compiled(refusal=refusal)
        terms = tuple(_terms(work, ask, choice))
    except ResreqError as error:
        return Compiled(refusal=reason(Code.BAD_SELECT, detail=str(error)))
    if not is_serial(ask, terms):
        return Compiled(terms=terms)
    need, hosts = terms[0].need, terms[0].allowed
    serial, role = SerialRow(work, need, hosts), ask.roles[0]
    bare = not (ask.group or role.name or role.need.others or role.need.terms or role.tasks_max)
    quick = quick_way(work, shelves, need, serial, hosts) if bare and shelves else None
    return Compiled(terms=terms, serial=serial, quick=quick)


def _terms(work: Workspace, ask: Ask, choice: Choice) -> Iterator[Term]:
    for owner, (role, index) in enumerate(zip(ask.roles, choice, strict=True)):
        parts = role.need.terms_of(index, role.tasks)
        for number, (tasks, part) in enumerate(parts):
            leads = number == 0
            mine = role
            if index or role.need.terms:
                claims = role.claims if leads else ()
                mine = structs.replace(role, need=_alone(part), tasks=tasks, claims=claims)
            need = compile_role(ask, mine, work.snapshot.types, leads=leads)
            matching = _hosts(work, ask.queue, need)
            if role.within:
                rows = {work.hosts.index.get(name, -1) for name in role.within}
                matching = np.array([row for row in matching.tolist() if row in rows], np.intp)
            may = work.allowed(ask, need.select) & work.inside(role.domain)
            allowed = matching[may[matching]]
            yield Term(
                owner=owner, parts=len(parts), role=mine, need=need, matching=matching,
                allowed=allowed, alone=_alone_in(ask, role, part),
            )  # fmt: skip


def _alone_in(ask: Ask, role: RoleAsk, part: Part) -> UnitNeed | None:
    """The units that nobody else may use, None where it shares them."""
    if part.units is not None and part.units.exclusive:
        return part.units
    own, group = role.topology, ask.topology
    if role.exclusive:
        return UnitNeed(level=HOST_LEVEL, exclusive="!")
    if (own.exclusive or group.exclusive) and not ask.joins:
        level = own.required or group.required or own.preferred or group.preferred
        return UnitNeed(level=level, exclusive="!") if level else None
    return None


def _alone(part: Part) -> Need:
    return Need(**{name: getattr(part, name) for name in Part.__struct_fields__})


def _hosts(work: Workspace, queue: str, need: MemberNeed) -> Hosts:
    """The hosts that match the select and know their domain at every level that is asked."""
    mask = work.matching(need.select).copy()
    serving = work.serving(queue)
    if serving is not None:
        mask &= serving
    for item in (*need.own.items, *need.anchor.items):
        work.eligible(item.type, item.select)
        if item.same:
            mask &= known(work.hosts, item.same)
    if need.part.units is not None:
        mask &= known(work.hosts, unit_level(work.hosts, need.part.units))
    return np.flatnonzero(mask)


def plans_of(work: Workspace, terms: Sequence[Term], hosts: Sequence[Hosts]) -> list[RolePlan]:
    """The terms with the room that each of their hosts has now."""
    plans = []
    for index, (term, own) in enumerate(zip(terms, hosts, strict=True)):
        units = np.zeros(len(work.hosts.names), dtype=np.int64)
        units[own] = _bounded(work, term, own, caps(work, term.need.load(False, False), own))
        if term.alone is not None:
            units *= untouched(work, term.alone)
        plans.append(
            RolePlan(
                index=index, role=term.role, need=term.need, units=units, owner=term.owner,
                parts=term.parts,
            )
        )  # fmt: skip
    return plans


def _bounded(work: Workspace, term: Term, hosts: Hosts, units: Column) -> Column:
    """The units of each host as far as the span lets one host have them, for all members."""
    need, part, members = term.need, term.need.part, term.role.count
    match need.shape:
        case Shape.PTILE if need.ptile > 0 and not part.tiles:
            return np.minimum(units, need.ptile * members)
        case Shape.PTILE:
            sizes = np.array(sizes_of(work, need, hosts), dtype=np.int64)
            return np.minimum(units, sizes * members)
        case Shape.BLOCK:
            return units // part.block * part.block
        case Shape.STRIPE if part.stripe_most:
            return np.minimum(units, part.stripe_most * members)
        case _:
            return units


def is_serial(ask: Ask, terms: Sequence[Term]) -> bool:
    """Whether the ask is one member on one host that may be any host."""
    need = terms[0].need
    if len(terms) != 1 or ask.roles[0].count != 1 or need.shape is not Shape.ONE_HOST:
        return False
    if need.part.units is not None or ask.roles[0].exclusive:
        return False
    requests = (ask.topology, ask.roles[0].topology)
    return not any(request.inner or request.exclusive for request in requests)


# --- what cannot be tried at all ----------------------------------------------------------------


def refused(snapshot: Snapshot, ask: Ask, choice: Choice) -> PendReason | None:
    """What keeps an ask from being tried, however the hosts are."""
    if ask.queue in snapshot.shut_queues:
        return snapshot.shut_queues[ask.queue]
    requests = [ask.topology, *(role.topology for role in ask.roles)]
    if any(role.spares for role in ask.roles):
        return reason(Code.UNSUPPORTED, detail="spares")
    claims = [*ask.claims, *(claim for role in ask.roles for claim in role.claims)]
    for request in requests:
        why = _odd_topology(snapshot, request, ask.topology)
        if why is not None:
            return why
    asked = [level for r in requests for level in (r.required, r.preferred) if level]
    for level in (*asked, *(claim.same for claim in claims if claim.same)):
        if level not in snapshot.hosts.levels:
            return _no_level(snapshot, level)
    for role, index in zip(ask.roles, choice, strict=True):
        why = _odd(snapshot, role, index)
        if why is not None:
            return why
    return None


def _odd_topology(snapshot: Snapshot, own: Topology, group: Topology) -> PendReason | None:
    """What a topology says that no cluster of these levels can give."""
    level = own.inner or group.inner
    for word, given in (("segment", own.segment), ("balanced", own.balanced)):
        if given and not level:
            return reason(Code.UNSUPPORTED, detail=f"topology.{word} without a level")
    if own.exclusive:
        alone = own.required or group.required or own.preferred or group.preferred
        if not alone or alone in snapshot.hosts.finer():
            where = f"at {alone}, which lies inside hosts" if alone else "without a level"
            return reason(Code.UNSUPPORTED, detail=f"topology.exclusive {where}")
    return None


def _no_level(snapshot: Snapshot, level: str) -> PendReason:
    declared = ", ".join(snapshot.hosts.levels) or "none"
    return reason(Code.UNKNOWN_LEVEL, what=level, detail=declared)


def _odd(snapshot: Snapshot, role: RoleAsk, index: int) -> PendReason | None:
    """What one alternative of a role's requirement says that can hold nowhere."""
    parts = role.need.terms_of(index, role.tasks)
    given = sum(tasks for tasks, _ in parts)
    if given != role.tasks:
        said = f"the terms are {given} tasks, the job has {role.tasks}"
        return reason(Code.NOT_EVEN, detail=said)
    for tasks, part in parts:
        if part.block and tasks % part.block:
            said = f"{tasks} tasks do not divide into blocks of {part.block}"
            return reason(Code.NOT_EVEN, detail=said)
        if part.units is None:
            continue
        exclusive = part.units.exclusive.removeprefix("!")
        for level in (part.units.level, exclusive):
            if level and level not in snapshot.hosts.levels:
                return _no_level(snapshot, level)
            if level and is_finer(snapshot.hosts, level):
                said = f"cu[type={level}]: that level lies inside hosts"
                return reason(Code.UNSUPPORTED, detail=said)
    return None

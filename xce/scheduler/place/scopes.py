"""Which windows an ask and each of its roles may use, in the order in which they are tried.

The group's `required` level holds all roles in one domain. A role's own `required` level holds
that role; where it is finer (or the same) the role also lies in the group's domain, where it is
coarser it beats the group's and the role is free of it. A role's `preferred` beats the group's.
Without any request all levels are tried from the host up, and the whole cluster last.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import caps
from xce.scheduler.fit.demand import MemberNeed, Shape
from xce.scheduler.place.topology import (
    RoleRoom,
    View,
    Window,
    fewest,
    is_finer,
    known,
    laid_out,
    parts_of,
    tight,
)
from xce.scheduler.snapshot import HOST_LEVEL, Ask, Column, Mask, RoleAsk

SLOTS = "slots"


class RolePlan(Struct, frozen=True, gc=False, kw_only=True):
    """A role to be placed: its compiled need, and how many units fit per host right now (0 on
    hosts that may not serve it). Units are members, or tasks where a member spans hosts. Each
    term of a compound requirement has a plan of its own; `owner` is then the role's number, and
    `parts` how many plans it has."""

    index: int
    role: RoleAsk
    need: MemberNeed
    units: Column
    owner: int
    parts: int = 1

    @property
    def by_member(self) -> bool:
        """Whether each member is laid by itself, not all members of the role (or of one of its
        segments) in one go."""
        spans = self.need.shape is not Shape.ONE_HOST
        return spans or self.parts > 1 or self.need.part.units is not None

    @property
    def piece(self) -> int:
        """The units of one member."""
        return 1 if self.need.shape is Shape.ONE_HOST else self.need.tasks

    def needed(self, members: int) -> int:
        """The units that so many members are."""
        return members if self.need.shape is Shape.ONE_HOST else members * self.need.tasks


class Scopes:
    """The windows of one search; the columns that order them are read once, at its start."""

    def __init__(self, work: Workspace, ask: Ask, plans: Sequence[RolePlan]) -> None:
        self._work = work
        self._ask = ask
        self._plans = plans
        self._levels = work.hosts.levels
        self._view = _view(work, plans)
        self._counts: Sequence[int] = [plan.role.count for plan in plans]
        self._all = np.ones(len(work.hosts.names), dtype=bool)

    def windows(self, counts: Sequence[int]) -> Iterator[Window]:
        """The windows for the ask as a whole when each role is to have so many members."""
        self._counts = counts
        bound = [plan for plan in self._plans if not self._exempt(plan)] or list(self._plans)
        within = np.zeros_like(self._all)
        for plan in bound:
            within |= plan.units > 0
        request = self._ask.topology
        if request.required or request.preferred:
            yield from self._choices(request.required, request.preferred, bound, within)
            return
        for level in () if any(_chooses(plan) for plan in bound) else self._levels:
            if not is_finer(self._work.hosts, level):
                yield from self._domains(level, bound, within)
        yield Window(hosts=laid_out(self._view, np.flatnonzero(within)))

    def of_role(self, plan: RolePlan, scope: Window) -> Iterator[Window]:
        """The windows for one role when the ask as a whole has `scope`."""
        request = plan.role.topology
        if not request.required and not request.preferred:
            yield scope
            return
        within = plan.units > 0
        restrict = None
        if not self._exempt(plan):
            inside = np.zeros_like(within)
            inside[scope.hosts] = True
            within, restrict = within & inside, scope
        yield from self._choices(request.required, request.preferred, [plan], within, restrict)

    def of_segment(self, plan: RolePlan, scope: Window, needed: int) -> Iterator[Window]:
        """The domains that hold one segment of so many units, inside the role's windows."""
        own, group = plan.role.topology, self._ask.topology
        level = own.inner or group.inner
        within = plan.units > 0
        bases: Iterator[Window] = iter((scope,))
        if own.required and self._exempt(plan):
            bases = self._domains(own.required, [plan], within)
        for base in bases:
            inside = np.zeros_like(within)
            inside[base.hosts] = True
            limit = base if base.restrict is not None else None
            if is_finer(self._work.hosts, level) or limit is not None:
                yield from self._parts(level, [plan], within & inside, limit, needed)
            else:
                rooms = [RoleRoom(plan.units, needed)]
                yield from tight(self._view, level, rooms, within & inside)

    def _exempt(self, plan: RolePlan) -> bool:
        """Whether the role's own required level is coarser than the group's."""
        own, group = plan.role.topology.required, self._ask.topology.required
        if not own or not group:
            return False
        return self._levels.index(own) > self._levels.index(group)

    def _choices(
        self,
        required: str,
        preferred: str,
        plans: Sequence[RolePlan],
        within: Mask,
        scope: Window | None = None,
    ) -> Iterator[Window]:
        """One preferred domain; else, in each required one, the fewest preferred ones."""
        if required:
            within = within & known(self._work.hosts, required)
        if required and preferred:
            wish, must = self._levels.index(preferred), self._levels.index(required)
            preferred = preferred if wish < must else ""
        if preferred:
            yield from self._domains(preferred, plans, within, inside=required, scope=scope)
        if required:
            bases = self._domains(required, plans, within, scope=scope)
        else:
            hosts = laid_out(self._view, np.flatnonzero(within))
            bases = iter((Window(hosts=hosts, restrict=scope.restrict if scope else None),))
        for base in bases:
            yield self._spilled(preferred, plans, base) if preferred else base

    def _spilled(self, preferred: str, plans: Sequence[RolePlan], base: Window) -> Window:
        largest = _largest(plans)
        needed = largest.needed(self._counts[largest.index])
        return fewest(self._view, preferred, needed, base)

    def _domains(
        self,
        level: str,
        plans: Sequence[RolePlan],
        within: Mask,
        *,
        inside: str = "",
        scope: Window | None = None,
    ) -> Iterator[Window]:
        if is_finer(self._work.hosts, level) or (scope and scope.restrict is not None):
            return self._parts(level, plans, within, scope)
        rooms = [RoleRoom(plan.units, plan.needed(self._counts[plan.index])) for plan in plans]
        return tight(self._view, level, rooms, within, inside=inside)

    def _parts(
        self,
        level: str,
        plans: Sequence[RolePlan],
        within: Mask,
        scope: Window | None,
        needed: int = 0,
    ) -> Iterator[Window]:
        """Domains below the host, tightest first. A level at or above the host adds nothing to a
        scope that is already part of one."""
        if not is_finer(self._work.hosts, level):
            if scope is not None and within[scope.hosts].any():
                yield scope
            return
        parts = [
            (host, name, _cut(bits, scope))
            for host, name, bits in parts_of(self._work.hosts, level)
            if within[host]
        ]
        hosts = np.array([host for host, _, _ in parts], dtype=np.intp)
        limits = [bits for _, _, bits in parts]
        fits = np.ones(len(parts), dtype=bool)
        for plan in plans:
            room = caps(self._work, plan.need.load(False, False), hosts, limits)
            room = np.minimum(room, plan.units[hosts])
            fits &= room >= (needed or plan.needed(self._counts[plan.index]))
        slots = self._work.ledger.column(SLOTS)
        found = [
            (self._left(plans, host, bits), int(slots[host]), host, name, bits)
            for (host, name, bits), fit in zip(parts, fits.tolist(), strict=True)
            if fit
        ]
        for _, _, host, name, bits in sorted(found, key=lambda part: part[:4]):
            label = f"{self._work.hosts.names[host]}/{name}"
            only = np.array([host], dtype=np.intp)
            yield Window(level=level, name=label, hosts=only, restrict=bits)

    def _left(self, plans: Sequence[RolePlan], host: int, bits: Mapping[str, int]) -> int:
        """Free instances of the asked types in a part of a host."""
        types = sorted({type_ for plan in plans for type_ in plan.need.types()})
        return sum(
            (self._work.ledger.mask(type_, host) & bits.get(type_, 0)).bit_count()
            for type_ in types
        )


def _chooses(plan: RolePlan) -> bool:
    """Whether the requirement itself says which hosts go first: order[], cu[], span[stripe]."""
    part = plan.need.part
    spread = plan.need.shape is Shape.STRIPE
    return bool(part.order) or part.units is not None or spread


def _cut(bits: Mapping[str, int], scope: Window | None) -> Mapping[str, int]:
    if scope is None or scope.restrict is None:
        return bits
    return {type_: mask & scope.restrict.get(type_, 0) for type_, mask in bits.items()}


def _largest(plans: Sequence[RolePlan]) -> RolePlan:
    """The role whose member asks for most instances, then slots; the first of equals."""

    def size(plan: RolePlan) -> tuple[int, int, int]:
        need = plan.need
        instances = sum(item.count for item in need.items(need.tasks, True))
        return (instances, dict(need.counters(need.tasks, True)).get(SLOTS, 0), -plan.index)

    return max(plans, key=size)


def _view(work: Workspace, plans: Sequence[RolePlan]) -> View:
    types = sorted({type_ for plan in plans for type_ in plan.need.types()})
    instances = np.zeros(len(work.hosts.names), dtype=np.int64)
    for type_ in types:
        instances += work.ledger.count(type_)
    return View(
        table=work.hosts,
        room=_largest(plans).units,
        instances=np.where(work.usable, instances, 0),
        slots=np.where(work.usable, work.ledger.column(SLOTS), 0),
    )


__all__ = ["HOST_LEVEL", "RolePlan", "Scopes"]

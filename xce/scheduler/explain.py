"""Why an ask waits: the one reason worth telling, with numbers, and hosts counted per cause.

The same questions are asked of the hosts as they are and of the hosts as if empty; what fails on
the empty ones can never fit. Roles are looked at in their order; a reason that can never be cured
goes before one that needs a change, and that before one that needs something freed.

Nothing here decides: the search has failed already. Its figures are those of caps.py, so that a
reason and a decision cannot disagree.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct, structs

from xce.model.need import UnitNeed
from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import Hosts, caps, free_of
from xce.scheduler.fit.demand import Item, Load, MemberNeed, Shape
from xce.scheduler.place.classes import Term
from xce.scheduler.place.rows import untouched
from xce.scheduler.place.topology import is_finer, known, level_ids, parts_of, sums
from xce.scheduler.reasons import HAS_ROOM, Code, Cure, PendReason, amount_text, reason
from xce.scheduler.snapshot import Ask, Column, Mask, RoleAsk

RANK = {Cure.NEVER: 0, Cure.ON_CHANGE: 1, Cure.ON_COUNT: 2, Cure.ON_FREE: 2, Cure.AT_ONCE: 3}


class Wanted(Struct, frozen=True, gc=False):
    """One thing that one host must give, and how much of it."""

    name: str
    amount: int
    item: Item | None = None
    is_ports: bool = False

    def free(self, work: Workspace, hosts: Hosts) -> Column:
        """How much of it each host has."""
        if self.item is not None:
            return free_of(work, self.item, hosts)
        if self.is_ports:
            found: Column = work.ledger.ports[hosts]
            return found
        return work.ledger.column(self.name)[hosts]

    @property
    def plain(self) -> bool:
        """Whether it is of a counter of its name."""
        return self.item is None and not self.is_ports

    def text(self) -> str:
        """`4 gpu`, `64GB mem`."""
        return f"{amount_text(self.name, self.amount)} {self.name}"


class Case(Struct, frozen=True, gc=False, kw_only=True):
    """One role of an ask that found no place. `empty` is the workspace of the hosts as if
    nothing ran; `matching` the hosts that match, `allowed` those of them that may be used."""

    work: Workspace
    empty: Workspace
    ask: Ask
    role: RoleAsk
    need: MemberNeed
    matching: Hosts
    allowed: Hosts
    alone: UnitNeed | None = None

    @staticmethod
    def of(work: Workspace, empty: Workspace, ask: Ask, term: Term) -> "Case":
        """The case of one term of an ask."""
        return Case(
            work=work, empty=empty, ask=ask, role=term.role, need=term.need,
            matching=term.matching, allowed=term.allowed, alone=term.alone,
        )  # fmt: skip

    @property
    def needed(self) -> int:
        """The least number of units that must fit at once."""
        members = min(self.role.min, self.role.count)
        return members if self.need.shape is Shape.ONE_HOST else members * self.need.tasks

    @property
    def what(self) -> str:
        """What a unit is, in words."""
        unit = "members" if self.need.shape is Shape.ONE_HOST else "tasks"
        return f"{unit} of role {self.role.name}" if self.role.name else unit

    @property
    def layout(self) -> str:
        """The sections that say how the tasks lie, as far as they were given."""
        part = self.need.part
        span = part.tiles or part.ptile or part.block or part.stripe or part.gtile
        given = {"span": span, "same": part.same, "cu": part.units, "affinity": part.cpus}
        named = [f"{section}[ ]" for section, value in given.items() if value]
        named.extend(
            f"topology.{word}"
            for word in ("segment", "balanced", "exclusive")
            if getattr(self.role.topology, word) or getattr(self.ask.topology, word)
        )
        return " and ".join(named)

    @property
    def level(self) -> str:
        """The level whose one domain must hold the role."""
        return self.role.topology.required or self.ask.topology.required


def explain(cases: Sequence[Case], *, exhausted: bool, bound: int) -> PendReason:
    """The most telling reason over all roles; SCATTERED where no role by itself has one."""
    found = [(case, why) for case in cases if (why := _role_reason(case)) is not None]
    if found:
        case, why = min(found, key=lambda pair: RANK[pair[1].cure])
    elif exhausted:
        case, why = cases[0], reason(Code.SEARCH_BOUND, needed=bound)
    else:
        level = cases[0].ask.topology.required
        asked = next((text for case in cases if (text := case.layout)), "")
        if asked:
            return _with_hosts(cases[0], reason(Code.NOT_LAID, detail=asked))
        whole = f"no one {level} domain" if level else "no division of the hosts"
        case, why = cases[0], reason(Code.SCATTERED, detail=whole)
    return _with_hosts(case, why)


def _role_reason(case: Case) -> PendReason | None:
    if not case.work.hosts.names:
        return reason(Code.NO_HOSTS)
    if not case.needed:
        return None
    if not len(case.matching):
        if case.work.serving(case.ask.queue) is not None:
            asked = f" select[{case.need.select}]" if case.need.select else ""
            return reason(Code.QUEUE_HOSTS, where=case.ask.queue, detail=asked)
        return reason(Code.NO_MATCH, detail=case.need.select)
    never = _shortage(case, case.empty, case.matching, NEVER_CODES)
    if never is not None:
        return never
    if not len(case.allowed):
        return reason(Code.NO_USABLE_HOST, needed=len(case.matching))
    return _shortage(case, case.work, case.allowed, NOW_CODES) or _in_use(case)


def _in_use(case: Case) -> PendReason | None:
    """There is room, but not on hosts (or units) that nobody else uses."""
    if case.alone is None:
        return None
    idle = case.allowed[untouched(case.work, case.alone)[case.allowed] > 0]
    units = caps(case.work, case.need.load(False, False), idle)
    if int(np.minimum(units, case.needed).sum()) >= case.needed:
        return None
    about = {"needed": case.needed, "available": int(units.sum()), "role": case.role.name}
    detail = f"{len(idle)} of {len(case.allowed)} hosts have nothing on them"
    return reason(Code.IN_USE, what=case.what, detail=detail, **about)


class Codes(Struct, frozen=True, gc=False):
    """The codes for one state of the hosts: as they are, or as if empty."""

    one: Code
    together: Code
    sum: Code
    domain: Code


NEVER_CODES = Codes(
    Code.NEVER_FITS, Code.NEVER_TOGETHER, Code.CLUSTER_NEVER_FITS, Code.DOMAIN_NEVER_FITS
)
NOW_CODES = Codes(Code.SHORT_ON_HOST, Code.SHORT_TOGETHER, Code.MEMBERS_SHORT, Code.DOMAIN_SHORT)


def _shortage(case: Case, work: Workspace, hosts: Hosts, codes: Codes) -> PendReason | None:
    """What is short on these hosts, from the smallest scope up: a host, all hosts, a domain."""
    begin = case.need.load(True, True)
    if caps(work, begin, hosts).max() < 1:
        return _short_host(case, work, hosts, codes)
    units = caps(work, case.need.load(False, False), hosts)
    about: dict[str, Any] = {"needed": case.needed, "role": case.role.name, "detail": case.what}
    total = int(np.minimum(units, case.needed).sum())
    if total < case.needed:
        return reason(codes.sum, available=total, **about)
    if case.level:
        best, where = _best_domain(case, work, hosts, units)
        if not where:
            return reason(Code.DOMAIN_UNKNOWN, what=case.level)
        if best < case.needed:
            return reason(codes.domain, what=case.level, available=best, where=where, **about)
    return None


def _short_host(case: Case, work: Workspace, hosts: Hosts, codes: Codes) -> PendReason:
    wanted = wanted_of(case.need.load(True, True))
    for want in wanted:
        free = want.free(work, hosts)
        bound = want.name in work.snapshot.host_bounds
        if free.max() < want.amount and codes is NOW_CODES and not bound:
            # The nearest miss is a host that could have it, not one that is too small for it.
            able = want.free(case.empty, hosts) >= want.amount
            if able.any():
                free = np.where(able, free, -1)
            elif not work.silent(want.name)[hosts].all():
                could = want.free(case.empty, case.matching) >= want.amount
                return reason(Code.NO_USABLE_HOST, needed=int(could.sum()))
        best = int(free.argmax())
        if free[best] < want.amount and work.silent(want.name)[hosts].all():
            about = {"what": want.name, "needed": want.amount, "available": len(hosts)}
            return reason(Code.NOT_REPORTED, role=case.role.name, **about)
        if free[best] < want.amount:
            return reason(
                codes.one,
                what=want.name,
                needed=want.amount,
                available=max(0, int(free[best])),
                where=work.hosts.names[int(hosts[best])],
                role=case.role.name,
            )
    parts = [want.text() for want in wanted]
    parts += ["processors as affinity[ ] asks"] if case.need.part.cpus else []
    return reason(codes.together, detail=", ".join(parts), role=case.role.name)


def _best_domain(case: Case, work: Workspace, hosts: Hosts, units: Column) -> tuple[int, str]:
    """The most units that one domain of the level holds, and its name ("" when none is known)."""
    level = case.level
    if is_finer(work.hosts, level):
        return _best_part(case, work, hosts[units > 0])
    ids, names = level_ids(work.hosts, level)
    if not (ids[hosts] >= 0).any():
        return 0, ""
    total = sums(ids[hosts], units, len(names))
    best = int(total.argmax())
    return int(total[best]), names[best]


def _best_part(case: Case, work: Workspace, hosts: Hosts) -> tuple[int, str]:
    serving = set(hosts.tolist())
    parts = [part for part in parts_of(work.hosts, case.level) if part[0] in serving]
    if not parts:
        return 0, ""
    spots = np.array([host for host, _, _ in parts], dtype=np.intp)
    room = caps(work, case.need.load(False, False), spots, [bits for _, _, bits in parts])
    best = int(room.argmax())
    return int(room[best]), f"{work.hosts.names[parts[best][0]]}/{parts[best][1]}"


def wanted_of(load: Load) -> list[Wanted]:
    """Everything that one host must give for one unit: instances first, then slots and the rest."""
    amounts: dict[str, int] = {}
    for name, amount in (*load.unit, *load.fixed):
        amounts[name] = amounts.get(name, 0) + amount
    items: dict[tuple[str, str, str], int] = {}
    for item in (*load.unit_items, *load.fixed_items):
        key = (item.type, item.select, item.same)
        items[key] = items.get(key, 0) + item.count
    found = []
    for (type_, select, same), count in sorted(items.items()):
        label = type_ + (f" with {select}" if select else "") + (f" in one {same}" if same else "")
        found.append(Wanted(label, count, Item(type_, count, select, same)))
    ports = load.unit_ports + load.fixed_ports
    if ports:
        found.append(Wanted("port", ports, None, True))
    ordered = sorted(amounts.items(), key=lambda pair: (pair[0] != "slots", pair[0]))
    return found + [Wanted(name, amount) for name, amount in ordered]


def _with_hosts(case: Case, why: PendReason) -> PendReason:
    """The reason with every host of the cluster counted under one cause."""
    counts: list[tuple[str, int]] = []
    left = np.ones(len(case.work.hosts.names), dtype=bool)

    def count(cause: str, mask: Mask) -> None:
        hit = mask & left
        number = int(hit.sum())
        if number:
            counts.append((cause, number))
            left[hit] = False

    for cause, mask in case.work.unusable.items():
        count(cause, mask)
    if len(case.matching) < len(left):
        count("does not match", ~_mask(case, case.matching))
    if len(case.allowed) < len(left):
        count("avoided", ~_mask(case, case.allowed))
    hosts = case.allowed
    for want in wanted_of(case.need.load(False, False)):
        if want.amount and not (want.plain and case.empty.smallest(want.name) >= want.amount):
            short = hosts[want.free(case.empty, hosts) < want.amount]
            count(f"too small: {want.name}", _mask(case, short))
    if case.level:
        count(f"no known {case.level} domain", ~known(case.work.hosts, case.level))
    for want in wanted_of(case.need.load(False, False)):
        lack = _mask(case, hosts[want.free(case.work, hosts) < want.amount])
        if want.name in case.work.snapshot.told:
            count(f"not reported: {want.name}", lack & case.work.silent(want.name))
        count(f"short of {want.name}", lack)
    count(HAS_ROOM, left.copy())
    ranked = tuple(sorted(counts, key=lambda pair: (-pair[1], pair[0])))
    return structs.replace(why, hosts=ranked)


def _mask(case: Case, hosts: Hosts) -> Mask:
    mask = np.zeros(len(case.work.hosts.names), dtype=bool)
    mask[hosts] = True
    return mask

"""Gangs as a session sees them: whole, or some members of one that runs."""

from typing import Any

from msgspec import structs

from xce.controller.core.claims.using import parts_of
from xce.controller.core.fold.state import State
from xce.controller.core.gangs.asking import part_of
from xce.controller.core.time.watch import length_us
from xce.model.group import Group, GroupSpec, RoleSpec
from xce.model.job import Topology
from xce.scheduler.snapshot import Ask, RoleAsk


def gang_ask(state: State, group: Group, class_key: str) -> Ask | None:
    """What a waiting gang asks for; None while a member of it is held."""
    spec = state.group_spec(group)
    roles = []
    for role, span in zip(spec.roles, group.roles, strict=True):
        jobs = tuple(range(span.first_job, span.first_job + span.count))
        if any(state.jobs[job].state != "PENDING" for job in jobs):
            return None
        asked = _role(state, spec, role, jobs)
        if asked is None:
            return None
        roles.append(asked)
    avoid = {host for key in group.members() for host in state.jobs[key].avoid}
    return _of_gang(
        state, group, class_key, roles, topology=spec.topology, avoid=tuple(sorted(avoid)),
        claims=tuple(one for one in spec.claims if not one.use),
    )  # fmt: skip


def part_ask(state: State, group: Group, class_key: str, now_us: int) -> Ask | None:
    """What a running gang asks for some of its members."""
    part = part_of(state, group, now_us)
    if part is None:
        return None
    spec = state.group_spec(group)
    roles = []
    for one in part.roles:
        asked = _role(state, spec, one.role, one.jobs)
        own = parts_of(state, one.claims)
        if asked is None or own is None:
            return None
        inside = _inside(one.role.topology, one.domain)
        roles.append(
            structs.replace(
                asked, min=one.min, domain=one.domain, claims=own[0], topology=inside, spares=0
            )
        )
    topology = _inside(spec.topology, part.domain)
    return _of_gang(
        state, group, class_key, roles, topology=topology, claims=part.claims, avoid=part.avoid,
        domain=part.domain, joins=True,
    )  # fmt: skip


def _inside(topology: Topology, domain: tuple[str, str]) -> Topology:
    """Where the domain is known, nothing is left to be chosen of it."""
    if not domain[0]:
        return topology
    kept = "" if topology.required == domain[0] else topology.required
    return structs.replace(topology, required=kept, segment=0, balanced=False)


def _role(state: State, spec: GroupSpec, role: RoleSpec, jobs: tuple[int, ...]) -> RoleAsk | None:
    """One role; None where a claim that it uses is not there."""
    member = state.specs[role.member_spec]
    own = parts_of(state, role.claims)
    all_ = parts_of(state, (*spec.claims, *role.claims))
    if own is None or all_ is None:
        return None
    return RoleAsk(
        name=role.name, jobs=jobs, min=role.min, spares=role.spares, need=member.need,
        tasks=member.tasks, run=member.run, topology=role.topology, claims=own[0],
        within=all_[1], ready_claim=role.ready.port if role.ready.kind == "port" else "",
    )  # fmt: skip


def _of_gang(state: State, group: Group, class_key: str, roles: list[RoleAsk], **rest: Any) -> Ask:
    place = state.index.ordering.of_group(group)
    return Ask(
        group=group.number, order=place.key, class_key=class_key,
        queue=group.queue, owner=group.owner, roles=tuple(roles), pending_us=group.pending_us,
        length_us=_length_us(state, state.group_spec(group)),
        account=place.account, fixed=place.fixed, **rest,
    )  # fmt: skip


def _length_us(state: State, spec: GroupSpec) -> int:
    """The longest of a gang's roles; 0 where one of them has no limit."""
    lengths = [length_us(state.specs[role.member_spec]) for role in spec.roles]
    return max(lengths, default=0) if all(lengths) else 0

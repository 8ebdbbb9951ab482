"""What a session is asked for members of a gang that runs: one start at a time, one kind each.

Members that a rule restarts come first, then lost ranks, then ranks that did not fit before; of the
last two as many as fit, of the first at least so many that their role has its minimum. They go
where the gang's required domain is, and nobody who runs is moved.
"""

from msgspec import Struct, structs

from xce.controller.core.fold.state import State
from xce.controller.core.gangs.standing import (
    GROWTH,
    REPAIR,
    RESTART,
    is_there,
    members_of,
    shared_claims,
)
from xce.model.group import Group, GroupSpec, RoleSpec
from xce.model.job import ClaimTemplate, Job
from xce.model.tables import LIVE_LAUNCH

Domain = tuple[str, str]
NOWHERE: Domain = ("", "")
HOST = "host"


class PartRole(Struct, frozen=True, gc=False, kw_only=True):
    """Members of one role that wait together: at least `min` of them, in `domain` (level, domain)
    where the role is bound to one; `claims` are to be made."""

    role: RoleSpec
    jobs: tuple[int, ...]
    min: int
    domain: Domain = NOWHERE
    claims: tuple[ClaimTemplate, ...] = ()


class Part(Struct, frozen=True, gc=False, kw_only=True):
    """A start of some members of a running gang, as it is asked for."""

    kind: str
    roles: tuple[PartRole, ...]
    domain: Domain
    claims: tuple[ClaimTemplate, ...]
    avoid: tuple[str, ...]


def kind_of(job: Job) -> str:
    """The kind of start that a PENDING member of a running gang waits for."""
    return job.awaits or GROWTH


def due_members(state: State, group: Group, now_us: int) -> list[Job]:
    """Members that wait for the gang's next start of some of them, in rank order; none while it
    is suspended."""
    waiting = state.index.gangs.waiting.get(group.number, {})
    if group.state != "RUNNING" or not waiting:
        return []
    if any(job.suspension != "ACTIVE" for job in members_of(state, group)):
        return []
    jobs = [state.jobs[key] for key in sorted(waiting)]
    due = [job for job in jobs if job.not_before_us <= now_us]
    for kind in (RESTART, REPAIR, GROWTH):
        found = [job for job in due if kind_of(job) == kind]
        if found:
            return found
    return []


def part_of(state: State, group: Group, now_us: int) -> Part | None:
    """What the gang asks for now; None when no member of it waits."""
    due = due_members(state, group, now_us)
    if not due:
        return None
    spec = state.group_spec(group)
    running = _hosts(state, group)
    anchored = _anchored(state, group, spec, due)
    roles = tuple(
        _role(state, group, role, [job for job in due if job.role == role.name], running)
        for role in spec.roles
        if any(job.role == role.name for job in due)
    )
    avoid = sorted({host for job in due for host in job.avoid})
    every = [host for hosts in running.values() for host in hosts]
    return Part(
        kind=kind_of(due[0]),
        roles=tuple(_pinned(one, anchored) for one in roles),
        domain=_domain(state, spec.topology.required, every),
        claims=anchored.again,
        avoid=tuple(avoid),
    )


def _hosts(state: State, group: Group) -> dict[str, list[str]]:
    """Hosts of what runs, by role, rank by rank."""
    found: dict[str, list[str]] = {}
    for job in members_of(state, group):
        hosts = found.setdefault(job.role, [])
        for number in job.launches if job.state in ("STARTING", "RUNNING") else ():
            launch = state.launches[number]
            if launch.state in LIVE_LAUNCH:
                hosts.append(launch.host)
    return found


def _role(
    state: State, group: Group, role: RoleSpec, jobs: list[Job], running: dict[str, list[str]]
) -> PartRole:
    asked = {job.key for job in jobs}
    mine = (job for job in members_of(state, group) if job.role == role.name)
    there = sum(is_there(job) for job in mine if job.key not in asked)
    known = {claim.name for claim in shared_claims(state, group) if claim.role == role.name}
    claims = (one for one in role.claims if one.scope == "member" or one.name not in known)
    return PartRole(
        role=role,
        jobs=tuple(sorted(asked)),
        min=min(max(0, role.min - there), len(jobs)),
        domain=_domain(state, role.topology.required, running[role.name]),
        claims=tuple(claims),
    )


def _domain(state: State, level: str, hosts: list[str]) -> Domain:
    """The domain at that level in which the hosts are."""
    if not level or not hosts:
        return NOWHERE
    if level == HOST:
        return (HOST, hosts[0])
    domain = dict(state.hosts[hosts[0]].facts.domains).get(level, "")
    return (level, domain) if domain else NOWHERE


class Anchored(Struct, frozen=True, gc=False):
    """The role whose rank 0 waits and has the gang's own claims with it, the host where they are,
    and which of them are made again because it does not go back there for certain."""

    role: str = ""
    host: str = ""
    again: tuple[ClaimTemplate, ...] = ()


def _anchored(state: State, group: Group, spec: GroupSpec, due: list[Job]) -> Anchored:
    """A gang's claim is where its rank 0 is; a plan that puts that elsewhere makes it again."""
    again, where = [], ("", "")
    for claim in shared_claims(state, group):
        if claim.role or not claim.attachments:
            continue
        template = next(one for one in spec.claims if one.name == claim.name)
        home = _home(spec, template)
        rank0 = next((job for job in due if job.role == home and job.rank == 0), None)
        host = state.attachments[claim.attachments[0]].host
        if rank0 is None:
            continue
        found = state.hosts[host]
        usable = found.liveness == "UP" and found.admin == "OPEN" and host not in rank0.avoid
        alone = sum(job.role == home for job in due) == 1
        if usable and alone and claim.state == "BOUND":
            where = (home, host)
        else:
            again.append(template)
    return Anchored(*(("", "") if again else where), tuple(again))


def _home(spec: GroupSpec, claim: ClaimTemplate) -> str:
    """The role by whose rank 0 a gang's claim is."""
    named = (role.name for role in spec.roles if role.ready.port == claim.name)
    return next(named, spec.roles[0].name)


def _pinned(part: PartRole, anchored: Anchored) -> PartRole:
    """The member with the gang's claims goes back to them."""
    if part.role.name != anchored.role:
        return part
    return structs.replace(part, domain=(HOST, anchored.host))


__all__ = ["Part", "PartRole", "due_members", "kind_of", "part_of"]

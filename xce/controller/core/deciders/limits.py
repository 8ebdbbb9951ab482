"""What a gang, a spec or a host must look like for sessions and agents to work with it.

A manifest's lint says what is wrong with its line; here is the last line of defence, for whatever
way something came: what is let into the log is decided on for ever. Amounts are columns of 64 bits
in a session; keys of instances join host, type and name by slashes.
"""

from collections.abc import Iterable

from xce.controller.core.commands import Rejection
from xce.dispatch.lease import shortest_us
from xce.model.config import SECOND_US, Config
from xce.model.group import GroupSpec, RoleSpec
from xce.model.host import HostFacts
from xce.model.job import ONCE, PER_HOST, PER_TASK, ClaimTemplate, Spec
from xce.model.resources import site_types
from xce.model.waiting.job_group import wrong_path
from xce.resreq.errors import ResreqError
from xce.resreq.options.bsub import BSUB
from xce.resreq.options.values import judge

GROUP_MEMBERS_MAX = 16_384
CLAIM_COUNT_MAX = 65_536
AMOUNT_MAX = 1 << 60
PORT_MAX = 65_535
UNDECLARED = ("static", "exec")
READY = ("started", "port", "done", "line", "probe")


def check_spec(config: Config, spec: Spec) -> Rejection | None:
    """What is wrong with how a job is to run, or None; its requirement is looked at elsewhere."""
    if spec.run not in (ONCE, PER_HOST, PER_TASK):
        return Rejection(
            code="invalid", message=f"run: {spec.run} is not one of once, host, task", field="run"
        )
    wrong = _wrong_claims(config, spec.claims)
    if wrong:
        return Rejection(code="invalid", message=wrong, field="claims")
    wrong = wrong_path(spec.job_group) if spec.job_group else ""
    if wrong:
        said = f"Bad job group name: {wrong}"
        return Rejection(code="invalid", message=said, field="job_group")
    wrong_exits = _wrong_exits(spec.requeue_exits)
    return wrong_exits or _check_lease(config, spec.stop_after_us, "stop_after")


def _check_lease(config: Config, stop_after_us: int, field: str) -> Rejection | None:
    """What is wrong with how long work runs on unanswered, or None."""
    least_us = shortest_us(config.suspect_after_us)
    if not stop_after_us or least_us <= stop_after_us <= AMOUNT_MAX:
        return None
    if stop_after_us > AMOUNT_MAX:
        return Rejection(code="invalid", message="stop_after is too long", field=field)
    return Rejection(
        code="invalid",
        message=f"stop_after must be at least {least_us / SECOND_US:g}s, twice suspect_after",
        field=field,
        hint="a host is heard that seldom at worst; leave it out and nothing is stopped",
    )


def _wrong_exits(text: str) -> Rejection | None:
    try:
        if text:
            judge(BSUB["-Q"], text)
    except ResreqError as error:
        return Rejection(
            code="invalid", message=f"Bad requeue exit values: {error.message}", hint=error.hint,
            field="requeue_exits", column=error.column, text=text,
        )  # fmt: skip
    return None


def wrong_times(spec: Spec, now_us: int) -> Rejection | None:
    """What is wrong with the moments of a job, or None. A begin time may be past: it is met."""
    end_us = spec.terminate_us
    if not end_us:
        return None
    if end_us <= now_us:
        message = "the termination time is past"
    elif end_us <= spec.begin_us:
        message = "the termination time is not after the begin time"
    else:
        return None
    return Rejection(
        code="invalid", message=f"Bad termination time: {message}", field="terminate_us"
    )


def check_gang(config: Config, spec: GroupSpec) -> Rejection | None:
    """What is wrong with a gang, or None."""
    members = sum(role.count for role in spec.roles)
    if not spec.roles:
        return Rejection(code="invalid", message="a gang needs at least one role", field="roles")
    if members > GROUP_MEMBERS_MAX:
        return Rejection(
            code="too_large",
            message=f"the gang has {members} members; a group has at most {GROUP_MEMBERS_MAX}",
            field="roles",
        )
    wrong = _wrong_claims(config, spec.claims)
    if wrong:
        return Rejection(code="invalid", message=wrong, field="claims")
    short = _check_lease(config, spec.stop_after_us, "silence.stop_after")
    if short is not None:
        return short
    names = [role.name for role in spec.roles]
    for role in spec.roles:
        wrong = _wrong_role(spec, role, names) or _wrong_claims(config, role.claims)
        if wrong:
            return Rejection(code="invalid", message=wrong, field=f"roles[{role.name}]")
    return _check_waves(spec)


def _wrong_role(spec: GroupSpec, role: RoleSpec, names: list[str]) -> str:
    if names.count(role.name) > 1:
        return f"two roles are named {role.name}"
    if not 1 <= role.min <= role.count:
        return f"role {role.name}: min must be from 1 to {role.count}, not {role.min}"
    unknown = [name for name in role.depends_on if name not in names]
    if unknown:
        return f"role {role.name} depends on {unknown[0]}, which is no role"
    if role.ready.kind not in READY:
        return f"role {role.name} is ready by {role.ready.kind}, which is no way to be ready"
    ports = [claim.name for claim in (*spec.claims, *role.claims) if claim.type == "port"]
    if role.ready.kind == "port" and role.ready.port not in ports:
        return f"role {role.name} is ready by {role.ready.port}, which is no port claim of it"
    return ""


def _wrong_claims(config: Config, claims: Iterable[ClaimTemplate]) -> str:
    """What is wrong with the claims of one scope, "" when nothing is."""
    types = site_types(config.types)
    seen: set[str] = set()
    for claim in claims:
        if claim.name in seen:
            return f"two claims are named {claim.name}"
        seen.add(claim.name)
        if not claim.use and claim.type not in types and claim.type not in UNDECLARED:
            return f"claim {claim.name}: there is no resource type {claim.type}"
        if not 1 <= claim.count <= CLAIM_COUNT_MAX:
            return f"claim {claim.name}: count must be from 1 to {CLAIM_COUNT_MAX}"
        if not 0 <= claim.size_bytes <= AMOUNT_MAX:
            return f"claim {claim.name}: size must be from 0 to {AMOUNT_MAX} bytes"
    return ""


def _check_waves(spec: GroupSpec) -> Rejection | None:
    """Roles that wait for each other in a ring would never be let go."""
    begun: set[str] = set()
    waiting = list(spec.roles)
    while waiting:
        free = [role.name for role in waiting if begun.issuperset(role.depends_on)]
        if not free:
            ring = ", ".join(role.name for role in waiting)
            return Rejection(
                code="invalid", message=f"roles {ring} depend on each other", field="roles"
            )
        begun.update(free)
        waiting = [role for role in waiting if role.name not in begun]
    return None


def wrong_facts(name: str, facts: HostFacts) -> str:
    """What is wrong with what a host says of itself, "" when nothing is."""
    if not name or "/" in name:
        return f"{name!r} is no name for a host"
    counters = [counter for counter, _ in facts.counters]
    if len(set(counters)) != len(counters):
        return "a counter is named twice"
    wrong = [counter for counter, amount in facts.counters if not 0 <= amount <= AMOUNT_MAX]
    if wrong:
        return f"counter {wrong[0]} must be from 0 to {AMOUNT_MAX}"
    low, high = facts.ports
    if (low, high) != (0, 0) and not 1 <= low <= high <= PORT_MAX:
        return f"ports {low} to {high} are no range of ports"
    keys = [(one.type, one.name) for one in facts.instances]
    if len(set(keys)) != len(keys):
        return "an instance is named twice"
    for type_, own in keys:
        if not type_ or not own or "/" in type_ or "/" in own or type_ == "port":
            return f"{type_}/{own} is no name for an instance"
    return ""

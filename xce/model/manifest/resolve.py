"""From a manifest that was checked to the group and its members, every default filled in.

Durations become microseconds, sizes bytes, lists tuples, mappings sorted pairs, so that equal
manifests resolve to equal values. What the controller alone can say stays open: the id, the hash
of a member's spec, the resolved form of its resreq. Nothing is checked here; `lint` did it.
"""

from typing import Any

from msgspec import Struct

from xce.model.config import SECOND_US, Config, RetryConfig
from xce.model.group import Backoff, FailureRule, GroupSpec, Readiness, RoleSpec
from xce.model.job import ClaimTemplate, Spec, Topology
from xce.model.manifest.rules import as_list, exit_ranges
from xce.model.units import parse_duration, parse_size

Document = dict[str, Any]
DEGRADED_GRACE_US = 600 * SECOND_US


class Origin(Struct, frozen=True, gc=False, kw_only=True):
    """Where a submission comes from: what its processes inherit. `environment` is the hash of
    the environment's blob."""

    cwd: str = "/"
    environment: str = ""
    user: str = ""
    gid: int = -1
    umask: int = 0o022


def group_of(document: Document, config: Config) -> GroupSpec:
    """The group, its roles without the hash of their members' spec."""
    success = document.get("success_policy", "all")
    backing = document.get("degraded", {})
    return GroupSpec(
        name=document["group"],
        queue=document.get("queue", ""),
        priority=int(document.get("priority", -1)),
        topology=_topology(document.get("topology", {})),
        placement_timeout_us=_duration_us(document, "placement_timeout", 0),
        barrier_timeout_us=_duration_us(document, "barrier_timeout", config.barrier_timeout_us),
        ready_timeout_us=_duration_us(document, "ready_timeout", config.ready_timeout_us),
        retries=_retries(document.get("start_retries", {}), config.start_retries),
        accumulate_us=_inner_us(document.get("reservation"), "accumulate"),
        stop_after_us=_inner_us(document.get("silence"), "stop_after"),
        repairs="degraded" in document,
        degraded_grace_us=_duration_us(backing, "grace", DEGRADED_GRACE_US),
        degraded_then=backing.get("then", "restart_group"),
        claims=tuple(_claim(claim, "group") for claim in document.get("claims", ())),
        roles=tuple(_role(role, document) for role in document["roles"]),
        failure_policy=tuple(_rule(rule) for rule in document.get("failure_policy", ())),
        success=success if isinstance(success, str) else "roles",
        success_roles=() if isinstance(success, str) else tuple(success["roles"]),
    )


def members_of(document: Document, group: GroupSpec, origin: Origin) -> tuple[Spec, ...]:
    """One spec per role, in the order of the roles."""
    return tuple(
        Spec(
            command=tuple(role["command"]),
            name=f"{group.name}.{role['name']}",
            cwd=origin.cwd,
            environment=origin.environment,
            env=tuple(sorted(role.get("env", {}).items())),
            tasks=int(role.get("tasks", 1)),
            run=role.get("run", "once"),
            resreq=role.get("resreq", ""),
            topology=spec.topology,
            claims=spec.claims,
            user=origin.user,
            gid=origin.gid,
            umask=origin.umask,
        )
        for role, spec in zip(document["roles"], group.roles, strict=True)
    )


def _role(role: Document, document: Document) -> RoleSpec:
    count = int(role.get("count", 1))
    return RoleSpec(
        name=role["name"],
        count=count,
        min=int(role.get("min", count)),
        spares=int(role.get("spares", 0)),
        depends_on=tuple(role.get("depends_on", ())),
        ready=_readiness(role.get("ready", {})),
        topology=_topology({**_preferred(document), **role.get("topology", {})}),
        claims=tuple(_claim(claim, "member") for claim in role.get("claims", ())),
    )


def _preferred(document: Document) -> Document:
    """What a role takes over from its group: it beats the group's key by key, but `required` of
    the group is about one domain for all roles and stays there."""
    return {k: v for k, v in document.get("topology", {}).items() if k != "required"}


def _readiness(ready: Document) -> Readiness:
    if "port" in ready:
        return Readiness(kind="port", port=ready["port"])
    if "line" in ready:
        return Readiness(kind="line", line=ready["line"])
    if "probe" in ready:
        every_us = _duration_us(ready, "every", Readiness().every_us)
        return Readiness(kind="probe", probe=tuple(ready["probe"]), every_us=every_us)
    return Readiness(kind="done" if "done" in ready else "started")


def _claim(claim: Document, scope: str) -> ClaimTemplate:
    size = claim.get("size")
    return ClaimTemplate(
        name=claim["name"],
        type=claim.get("type", ""),
        scope=claim.get("scope", scope),
        count=int(claim.get("count", 1)),
        size_bytes=0 if size is None else parse_size(str(size)),
        select=claim.get("select", ""),
        same=claim.get("same", ""),
        use=claim.get("use", ""),
        parameters=tuple(sorted(claim.get("parameters", {}).items())),
    )


def _rule(rule: Document) -> FailureRule:
    match = rule.get("match", {})
    backoff = rule.get("backoff", {})
    default = Backoff()
    return FailureRule(
        roles=tuple(as_list(match.get("role", []))),
        reasons=tuple(as_list(match.get("reason", []))),
        codes=exit_ranges(match["exit"]) if "exit" in match else (),
        signals=tuple(name.removeprefix("SIG") for name in as_list(match.get("signal", []))),
        action=rule["action"],
        max_times=int(rule.get("max", -1)),
        backoff=Backoff(
            first_us=_duration_us(backoff, "first", default.first_us),
            factor=int(backoff.get("factor", default.factor)),
            cap_us=_duration_us(backoff, "cap", default.cap_us),
        ),
        keep_us=_duration_us(rule, "keep_allocation", 0),
        avoid_host=rule.get("avoid_host", False),
    )


def _topology(topology: Document) -> Topology:
    return Topology(
        required=topology.get("required", ""),
        preferred=topology.get("preferred", ""),
        segment=int(topology.get("segment", 0)),
        balanced=bool(topology.get("balanced", False)),
        exclusive=bool(topology.get("exclusive", False)),
    )


def _retries(retries: Document, default: RetryConfig) -> RetryConfig:
    return RetryConfig(
        max=int(retries.get("max", default.max)),
        first_us=_duration_us(retries, "first", default.first_us),
        factor=int(retries.get("factor", default.factor)),
        cap_us=_duration_us(retries, "cap", default.cap_us),
    )


def _duration_us(holder: Document, key: str, default_us: int) -> int:
    return parse_duration(holder[key]) if key in holder else default_us


def _inner_us(value: Any, key: str) -> int:
    return parse_duration(value[key]) if isinstance(value, dict) else 0

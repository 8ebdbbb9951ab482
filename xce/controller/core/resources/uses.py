"""Who uses a resource type: what stands in the way of taking it away or changing what it means.

Uses are found in the requirements of work that has not ended, in claims and their templates, in
what hosts have, in pools, queues, application profiles and other types. A word in an expression
counts as a use of the type of that name, also where it might be a value: refusing once too often
does no harm.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from xce.controller.core.fold.state import State
from xce.model.config import Config
from xce.model.ids import claim_text, group_text, job_text
from xce.model.job import ClaimTemplate, Spec
from xce.model.tables import ENDED_GROUP, ENDED_JOB

_WORD = re.compile(r"[A-Za-z_]\w*")
SHOWN = 3


def words_of(value: Any) -> Iterator[str]:
    """Every word in the texts of a value, however deep."""
    if isinstance(value, str):
        yield from _WORD.findall(value)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from words_of(getattr(value, name))
    elif isinstance(value, tuple):
        for part in value:
            yield from words_of(part)


def users_of(state: State, name: str) -> list[str]:
    """Who uses the type, in words for people, a few of each sort."""
    found: list[str] = []
    for users in (
        _jobs(state, name),
        _groups(state, name),
        _claims(state, name),
        _hosts(state, name),
        _config(state.config, name),
    ):
        found.extend(islice(users, SHOWN))
    return found


def _jobs(state: State, name: str) -> Iterator[str]:
    asking = {key for key, spec in state.specs.items() if _asks(spec, name)}
    for key, job in sorted(state.jobs.items()):
        if job.spec in asking and job.state not in ENDED_JOB:
            yield f"job {job_text(key)}"


def _asks(spec: Spec, name: str) -> bool:
    return name in words_of(spec.need) or _templates(spec.claims, name)


def _templates(claims: tuple[ClaimTemplate, ...], name: str) -> bool:
    return any(claim.type == name for claim in claims)


def _groups(state: State, name: str) -> Iterator[str]:
    for number, group in sorted(state.groups.items()):
        if group.state in ENDED_GROUP:
            continue
        spec = state.group_spec(group)
        if _templates(spec.claims, name) or any(
            _templates(role.claims, name) for role in spec.roles
        ):
            yield f"group {group_text(number)}"


def _claims(state: State, name: str) -> Iterator[str]:
    for number, claim in sorted(state.claims.items()):
        types = {claim.type, *(one.type for one in claim.requests)}
        if name in types and claim.state != "RELEASED":
            yield f"claim {claim_text(number)}"


def _hosts(state: State, name: str) -> Iterator[str]:
    for host in sorted(state.hosts):
        facts = state.hosts[host].facts
        has = any(name == own for own, _ in (*facts.counters, *facts.attributes))
        if state.hosts[host].liveness != "GONE" and has:
            yield f"host {host} (it has some)"
    for key, instance in sorted(state.instances.items()):
        if instance.type == name and instance.state != "GONE":
            yield f"instance {key}"


def _config(config: Config, name: str) -> Iterator[str]:
    for pool in config.pools:
        if pool.type == name:
            yield f"pool {name}@{pool.label}"
    for queue in config.queues:
        if name in words_of(queue.default_resreq):
            yield f"queue {queue.name}"
    for application in config.applications:
        if name in words_of(application.resreq):
            yield f"application profile {application.name}"
    for own in config.types:
        if own.draws_on == name:
            yield f"type {own.name}"
    if name in config.observe:
        yield "the policy observe"

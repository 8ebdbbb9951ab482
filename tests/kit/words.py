"""Submissions in few words, for tests of the core: jobs, roles, gangs, hosts.

What is not said is as plain as it can be: one task, one slot, no back-off longer than ten seconds.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from xce.controller.core.commands import SubmitGroup, SubmitJob
from xce.model.actor import ADMIN, HOST, OPERATOR, USER, Actor
from xce.model.config import SECOND_US, Config, QueueConfig, RetryConfig
from xce.model.group import FailureRule, GroupSpec, RoleSpec
from xce.model.host import HostFacts, InstanceFacts
from xce.model.job import ClaimTemplate, Spec
from xce.model.waiting.array import runs_text

GB = 1 << 30
ANNA = Actor(kind=USER, uid=1000)
BERT = Actor(kind=USER, uid=1001)
BOSS = Actor(kind=ADMIN, uid=500)
OPS = Actor(kind=OPERATOR, uid=501)
SETTINGS = Config(
    cluster="test",
    levels=("host", "nvlink", "block"),
    queues=(
        QueueConfig(name="normal"),
        QueueConfig(name="night", priority=20),
        QueueConfig(name="shut", open=False),
    ),
    start_retries=RetryConfig(max=2, first_us=10 * SECOND_US, factor=2, cap_us=300 * SECOND_US),
)


def host_actor(name: str) -> Actor:
    """A host, as it speaks for itself."""
    return Actor(kind=HOST, name=name)


def machine(
    slots: int = 8,
    gpus: int = 0,
    mem: int = 64 * GB,
    domains: dict[str, str] | None = None,
    ports: tuple[int, int] = (20000, 20007),
) -> HostFacts:
    """What a host says of itself."""
    counters = {"slots": slots, "mem": mem, "scratch": 100 * GB}
    return HostFacts(
        counters=tuple(sorted(counters.items())),
        domains=tuple(sorted((domains or {}).items())),
        instances=tuple(InstanceFacts(type="gpu", name=f"GPU-{bit}") for bit in range(gpus)),
        ports=ports,
    )


_OF_COMMAND = ("queue", "held", "priority", "request", "after", "array", "indices", "array_limit")


def job(tasks: int = 1, resreq: str = "", actor: Actor = ANNA, **rest: Any) -> SubmitJob:
    """A plain job; `rest` goes to the spec, but for what is of the command itself."""
    own = {name: rest.pop(name) for name in _OF_COMMAND if name in rest}
    spec = Spec(command=("work",), tasks=tasks, resreq=resreq, **rest)
    return SubmitJob(actor=actor, spec=spec, **own)


def array(*runs: tuple[int, int, int], limit: int = 0, **rest: Any) -> SubmitJob:
    """An array of these runs (first, last, step)."""
    return job(array=runs_text(runs), indices=runs, array_limit=limit, **rest)


def gpus(count: int) -> ClaimTemplate:
    """A claim of GPUs for each member."""
    return ClaimTemplate(name="gpus", type="gpu", count=count)


def port(name: str = "rendezvous", scope: str = "group") -> ClaimTemplate:
    """A port, made usable by a provider."""
    return ClaimTemplate(name=name, type="port", scope=scope)


def role(name: str, count: int, **rest: Any) -> tuple[RoleSpec, Spec]:
    """A role and its members' spec; `tasks resreq run` go to the spec, the rest to the role."""
    own = {key: rest.pop(key) for key in ("tasks", "resreq", "run") if key in rest}
    rest.setdefault("min", count)
    return RoleSpec(name=name, count=count, **rest), Spec(command=("work", name), **own)


def gang(
    *roles: tuple[RoleSpec, Spec],
    name: str = "gang",
    actor: Actor = ANNA,
    rules: Sequence[FailureRule] = (),
    retries: RetryConfig | None = None,
    **rest: Any,
) -> SubmitGroup:
    """A gang; `rest` goes to its manifest."""
    spec = GroupSpec(
        name=name,
        roles=tuple(one for one, _ in roles),
        failure_policy=tuple(rules),
        retries=retries or SETTINGS.start_retries,
        **rest,
    )
    return SubmitGroup(actor=actor, spec=spec, member_specs=tuple(own for _, own in roles))


def settings(**changes: Any) -> Config:
    """The usual settings with some of them changed."""
    return structs.replace(SETTINGS, **changes)

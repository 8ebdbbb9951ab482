"""Random gangs."""

import random

from tests.kit.words import GB, gang, gpus, port, role
from xce.controller.core import commands as c
from xce.model.actor import Actor
from xce.model.config import SECOND_US, RetryConfig
from xce.model.group import Backoff, FailureRule, Readiness
from xce.model.job import ClaimTemplate

MINUTE_US = 60 * SECOND_US
ACTIONS = ("restart_group", "restart_role", "restart_member", "requeue", "tolerate")
LEASES_US = (0, 0, 30 * SECOND_US, 40 * SECOND_US)


def some_gang(chance: random.Random, gpu_count: int, actor: Actor) -> c.SubmitGroup:
    """A launcher and a few workers, with whatever a manifest may say."""
    claims: tuple[ClaimTemplate, ...] = ()
    if gpu_count and chance.random() < 0.6:
        claims = (gpus(chance.choice((1, 2))),)
    if chance.random() < 0.4:
        claims += (ClaimTemplate(name="scratch", type="directory", size_bytes=GB),)
    ready = chance.choice(
        (Readiness(), Readiness(kind="done"), Readiness(kind="port", port="rendezvous"))
    )
    count = chance.choice((1, 2, 3))
    roles = [
        role("launcher", 1, ready=ready),
        role(
            "worker",
            count,
            min=chance.randint(1, count),
            tasks=chance.choice((1, 2)),
            claims=claims,
            depends_on=("launcher",) if chance.random() < 0.5 else (),
            run=chance.choice(("once", "task", "host")),
        ),
    ]
    rules = (
        FailureRule(
            reasons=("host_lost",),
            action=chance.choice(ACTIONS),
            backoff=Backoff(first_us=SECOND_US),
            avoid_host=chance.random() < 0.2,
            max_times=chance.choice((-1, 3)),
        ),
        FailureRule(
            codes=((1, 1),),
            action=chance.choice(ACTIONS),
            max_times=2,
            backoff=Backoff(first_us=chance.choice((0, SECOND_US))),
        ),
        FailureRule(codes=((3, 3),), action="tolerate", max_times=chance.choice((-1, 1))),
        FailureRule(reasons=("not_ready",), action=chance.choice(ACTIONS), max_times=2),
    )
    return gang(
        *roles,
        actor=actor,
        rules=rules[: chance.choice((0, 3, 4))],
        claims=(port(),),
        repairs=chance.random() < 0.5,
        degraded_grace_us=chance.choice((5 * SECOND_US, MINUTE_US)),
        degraded_then=chance.choice(("restart_group", "fail_group")),
        stop_after_us=chance.choice(LEASES_US),
        retries=RetryConfig(max=3, first_us=SECOND_US, factor=2, cap_us=5 * SECOND_US),
        placement_timeout_us=chance.choice((0, 0, 5 * MINUTE_US)),
        ready_timeout_us=chance.choice((300 * SECOND_US, 2 * SECOND_US)),
        barrier_timeout_us=chance.choice((60 * SECOND_US, SECOND_US)),
    )

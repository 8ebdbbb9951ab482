"""Standalone claims in few words, for tests of the core."""

from typing import Any

from tests.kit.words import ANNA
from tests.kit.world import World
from xce.controller.core import commands as c
from xce.controller.core.decide import Outcome
from xce.model.actor import Actor
from xce.model.start import Claim
from xce.model.waiting.claim import ClaimRequest


def make(
    name: str,
    type_: str = "gpu",
    count: int = 1,
    amount: int = 0,
    select: str = "",
    actor: Actor = ANNA,
    **rest: Any,
) -> c.CreateClaim:
    """A claim of one request."""
    request = ClaimRequest(type=type_, count=count, amount=amount, select=select)
    return c.CreateClaim(actor=actor, name=name, requests=(request,), **rest)


def renew(number: int, actor: Actor = ANNA, **rest: Any) -> c.RenewClaim:
    """Another end of a lease."""
    return c.RenewClaim(actor=actor, claim=number, **rest)


def end(number: int, how: str = "release", actor: Actor = ANNA, **rest: Any) -> c.EndClaim:
    """A claim is given back, or deleted."""
    return c.EndClaim(actor=actor, claim=number, how=how, **rest)


def ask(world: World, command: c.Command) -> dict[str, Any]:
    """The answer to a command that is taken."""
    answer = world.ask(command)
    assert isinstance(answer, Outcome), answer
    return answer.body


def refused(world: World, command: c.Command) -> c.Rejection:
    """The refusal of a command."""
    answer = world.ask(command)
    assert isinstance(answer, c.Rejection), answer
    return answer


def claim(world: World, number: int) -> Claim:
    """A claim as it is now."""
    return world.state.claims[number]


def held(world: World, number: int) -> list[str]:
    """The instances that a claim holds, sorted."""
    return sorted(one.instance for one in claim(world, number).holdings if one.instance)

"""Standalone claims by chance, for random worlds."""

import random
from typing import TYPE_CHECKING

from tests.core.standalone.words import end, make, renew
from tests.kit.words import ANNA, BERT, GB, OPS
from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.model.config import SECOND_US
from xce.model.job import ClaimTemplate

if TYPE_CHECKING:
    from tests.core.walk import Walk


def some_claim(walk: "Walk") -> c.Command:
    """Somebody makes a claim, renews one, or is done with one."""
    chance, state = walk.chance, walk.world.state
    known = [key for key, one in state.claims.items() if one.stands_alone]
    if known and chance.random() < 0.5:
        number = chance.choice(known)
        lease_us = chance.choice((1, 30, 300)) * SECOND_US
        return chance.choice(
            (
                renew(number, actor=OPS, lease_us=lease_us),
                end(number, "release", actor=OPS),
                end(number, "delete", actor=OPS),
            )
        )
    type_ = chance.choice(("gpu", "gpu", "mem", "directory", "port"))
    amount = GB if type_ in ("mem", "directory") else 0
    return make(
        chance.choice("abcdef"),
        type_,
        count=1 if amount else chance.randint(1, 3),
        amount=amount,
        actor=chance.choice((ANNA, BERT)),
        island=chance.choice(("", "", "host")),
        waits=chance.random() < 0.5,
        lease_us=chance.choice((0, 5, 60, 600)) * SECOND_US,
        on_expiry=chance.choice(("wait", "stop")),
    )


def some_use(chance: random.Random, state: State, owner: int) -> tuple[ClaimTemplate, ...]:
    """Perhaps a use of a claim of the owner's."""
    names = sorted(state.index.claims.names.get(owner, ()))
    if not names or chance.random() < 0.6:
        return ()
    return (ClaimTemplate(name="used", use=chance.choice(names)),)


def delete_all(walk: "Walk") -> None:
    """Everybody is done with all claims."""
    for key, one in sorted(walk.world.state.claims.items()):
        if one.stands_alone and one.state != "RELEASED":
            walk._ask(end(key, "delete", actor=OPS))

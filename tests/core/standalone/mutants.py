"""Planted mistakes about standalone claims. Where no test is named, the history of what claimants
were told finds it (`tests/claims`)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import structs

from tests.core.swapped import swapped
from xce.controller.core.claims import decide, due
from xce.controller.core.fold import apply as folding
from xce.controller.core.life import relations
from xce.controller.core.life.draft import Draft


@contextmanager
def generations_are_reused() -> Iterator[None]:
    """Every claim that stands alone has the generation 1."""
    own = folding._CREATE["ClaimCreated"]

    def create(state: Any, record: Any, body: Any) -> None:
        own(state, record, body)
        made = state.claims[body.claim]
        if made.generation:
            state.put("claim", body.claim, structs.replace(made, generation=1))

    answered = decide.create_claim

    def told(draft: Draft, command: Any) -> Any:
        result = answered(draft, command)
        if isinstance(result, tuple) and "generation" in result[0]:
            result[0]["generation"] = 1
        return result

    folding._CREATE["ClaimCreated"] = create
    from xce.controller.core import decide as deciding

    kept = deciding._DECIDERS[type_of_create()]
    deciding._DECIDERS[type_of_create()] = told
    try:
        yield
    finally:
        folding._CREATE["ClaimCreated"] = own
        deciding._DECIDERS[type_of_create()] = kept


def type_of_create() -> type:
    from xce.controller.core.commands import CreateClaim

    return CreateClaim


@contextmanager
def expiry_frees_at_once() -> Iterator[None]:
    """What a lease held is free at its end, whoever uses it."""
    with (
        swapped(decide, "live_launches", lambda state, number: []),
        swapped(relations, "live_launches", lambda state, number: []),
    ):
        yield


@contextmanager
def leases_end_early() -> Iterator[None]:
    """A lease ends up to a second before its holder stops to believe in it."""
    own = due.lease_due

    def early(draft: Draft, number: int) -> None:
        now_us, draft.now_us = draft.now_us, draft.now_us + 5_000_000
        own(draft, number)
        draft.now_us = now_us

    from xce.controller.core.deciders import clock
    from xce.controller.core.fold.timers import Timers

    taken = Timers.set

    def sooner(self: Timers, at_us: int, what: str, key: int) -> None:
        taken(self, at_us - 5_000_000 if what == "claim" else at_us, what, key)

    with swapped(clock, "lease_due", early), swapped(Timers, "set", sooner):
        yield


@contextmanager
def a_renewal_is_told_before_it_is_written() -> Iterator[None]:
    """A renewal is answered, and nothing is written down."""
    own = Draft.patch

    def patch(self: Draft, what: str, key: Any, **fields: Any) -> None:
        if not (what == "claim" and "until_us" in fields):
            own(self, what, key, **fields)

    with swapped(Draft, "patch", patch):
        yield


@contextmanager
def deletion_waits_for_nobody() -> Iterator[None]:
    """A claim is released while jobs use it."""
    with expiry_frees_at_once():
        yield


Mutant = Callable[[], Any]
STANDALONE: dict[str, tuple[Mutant, str]] = {
    "the generation of a claim is used again": (generations_are_reused, ""),
    "leases end early": (leases_end_early, ""),
    "a renewal is told and not written": (a_renewal_is_told_before_it_is_written, ""),
    "an expiry frees at once": (
        expiry_frees_at_once,
        "standalone.leases.consumers_may_end_by_themselves_and_only_then_it_is_free",
    ),
    "deletion waits for nobody": (
        deletion_waits_for_nobody,
        "standalone.using.deletion_waits_for_the_last_consumer_and_takes_no_new_one",
    ),
}

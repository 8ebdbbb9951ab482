"""Planted mistakes about silence and death; `mutants` has the rest and says how they are named."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import structs

from tests.core.swapped import swapped
from tests.kit.agents import SimAgent
from xce.controller.core import decide
from xce.controller.core.commands import HostFenced
from xce.controller.core.deciders import losses
from xce.controller.core.deciders import plan as decide_plan
from xce.controller.core.life import leases, missing
from xce.controller.core.life.draft import Draft


@contextmanager
def the_controller_waits_less() -> Iterator[None]:
    """It counts the lease alone, and not how long the host takes to stop what it has."""
    with swapped(leases, "patience_us", lambda lease_us, grace_us: lease_us):
        yield


@contextmanager
def a_lease_counts_from_the_answer() -> Iterator[None]:
    """The host renews when it hears, not from when it asked."""

    def renew(self: SimAgent, sent_us: int) -> None:
        self.renewed_us = self.world.now_us

    with swapped(SimAgent, "renew", renew):
        yield


@contextmanager
def a_lease_is_taken_for_kept() -> Iterator[None]:
    """Nobody asks whether a host can keep a lease."""

    def yes(*asked: Any) -> bool:
        return True

    with swapped(missing, "keeps_lease", yes), swapped(decide_plan, "keeps_lease", yes):
        yield


@contextmanager
def a_yes_is_of_any_silence() -> Iterator[None]:
    """A hook's yes counts whenever the host is DOWN."""
    own = losses.host_fenced

    def fenced(one: Draft, command: Any) -> Any:
        host = one.state.hosts[command.host]
        now = {"incarnation": host.incarnation, "down_us": host.changed_us}
        return own(one, structs.replace(command, **now))

    table = decide.__dict__["_DECIDERS"]
    table[HostFenced] = fenced
    try:
        yield
    finally:
        table[HostFenced] = own


SILENCE: dict[str, tuple[Callable[[], Any], str]] = {
    "the controller waits less than the host": (
        the_controller_waits_less,
        "leases.not_one_microsecond_before_its_time",
    ),
    "a lease counts from the answer": (
        a_lease_counts_from_the_answer,
        "leases.an_answer_that_comes_late_renews_from_when_the_poll_was_sent",
    ),
    "a lease is taken for kept": (
        a_lease_is_taken_for_kept,
        "leases.a_host_of_before_that_keeps_no_lease_is_not_let_go",
    ),
    "a yes is of any silence": (
        a_yes_is_of_any_silence,
        "fencing.it_counts_for_the_silence_it_was_asked_about_alone",
    ),
}

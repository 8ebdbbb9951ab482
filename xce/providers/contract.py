"""What a provider is.

`discover` lists what the host has, `provision` makes a claim usable and returns the value that
processes see, `release` undoes it, `check` says whether it still stands. All are idempotent: they
may be asked again after any crash. They run in an agent's process, in a thread of their own, at
most one call per attachment at a time, and are given up after `limit_s`. A call that waits looks at
`request.is_cancelled` (or waits on it): it is set when the attachment is wanted gone.

A provider knows nothing of journals, orders or the controller. A failure is `ProviderFailed` with
a text for the user.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from xce.model.host import InstanceFacts


class ProviderFailed(Exception):
    """The claim cannot be made usable (or given back); the text says why."""


@dataclass(frozen=True)
class Request:
    """One attachment to be made or undone. `limit_s` in the parameters shortens the time."""

    attachment: int
    claim: int
    generation: int
    name: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    uid: int = -1
    cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def is_cancelled(self) -> bool:
        """Whether the attachment is wanted gone meanwhile."""
        return self.cancelled.is_set()


@dataclass(frozen=True)
class Place:
    """Where providers work: the host's scratch folder and the address others reach it by."""

    scratch: str
    address: str = "127.0.0.1"


class Provider:
    """A provider with nothing to do; real ones override what they need."""

    name = ""
    limit_s = 30.0

    def discover(self) -> tuple[InstanceFacts, ...]:
        """The instances of this provider's type on this host."""
        return ()

    def provision(self, request: Request) -> str:
        """Make the claim usable; the value that processes see."""
        raise ProviderFailed(f"provider {self.name} cannot provision")

    def release(self, request: Request) -> None:
        """Undo `provision`, also one that was never finished."""

    def check(self, request: Request) -> str:
        """The value while the attachment stands; ProviderFailed when it does not."""
        return self.provision(request)

    def clean(self, known: Iterable[tuple[int, int]]) -> None:
        """Remove what belongs to no known (claim, generation); called at the agent's start."""

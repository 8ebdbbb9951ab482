"""What simulated launches and providers are going to do, and how far they are on their host."""

from dataclasses import dataclass, field
from typing import Any

from xce.dispatch import protocol as p


@dataclass(frozen=True)
class Life:
    """What a launch does. `prepare`: ok, fail, bad (its own fault) or hang; `run_us` None runs
    until it is stopped."""

    prepare: str = "ok"
    prepare_us: int = 2_000
    run_us: int | None = 1_000_000
    code: int = 0
    signal: int = 0
    ready_us: int = 100_000
    kill_us: int = 5_000


@dataclass(frozen=True)
class Provision:
    """What a provider does with a claim: ok, fail or hang."""

    how: str = "ok"
    after_us: int = 3_000
    release: str = "ok"
    message: str = "the provider said no"


@dataclass
class LaunchHere:
    """A launch as the host knows it."""

    number: int
    generation: int
    phase: str = "new"
    level: int = 0
    task: p.Task | None = None
    life: Life = field(default_factory=Life)
    attempt: int = 0
    started_us: int = 0
    outcome: dict[str, Any] | None = None
    freeze: int = 0
    ends_us: int = 0
    left_us: int = 0
    frozen_us: int = 0
    stopped_us: int = 0

    @property
    def is_frozen(self) -> bool:
        """Whether its processes are there and none of them runs."""
        return self.phase == "running" and self.freeze % 2 == 1


@dataclass
class AttachmentHere:
    """An attachment as the host knows it."""

    order: p.AttachmentOrder
    phase: str = "new"
    level: int = 0
    value: str = ""

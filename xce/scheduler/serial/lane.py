"""What a session learns of each class while it runs: asks of one class stand in one lane."""

from xce.scheduler.place.classes import Choice, Compiled
from xce.scheduler.reasons import PendReason
from xce.scheduler.serial.quick import Quick
from xce.scheduler.snapshot import Ask


class Waiting:
    """A blocked class while the session runs: its reason, first ask and number of asks."""

    def __init__(self, why: PendReason, first: str) -> None:
        self.why = why
        self.first = first
        self.count = 0


class Lane:
    """What a session has learnt of a class: what its choices come down to, and whether it is
    blocked, by the number of choices that were open."""

    def __init__(self, ask: Ask) -> None:
        self.job_group = ask.job_group
        self.timed = ask.length_us > 0
        self.changes = any(role.need.others for role in ask.roles)
        self.compiled: dict[Choice, Compiled] = {}
        self.blocked: dict[int, Waiting] = {}
        self.stopped: Waiting | None = None
        self.quick: Quick | None = None
        self.limits = ask.limits
        self.least: dict[str, int] = {}
        self.sizes: dict[int, Lane] = {}

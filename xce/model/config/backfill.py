"""How the session treats what does not fit now: who reserves, how far backfill looks, who gives
way to whom."""

from msgspec import Struct

from xce.model.config.timing import SECOND_US

BACKFILL_POLICIES = ("none", "easy", "conservative", "strict")


class BackfillConfig(Struct, frozen=True, gc=False, kw_only=True):
    """For queues that say nothing else: `policy`, how many of the blocked ones reserve (`depth`, 0
    is the policy's own: 1 for easy, 100 for conservative), how many asks are looked at behind
    the first blocked one (`look`), and how long a reservation that is due waits for its holder
    to begin (`patience_us`)."""

    policy: str = "easy"
    depth: int = 0
    look: int = 1_000
    patience_us: int = 600 * SECOND_US


REQUEUE, SUSPEND, CHECKPOINT = PREEMPT_ACTIONS = ("requeue", "suspend", "checkpoint")


class PreemptionConfig(Struct, frozen=True, gc=False, kw_only=True):
    """How work gives way: `action` is what becomes of it; nothing does within `min_run_us` of its
    start, nor more than `times_max` times. With checkpoint it first gets `signal` and has
    `grace_us` to save itself. What it gave up is kept `patience_us` for whom it gave way to."""

    action: str = REQUEUE
    min_run_us: int = 60 * SECOND_US
    times_max: int = 3
    signal: str = "SIGUSR2"
    grace_us: int = 60 * SECOND_US
    patience_us: int = 120 * SECOND_US

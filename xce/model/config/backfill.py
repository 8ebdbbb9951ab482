"""How the session treats what does not fit now: who reserves, how far backfill looks."""

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

"""The time policy of each queue, as a session wants it."""

from collections.abc import Mapping

from xce.model.config import Config
from xce.scheduler.time.terms import CONSERVATIVE, EASY, STRICT, TimePolicy

DEPTHS = {EASY: 1, CONSERVATIVE: 100}


def time_policies(config: Config) -> Mapping[str, TimePolicy]:
    """By queue; "" is the cluster's, which queues with nothing of their own share."""
    site = config.backfill
    found = {"": _policy(site.policy, site.depth, site.look, "")}
    for queue in config.queues:
        if queue.backfill or queue.backfill_depth:
            policy = queue.backfill or site.policy
            depth = queue.backfill_depth or (site.depth if policy == site.policy else 0)
            found[queue.name] = _policy(policy, depth, site.look, queue.name)
    return found


def sees_all(config: Config) -> bool:
    """Whether a session must see all that waits: where several reserve, or nobody may overtake,
    what is known to wait counts, too."""
    found = time_policies(config).values()
    return any(one.policy == STRICT or one.depth > 1 for one in found)


def _policy(policy: str, depth: int, look: int, scope: str) -> TimePolicy:
    depth = depth or DEPTHS.get(policy, 0)
    return TimePolicy(policy=policy, depth=depth, look=look, scope=scope)

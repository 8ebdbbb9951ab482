"""The configuration: what `xce.toml` says, as frozen values that records carry.

`queue.py` has queues and application profiles, `shares.py` user groups and share trees,
`limits.py` who may have how much, `types.py` resource types and pools, `timing.py` durations and
how retries grow, `dependencies.py` what becomes of dependencies, `fencing.py` the hook that is
asked about silent hosts, `claims.py` how much claims may hold, `site.py` the whole. A field that
has a default folds old logs.
"""

from xce.model.config.backfill import (
    BACKFILL_POLICIES,
    PREEMPT_ACTIONS,
    BackfillConfig,
    PreemptionConfig,
)
from xce.model.config.claims import ClaimsConfig
from xce.model.config.dependencies import DependencyConfig
from xce.model.config.fencing import FencingConfig
from xce.model.config.limits import LimitConfig, UserConfig
from xce.model.config.queue import ApplicationConfig, QueueConfig
from xce.model.config.shares import ShareTree, UserGroup
from xce.model.config.site import Config
from xce.model.config.timing import SECOND_US, RetryConfig, grown_us
from xce.model.config.types import PoolConfig, TypeConfig

__all__ = [
    "BACKFILL_POLICIES",
    "PREEMPT_ACTIONS",
    "SECOND_US",
    "BackfillConfig",
    "ApplicationConfig",
    "ClaimsConfig",
    "Config",
    "DependencyConfig",
    "FencingConfig",
    "LimitConfig",
    "PoolConfig",
    "PreemptionConfig",
    "QueueConfig",
    "RetryConfig",
    "ShareTree",
    "TypeConfig",
    "UserConfig",
    "UserGroup",
    "grown_us",
]

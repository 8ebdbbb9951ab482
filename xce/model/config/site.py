"""Everything that decisions read from the site's settings, as the log holds it.

`xce.toml` is imported as a `ConfigLoaded` record; from then on the log wins. All durations are
microseconds. Emulated hosts (`[emulate]`) are not part of it: they say how `xce up` starts
agents, not what the controller decides.
"""

from msgspec import Struct

from xce.model.config.backfill import BackfillConfig, PreemptionConfig
from xce.model.config.claims import ClaimsConfig
from xce.model.config.dependencies import DependencyConfig
from xce.model.config.fencing import FencingConfig
from xce.model.config.limits import LimitConfig, UserConfig, limits_of_queue, limits_of_user
from xce.model.config.queue import ApplicationConfig, QueueConfig
from xce.model.config.shares import ShareTree, UserGroup
from xce.model.config.timing import SECOND_US, RetryConfig
from xce.model.config.types import PoolConfig, TypeConfig


class Config(Struct, frozen=True, gc=False, kw_only=True):
    """Everything that decisions read from the site's settings. `types_removed` names types of the
    file that were taken away at run time; `observe` the reported values that ticks always carry;
    `tick_interval_us` 0 means no ticks. Pending work's priority grows by `age_add` every
    `age_every_us`; users ask for at most `priority_max` (0: as much as they like)."""

    cluster: str = "cluster"
    levels: tuple[str, ...] = ("host",)
    queues: tuple[QueueConfig, ...] = (QueueConfig(name="normal", description="the default queue"),)
    default_queue: str = "normal"
    applications: tuple[ApplicationConfig, ...] = ()
    order: tuple[str, ...] = ("fairshare", "priority", "fcfs")
    age_add: int = 0
    age_every_us: int = 60 * SECOND_US
    priority_max: int = 0
    user_groups: tuple[UserGroup, ...] = ()
    share_trees: tuple[ShareTree, ...] = ()
    limits: tuple[LimitConfig, ...] = ()
    users: tuple[UserConfig, ...] = ()
    types: tuple[TypeConfig, ...] = ()
    pools: tuple[PoolConfig, ...] = ()
    types_removed: tuple[str, ...] = ()
    observe: tuple[str, ...] = ()
    operators: tuple[int, ...] = ()
    allow_root: bool = False
    suspect_after_us: int = 15 * SECOND_US
    host_grace_us: int = 60 * SECOND_US
    barrier_timeout_us: int = 60 * SECOND_US
    ready_timeout_us: int = 300 * SECOND_US
    kill_grace_us: int = 10 * SECOND_US
    unkillable_after_us: int = 30 * SECOND_US
    clean_period_us: int = 3600 * SECOND_US
    failure_window_us: int = SECOND_US
    start_retries: RetryConfig = RetryConfig()
    priority_default: int = 50
    array_size_max: int = 1_000_000
    refuse_never_fits: bool = False
    tick_interval_us: int = 5 * SECOND_US
    dependencies: DependencyConfig = DependencyConfig()
    fencing: FencingConfig = FencingConfig()
    backfill: BackfillConfig = BackfillConfig()
    preemption: PreemptionConfig = PreemptionConfig()
    claims: ClaimsConfig = ClaimsConfig()

    def all_limits(self) -> tuple[LimitConfig, ...]:
        """The limits, with those that queues and users are given in their own tables."""
        named = tuple(
            f"@{user.who[:-1]}" if user.who[-1:] == "@" else user.who for user in self.users
        )
        ofqueues = [one for queue in self.queues for one in limits_of_queue(queue)]
        ofusers = [one for user in self.users for one in limits_of_user(user, named)]
        return (*self.limits, *ofqueues, *ofusers)

    def queue(self, name: str) -> QueueConfig | None:
        """The queue of that name."""
        return next((queue for queue in self.queues if queue.name == name), None)

    def application(self, name: str) -> ApplicationConfig | None:
        """The application profile of that name."""
        return next((one for one in self.applications if one.name == name), None)

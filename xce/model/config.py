"""The configuration as the log holds it: queues, topology levels, types and timing defaults.

`xce.toml` is imported as a `ConfigLoaded` record; from then on the log wins. All durations are
microseconds. Emulated hosts (`[emulate]`) are not part of it: they say how `xce up` starts
agents, not what the controller decides.
"""

from msgspec import Struct

SECOND_US = 1_000_000


class QueueConfig(Struct, frozen=True, gc=False, kw_only=True):
    """A queue: larger priority goes first. `open` takes submissions, `active` dispatches."""

    name: str
    priority: int = 30
    description: str = ""
    open: bool = True
    active: bool = True
    default_resreq: str = ""


class ApplicationConfig(Struct, frozen=True, gc=False, kw_only=True):
    """An application profile: `resreq` counts for jobs that name it, under the job's own and over
    the queue's."""

    name: str
    description: str = ""
    resreq: str = ""


def grown_us(first_us: int, factor: int, cap_us: int, times: int) -> int:
    """A delay that grew `times` times by `factor`, at most `cap_us`."""
    return min(cap_us, first_us * int(factor ** min(max(times, 0), 40)))


class RetryConfig(Struct, frozen=True, gc=False, kw_only=True):
    """How often and when a failed or broken start is tried again."""

    max: int = 5
    first_us: int = 10 * SECOND_US
    factor: int = 2
    cap_us: int = 300 * SECOND_US

    def delay_us(self, failures: int) -> int:
        """How long to wait after the `failures`-th failure (1-based)."""
        return grown_us(self.first_us, self.factor, self.cap_us, failures - 1)


class TypeConfig(Struct, frozen=True, gc=False, kw_only=True):
    """A resource type declared by the site, beside the built-in ones.

    What is left out is derived: `direction` "" from whether use takes it away, `scale` 0 is 1,
    `ttl_us` 0 of a reported type is three intervals. `origin` says where it came from, `version`
    is the lsn of the record that last changed it (0 in a file that was not loaded yet).
    """

    name: str
    layer: str = "counter"
    kind: str = "number"
    unit: str = ""
    scope: str = "host"
    consumable: bool = True
    provider: str = ""
    direction: str = ""
    scale: int = 0
    hosts: tuple[str, ...] = ()
    release_on_suspend: bool = True
    interval_us: int = 0
    ttl_us: int = 0
    provision: bool = False
    sharing: int = 1
    level: str = ""
    draws_on: str = ""
    description: str = ""
    origin: str = "file"
    version: int = 0


class PoolConfig(Struct, frozen=True, gc=False, kw_only=True):
    """One amount of a shared type, seen by several hosts.

    `hosts` is read as LSF's ResourceMap: names, `all`, `others` (those in no other pool of the
    type), `~name` takes one out. `label` names the pool in holdings; `reported` means that a
    reporter gives the total, which is unknown, so nothing, until it did.
    """

    type: str
    label: str = ""
    hosts: tuple[str, ...] = ("all",)
    amount: int = 0
    reported: bool = False
    origin: str = "file"


class Config(Struct, frozen=True, gc=False, kw_only=True):
    """Everything that decisions read from the site's settings. `types_removed` names types of the
    file that were taken away at run time; `observe` the reported values that ticks always carry;
    `tick_interval_us` 0 means no ticks."""

    cluster: str = "cluster"
    levels: tuple[str, ...] = ("host",)
    queues: tuple[QueueConfig, ...] = (QueueConfig(name="normal", description="the default queue"),)
    default_queue: str = "normal"
    applications: tuple[ApplicationConfig, ...] = ()
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
    clean_period_us: int = 3600 * SECOND_US
    failure_window_us: int = SECOND_US
    start_retries: RetryConfig = RetryConfig()
    priority_default: int = 50
    tick_interval_us: int = 5 * SECOND_US

    def queue(self, name: str) -> QueueConfig | None:
        """The queue of that name."""
        return next((queue for queue in self.queues if queue.name == name), None)

    def application(self, name: str) -> ApplicationConfig | None:
        """The application profile of that name."""
        return next((one for one in self.applications if one.name == name), None)

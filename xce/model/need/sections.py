"""What single sections of a requirement come down to: instances, times, units, processors."""

from msgspec import Struct

PER_TASK, PER_HOST, PER_JOB = "task", "host", "job"
BEST_FIT, CONFIG, MAX_AVAIL, MIN_AVAIL = "bestfit", "config", "maxavail", "minavail"


class InstanceNeed(Struct, frozen=True, gc=False, kw_only=True):
    """Instances of one type, counted for each task (or host or job, as `per` says); `select` is
    a select expression over their attributes ("" takes any)."""

    type: str
    count_per_task: int
    select: str = ""
    per: str = PER_TASK


class Phase(Struct, frozen=True, gc=False, kw_only=True):
    """An amount for a time: `duration_us` 0 is until the end, `decay` 1 falls to nothing."""

    amount: int
    duration_us: int = 0
    decay: int = 0


class Timed(Struct, frozen=True, gc=False, kw_only=True):
    """How a reserved amount changes while its holder runs. The amounts of a need's `per_task`
    and the like are those of the first phase; phases never grow."""

    name: str
    per: str
    phases: tuple[Phase, ...]


class UnitNeed(Struct, frozen=True, gc=False, kw_only=True):
    """cu[ ]: domains of a level ("" = the cluster's default) as compute units. `most` and `least`
    are the units used and the tasks in each, 0 for no bound; `exclusive` is the level of which no
    other job may use the same domains, "" for none ("!" = the level itself)."""

    level: str = ""
    pref: str = CONFIG
    most: int = 0
    least: int = 0
    balance: bool = False
    exclusive: str = ""


class CpuNeed(Struct, frozen=True, gc=False, kw_only=True):
    """affinity[ ]: for each task `times` groups of `count` units (thread core socket numa), each
    group inside one `same`. Nobody else (`exclusive_scope`: injob, alljobs) gets a unit of the
    level `exclusive`. `bind` widens what a task is bound to; `memory` is where its memory may
    come from. `spread` is any, balance or pack; `pack_most` bounds the `pack_level`s used."""

    unit: str
    count: int = 1
    times: int = 1
    same: str = ""
    exclusive: str = ""
    exclusive_scope: str = ""
    bind: str = ""
    memory: str = ""
    spread: str = ""
    pack_level: str = ""
    pack_most: int = 0

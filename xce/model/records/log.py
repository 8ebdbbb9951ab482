"""Records about the log, the configuration and what hosts report of their load."""

from msgspec import Struct

from xce.model.config import Config, PoolConfig, TypeConfig
from xce.model.records.form import Body


class LeaderStarted(Body, frozen=True, gc=False, kw_only=True):
    """A controller took over: every host joins anew, nothing heard before is evidence."""

    holder: str
    version: str
    database: str
    boot_id: str
    resumed_lsn: int


class ConfigLoaded(Body, frozen=True, gc=False, kw_only=True):
    """The configuration in force from here on, whole, with the digest of its text."""

    digest: str
    config: Config


class ConfigChanged(Body, frozen=True, gc=False, kw_only=True):
    """One change of the configuration at run time: the type or pool of this name as it is from
    here on; neither means that it was taken away. The whole configuration is in `then`."""

    what: str
    name: str
    type: TypeConfig | None = None
    pool: PoolConfig | None = None


class TickOf(Struct, frozen=True, gc=False, array_like=True):
    """What changed of one host or pool: (place in the tick's columns, value); None is unknown."""

    of: str
    moves: tuple[tuple[int, int | str | None], ...]


class Tick(Body, frozen=True, gc=False, kw_only=True):
    """One sample of the observed columns that somebody looks at: only what left its dead band,
    became known or went stale. `dropped` are columns that nobody looks at any more."""

    columns: tuple[str, ...]
    changes: tuple[TickOf, ...]
    dropped: tuple[str, ...] = ()


class CutClosed(Body, frozen=True, gc=False, kw_only=True):
    """A cut was closed: rows of the newest version of each entity at `cut_lsn`."""

    cut_lsn: int
    count: int
    digest: str


class Truncated(Body, frozen=True, gc=False, kw_only=True):
    """A prefix of the log up to `upto_lsn` was deleted; `hash` carries the chain on."""

    upto_lsn: int
    hash: str


class ReportRefused(Body, frozen=True, gc=False, kw_only=True):
    """An agent's or provider's report did not fit; its source is closed."""

    host: str
    report: str
    why: str

"""What a site settles about dependencies: `[dependencies]` of xce.toml."""

from msgspec import Struct

KEEP, END = "keep", "end"
ALL, LATEST = "all", "latest"


class DependencyConfig(Struct, frozen=True, gc=False, kw_only=True):
    """`impossible`: what becomes of a job whose dependency can never be met any more: `keep` (it
    waits, and says why) or `end`. `names`: which jobs a name means: `all` of the owner's, or the
    `latest`."""

    impossible: str = KEEP
    names: str = ALL

"""Resource types and pools that a site declares beside the built-in ones."""

from msgspec import Struct


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

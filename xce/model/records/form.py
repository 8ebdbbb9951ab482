"""What every record has: the envelope, the body, and the list of changes."""

from typing import Any, ClassVar

from msgspec import Struct


class Change(Struct, frozen=True, gc=False, array_like=True):
    """One change of one entity.

    `what` is the table (`job`, `launch`, ...), `key` the entity's key in it, `event` the event of
    its machine ("" where no state moves), `set` the fields and their new values; None removes the
    entity from the state.
    """

    what: str
    key: int | str
    event: str
    set: dict[str, Any] | None


class Body(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=False):
    """What all bodies have: the changes that follow from the facts."""

    V: ClassVar[int] = 1
    then: tuple[Change, ...] = ()


class Record(Struct, frozen=True, gc=False, kw_only=True):
    """One line of the log. `hash` chains it to the one before; the log computes it."""

    lsn: int
    epoch: int
    at_us: int
    kind: str
    v: int
    cause: str
    actor: str
    entities: tuple[str, ...]
    body: Body

"""What a standalone claim asks for, and the words that its life is told in."""

from msgspec import Struct

from xce.model.waiting.island import Criteria

WAIT, STOP = ON_EXPIRY = ("wait", "stop")
DELETE, RETAIN = RECLAIM = ("delete", "retain")
RELEASED, DELETED = "release", "delete"
ISLAND = "island"


class ClaimRequest(Struct, frozen=True, gc=False, kw_only=True):
    """`count` instances of a type that match `select`, or an `amount` of a counter in its base
    unit, from one host; or, with `match`, whole islands that were published."""

    type: str
    count: int = 1
    amount: int = 0
    select: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    match: Criteria | None = None

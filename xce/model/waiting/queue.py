"""What a queue is at run time, beside what the configuration says of it."""

from msgspec import Struct

UNSAID = -1


class Queue(Struct, frozen=True, gc=False, kw_only=True):
    """`open` and `active` are an operator's word (1, 0; -1: as the configuration says);
    `dispatches` and `runs` whether its windows are open, as the loop last saw them (-1: it did not
    look yet)."""

    name: str
    open: int = UNSAID
    active: int = UNSAID
    dispatches: int = UNSAID
    runs: int = UNSAID
    why: str = ""
    by: str = ""
    changed_us: int = 0

"""What is counted of standalone claims: who waits, who uses one, what each owner holds."""

from typing import Protocol

from xce.model.placing import Holding
from xce.model.start import Allocation, Claim

Amounts = dict[str, int]


class ClaimCounts:
    """Kept in step by the indexes. `waiting` are the claims that wait for a session; `consumers`
    has, by claim, the allocations of members that use it; `held` and `unleased` what an owner has
    in all, and without a lease, by the type or counter; `names` the live claims of an owner by
    name."""

    def __init__(self) -> None:
        self.waiting: dict[int, None] = {}
        self.consumers: dict[int, dict[int, None]] = {}
        self.held: dict[int, Amounts] = {}
        self.unleased: dict[int, Amounts] = {}
        self.names: dict[int, dict[str, int]] = {}

    def claim(self, key: int, old: Claim | None, new: Claim | None) -> None:
        """A standalone claim changed."""
        for one, sign in ((old, -1), (new, 1)):
            if one is None or not one.stands_alone:
                continue
            for what, amount in amounts_of(one.holdings).items():
                _add(self.held, one.owner, what, sign * amount)
                if not one.until_us:
                    _add(self.unleased, one.owner, what, sign * amount)
            names = self.names.setdefault(one.owner, {})
            if one.state != "RELEASED" and sign > 0:
                names[one.name] = key
            elif names.get(one.name) == key:
                del names[one.name]
            if not names:
                del self.names[one.owner]
        if new is not None and new.stands_alone and new.state == "PENDING":
            self.waiting[key] = None
        else:
            self.waiting.pop(key, None)

    def allocation(self, key: int, old: Allocation | None, new: Allocation | None) -> None:
        """A member's allocation came, changed or went."""
        for number in old.uses if old is not None and new is None else ():
            mine = self.consumers[number]
            del mine[key]
            if not mine:
                del self.consumers[number]
        for number in new.uses if new is not None else ():
            self.consumers.setdefault(number, {})[key] = None


class Index(Protocol):
    """What is asked of the indexes here."""

    claims: ClaimCounts
    freed: int
    waits: int

    @property
    def clean_us(self) -> int:
        """How long what has ended stays in the state."""

    def timer(self, at_us: int, what: str, key: int) -> None:
        """Look at `key` again at `at_us`."""


def note_claim(index: Index, key: int, old: Claim | None, new: Claim | None) -> None:
    """A claim changed: what is counted, the end of its lease, its time to leave. One that moves on
    may let those be placed who would use it."""
    index.claims.claim(key, old, new)
    if new is None or not new.stands_alone:
        return
    moved = old is None or old.state != new.state
    index.freed += moved
    index.waits += moved and new.state == "PENDING"
    if new.until_us and (old is None or old.until_us != new.until_us):
        index.timer(new.until_us, "claim", key)
    if new.ended_us and (old is None or old.ended_us != new.ended_us):
        index.timer(new.ended_us + index.clean_us, "retire_claim", key)


def amounts_of(holdings: tuple[Holding, ...]) -> Amounts:
    """What is held, by instance type, or by counter (of a pool: by its type)."""
    found: Amounts = {}
    for one in holdings:
        what = one.instance.split("/", 2)[1] if one.instance else one.counter.partition("@")[0]
        found[what] = found.get(what, 0) + (1 if one.instance else one.amount)
    return found


def _add(sums: dict[int, Amounts], owner: int, what: str, amount: int) -> None:
    mine = sums.setdefault(owner, {})
    mine[what] = mine.get(what, 0) + amount
    if not mine[what]:
        del mine[what]
    if not mine:
        del sums[owner]

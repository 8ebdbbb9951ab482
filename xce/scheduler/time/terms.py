"""What a session knows of time: who is expected to end when, what is reserved from when, policies.

All are plain values of the snapshot. Times are absolute; FOREVER_US stands for "nobody knows".
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from xce.model.placing import Holding, Share

FOREVER_US = 1 << 62
SLACK_US = 15_000_000
"""How long after its moment a reservation stays as it is: what was to end is being ended."""
JITTER_US = 999_999
"""What ends so little after a moment counts as over by then: less than a second is no slip."""
NONE, EASY, CONSERVATIVE, STRICT = "none", "easy", "conservative", "strict"
POLICIES = (NONE, EASY, CONSERVATIVE, STRICT)
BACKFILL, ADVANCE, PREEMPT = "backfill", "advance", "preempt"


class Ending(Struct, frozen=True, gc=False, kw_only=True):
    """Work that runs and is expected to end, with what is free then. What has no limit is not
    among the endings of a snapshot: it is never counted on. `who` is `12` or `g7`."""

    end_us: int
    who: str
    shares: tuple[Share, ...]


class Hold(Struct, frozen=True, gc=False, kw_only=True):
    """A reservation as a session sees it: `shares` are kept for its holder from `from_us` until
    `end_us`, when the holder is expected to be done with them."""

    number: int
    kind: str = BACKFILL
    group: int = 0
    job: int = 0
    who: str
    queue: str = ""
    from_us: int
    end_us: int = FOREVER_US
    shares: tuple[Share, ...]

    @property
    def holder(self) -> tuple[int, int]:
        """The group or plain job that it is for; (0, 0) where it is for a name."""
        return (self.group, self.job)


class TimePolicy(Struct, frozen=True, gc=False, kw_only=True):
    """How a queue treats what does not fit now: how many of its blocked asks get reservations
    (`depth`), and how many asks are looked at behind the first blocked one (`look`, 0 = all).
    Queues of one `scope` share the depth."""

    policy: str = EASY
    depth: int = 1
    look: int = 1_000
    scope: str = ""


class Reserve(Struct, frozen=True, gc=False, kw_only=True):
    """What a plan reserves. `number` is that of the reservation it moves, 0 for a new one;
    `before_us` when that was to begin, `cause` why it moved."""

    number: int = 0
    group: int = 0
    job: int = 0
    from_us: int
    end_us: int = FOREVER_US
    shares: tuple[Share, ...]
    cause: str = ""
    before_us: int = 0


class Victim(Struct, frozen=True, gc=False, kw_only=True):
    """Running work that may have to give way: a whole gang or a plain job. `shares` is what is
    free when it did; `priority` that of its queue, `since_us` when it was let go."""

    group: int = 0
    job: int = 0
    who: str
    queue: str
    priority: int
    since_us: int
    attempt: int
    shares: tuple[Share, ...]


class Eviction(Struct, frozen=True, gc=False, kw_only=True):
    """Work that gives way to what waits: `victims` are (group, job, attempt or start). What the
    waiting work will be granted (`shares`) is kept for it from `from_us` on."""

    group: int = 0
    job: int = 0
    victims: tuple[tuple[int, int, int], ...]
    from_us: int
    end_us: int = FOREVER_US
    shares: tuple[Share, ...]


class Preempting(Struct, frozen=True, gc=False, kw_only=True):
    """Who may preempt whom: by queue, the queues that give way to it; who could (`victims`), and
    how long it takes until what they had is free (`takes_us`). `again_us` is when somebody who
    began too late to give way now may; 0 is never."""

    over: Mapping[str, tuple[str, ...]] = {}
    victims: tuple[Victim, ...] = ()
    takes_us: int = 0
    again_us: int = 0


def less(shares: Sequence[Share], taken: Sequence[Share]) -> tuple[Share, ...]:
    """What of some shares is left when others were taken out of them."""
    used: dict[tuple[str, str], int] = {}
    gone = {key for share in taken for key in share.instances}
    for share in taken:
        for name, amount in share.counters:
            used[share.host, name] = used.get((share.host, name), 0) + amount
    left = []
    for share in shares:
        counters = []
        for name, amount in share.counters:
            away = min(amount, used.get((share.host, name), 0))
            used[share.host, name] = used.get((share.host, name), 0) - away
            counters.append((name, amount - away))
        instances = tuple(key for key in share.instances if key not in gone)
        left.append(structs.replace(share, counters=tuple(counters), instances=instances))
    return tuple(left)


def share_of(holding: Holding) -> Share:
    """A claim's holding as a share."""
    counters = ((holding.counter, holding.amount),) if holding.counter else ()
    instances = (holding.instance,) if holding.instance else ()
    return Share(host=holding.host, tasks=0, counters=counters, instances=instances)

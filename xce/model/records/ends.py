"""Records of ends: what a failure means, and how work leaves."""

from xce.model.records.form import Body


class FailureNoted(Body, frozen=True, gc=False, kw_only=True):
    """A failure opened the window in which one burst counts as one event."""

    group: int
    job: int
    until_us: int


class GroupDecided(Body, frozen=True, gc=False, kw_only=True):
    """A rule (or the lack of one) decided what a failure or a success means for a group."""

    group: int
    rule: int
    action: str
    members: tuple[int, ...]
    reason: str
    not_before_us: int = 0
    keep_until_us: int = 0


class GroupEnded(Body, frozen=True, gc=False, kw_only=True):
    """A group is over, all its launches gone."""

    group: int
    verdict: str
    reason: str


class Retired(Body, frozen=True, gc=False, kw_only=True):
    """Finished work left the state; its story is in the history."""

    ids: tuple[str, ...]

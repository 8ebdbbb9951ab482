"""How many jobs of each user wait, kept in step; and how many may."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xce.model.config import UserConfig, UserGroup
from xce.model.config.shares import DEFAULT, is_member
from xce.model.waiting.array import HELD, PENDING

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State

WAITS = ("PENDING", "HELD")


class Backlog:
    """Waiting jobs by owner: jobs, members of gangs, and elements of arrays."""

    def __init__(self) -> None:
        self.jobs: dict[int, int] = {}

    def job(self, old: Any, new: Any) -> None:
        """A job changed."""
        for one, sign in ((old, -1), (new, 1)):
            if one is not None and one.state in WAITS:
                self._add(one.owner, sign)

    def array(self, old: Any, new: Any) -> None:
        """An array changed."""
        for one, sign in ((old, -1), (new, 1)):
            if one is not None:
                self._add(one.owner, sign * (one.count(PENDING) + one.count(HELD)))

    def begun(self, owner: int, count: int) -> None:
        """So many jobs of a user wait no more."""
        self._add(owner, -count)

    def _add(self, owner: int, count: int) -> None:
        now = self.jobs.get(owner, 0) + count
        if now:
            self.jobs[owner] = now
        else:
            self.jobs.pop(owner, None)


def over_backlog(state: "State", owner: int, more: int) -> tuple[str, int, int] | None:
    """The first bound on waiting jobs that `more` of them would go over: whose, used, allowed."""
    config, jobs = state.config, state.index.backlog.jobs
    for user in _of(config.users, config.user_groups, owner):
        used = jobs.get(owner, 0)
        if user.who[:1] == "@":
            groups, name = config.user_groups, user.who[1:]
            used = sum(count for uid, count in jobs.items() if is_member(groups, name, uid))
        if used + more > user.max_pending_jobs:
            return user.who, used, user.max_pending_jobs
    return None


def _of(users: Sequence[UserConfig], groups: Sequence[UserGroup], owner: int) -> list[UserConfig]:
    """The bounds on waiting jobs that count for a user: his own, his groups'; else the default."""
    found = [
        user
        for user in users
        if user.who == str(owner)
        or (user.who[:1] == "@" and is_member(groups, user.who[1:], owner))
        or (user.who[-1:] == "@" and is_member(groups, user.who[:-1], owner))
    ]
    found = found or [user for user in users if user.who == DEFAULT]
    return [user for user in found if user.max_pending_jobs >= 0]

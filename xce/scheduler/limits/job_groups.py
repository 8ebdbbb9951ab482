"""Limits of job groups within a session: a group, and every group that it is below."""

from collections.abc import Mapping

from xce.model.waiting.job_group import lineage
from xce.scheduler.reasons import Code, PendReason, reason


class GroupRooms:
    """How many jobs have started in each group with a limit, this session's own counted in."""

    def __init__(self, rooms: Mapping[str, tuple[int, int]]) -> None:
        self._rooms = rooms
        self._booked: dict[str, int] = {}

    def refuses(self, path: str) -> PendReason | None:
        """Why no further job of this group may start now; None when one may."""
        for one in lineage(path) if self._rooms else ():
            if one in self._rooms:
                started, limit = self._rooms[one]
                started += self._booked.get(one, 0)
                if started >= limit:
                    return reason(Code.JOB_GROUP_LIMIT, needed=limit, available=started, where=one)
        return None

    def book(self, path: str) -> None:
        """One more job of this group starts."""
        for one in lineage(path) if self._rooms else ():
            if one in self._rooms:
                self._booked[one] = self._booked.get(one, 0) + 1

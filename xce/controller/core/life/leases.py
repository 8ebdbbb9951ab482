"""Leases of work that stops when its host is cut off (`silence: {stop_after: L}`).

A start keeps L and the kill grace as they were when it was planned: the host's supervisor acts on
the same numbers by which the controller waits. What the two sides wait is in `dispatch/lease.py`.
"""

from collections.abc import Iterable

from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.dispatch.lease import patience_us, shortest_us
from xce.dispatch.protocol import LEASES
from xce.model.host import Host
from xce.model.start import Start


def stop_after_us(state: State, group: int, jobs: Iterable[int]) -> int:
    """The lease that a gang's manifest or a plain job's spec asks for; 0 is none."""
    if group:
        return state.group_spec(state.groups[group]).stop_after_us
    return max((state.specs[state.jobs[key].spec].stop_after_us for key in jobs), default=0)


def take_lease(draft: Draft, number: int) -> None:
    """Within the record that plans a start: fix how long its hosts run it unanswered."""
    start = draft.state.starts[number]
    lease_us = stop_after_us(draft.state, start.group, start.members)
    if lease_us:
        grace_us = draft.state.config.kill_grace_us
        draft.patch("start", number, stop_after_us=lease_us, kill_grace_us=grace_us)


def keeps_lease(state: State, start: Start, host: Host) -> bool:
    """Whether the start's lease lasts on the host: its agent can keep one, and an UP host, which
    was heard within `suspect_after`, has some of it left."""
    if not start.stop_after_us:
        return True
    return LEASES in host.can and start.stop_after_us >= shortest_us(state.config.suspect_after_us)


def overdue(state: State, host: str, quiet_us: int) -> list[int]:
    """Live launches on the host that its supervisor has killed by now, in order."""
    found = []
    for number in sorted(state.index.live_launches.get(host, {})):
        start = state.starts[state.launches[number].start]
        if start.stop_after_us > 0 and quiet_us >= patience_us(
            start.stop_after_us, start.kill_grace_us
        ):
            found.append(number)
    return found

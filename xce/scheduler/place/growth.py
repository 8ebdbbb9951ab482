"""Members beyond the minima, once all minima of a group are laid.

Roles grow in their declared order, each as far as its window has room, member by member where
members span hosts. Nothing that is laid moves.
"""

from collections.abc import Sequence

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import caps
from xce.scheduler.fit.demand import MemberNeed
from xce.scheduler.fit.lay import Cell, blank, lay
from xce.scheduler.fit.picks import Limits
from xce.scheduler.place.topology import Window


def more_members(
    work: Workspace,
    need: MemberNeed,
    window: Window,
    laid: Sequence[Cell],
    wanted: int,
    salt: int,
) -> list[Cell]:
    """Cells for up to `wanted` more members that run on one host each, beside those `laid`."""
    load = need.load(False, False)
    grown: list[Cell] = []
    room = caps(work, load, window.hosts, window.limits).tolist()
    for spot, host in enumerate(window.hosts.tolist()):
        units = min(int(room[spot]), wanted)
        while units > 0:
            cell = blank(laid[0].role, -1, host, spot, units)
            done = lay(work, need, cell, Limits(window.restrict), salt)
            if done is not None:
                grown.append(done)
                wanted -= units
                break
            units -= 1
        if not wanted:
            break
    return grown

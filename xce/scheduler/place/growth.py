"""More than the least: members beyond the minima of a group, tasks beyond those of a range.

Roles grow in their declared order, each as far as its window has room, member by member where
members span hosts. Nothing that is laid moves. A job that may have from 4 to 16 tasks gets the
most that fit; where the most do not, the number is found by halving, as if less always fitted
where more does.
"""

from collections.abc import Callable, Sequence

from msgspec import structs

from xce.scheduler.candidates import Workspace
from xce.scheduler.fit.caps import caps
from xce.scheduler.fit.demand import MemberNeed
from xce.scheduler.fit.lay import Cell, blank, lay
from xce.scheduler.fit.picks import Limits
from xce.scheduler.place.topology import Window
from xce.scheduler.snapshot import Ask, RoleAsk


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


def is_range(role: RoleAsk) -> bool:
    """Whether it may have more tasks than the least."""
    return role.tasks_max > role.tasks


def sizes_of(role: RoleAsk, alternative: int) -> range:
    """The numbers of tasks that the job may have: those that divide into its blocks."""
    parts = role.need.terms_of(alternative, role.tasks)
    block = max((part.block or 1 for _, part in parts), default=1)
    return range(role.tasks, max(role.tasks, role.tasks_max) + 1, block)


def of_size(ask: Ask, tasks: int) -> Ask:
    """The plain job's ask for exactly so many tasks."""
    role = structs.replace(ask.roles[0], tasks=tasks, tasks_max=tasks)
    return structs.replace(ask, roles=(role,))


def largest(sizes: Sequence[int], fits: Callable[[int], bool]) -> int:
    """The most that fit, of sizes whose first one does."""
    low, high = 0, len(sizes) - 1
    middle = high
    while low < high:
        if fits(sizes[middle]):
            low = middle
        else:
            high = middle - 1
        middle = (low + high + 1) // 2
    return sizes[low]

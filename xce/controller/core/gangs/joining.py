"""A start of some members joins a gang that runs: its place in the gang's world.

A member that is started again keeps its processes' ranks as far as it has as many as before; new
processes get ranks behind all others. `world` says how many processes the gang then has, and how
many members each role.
"""

from collections.abc import Iterable

from msgspec import structs

from xce.controller.core.fold.state import State
from xce.controller.core.gangs.standing import members_of
from xce.controller.core.life.draft import Draft
from xce.model.group import Group
from xce.model.placing import LaunchPlan
from xce.model.records import PlannedGroup
from xce.model.start import Launch

World = tuple[tuple[str, int], ...]
Ranks = list[tuple[int, int]]


def joins(state: State, number: int) -> bool:
    """Whether a start that is planned for this gang is of some of its members."""
    return bool(number) and state.groups[number].state == "RUNNING"


def join(draft: Draft, planned: PlannedGroup) -> None:
    """Within the plan: one more start of the gang; those of which nothing is left are dropped."""
    state = draft.state
    group = state.groups[planned.group]
    kept = tuple(number for number in group.further if not _is_spent(state, number))
    draft.patch("group", group.number, further=(*kept, planned.start))


def _is_spent(state: State, number: int) -> bool:
    """Whether nothing of the start lives, and none of its claims is shared by later ones."""
    start = state.starts[number]
    if start.ended < len(start.launches):
        return False
    if any(state.jobs[key].start == number for key in start.members):
        return False
    return all(state.claims[one].job for one in start.claims if one in state.claims)


def in_world(
    state: State, group: Group, launches: tuple[LaunchPlan, ...]
) -> tuple[tuple[LaunchPlan, ...], World]:
    """The launches with their ranks in the whole gang, and that gang's sizes."""
    others = _of_others(state, group, {one.job for one in launches})
    taken = [(one.first_rank, one.processes) for one in others]
    size = max((first + count for first, count in taken), default=0)
    found: list[LaunchPlan] = []
    for job in dict.fromkeys(one.job for one in launches):
        mine = [one for one in launches if one.job == job]
        before = _ranks_before(state, job)
        if [count for _, count in before] == [one.processes for one in mine]:
            ranks = before
        else:
            ranks = _behind(size, mine)
        found += [
            structs.replace(one, first_rank=first)
            for one, (first, _) in zip(mine, ranks, strict=True)
        ]
        size = max(size, *(first + count for first, count in ranks))
    return tuple(found), (("", size), *_members(state, group, {one.job for one in launches}))


def _of_others(state: State, group: Group, mine: set[int]) -> Iterable[Launch]:
    for job in members_of(state, group):
        for number in job.launches if job.key not in mine else ():
            yield state.launches[number]


def _ranks_before(state: State, job: int) -> Ranks:
    """First rank and processes of each launch that the member had the last time that it ran."""
    for number in sorted(state.index.starts_of.get(job, {}), reverse=True):
        start = state.starts[number]
        if start.passed_us:
            mine = (state.launches[one] for one in start.launches)
            return [(one.first_rank, one.processes) for one in mine if one.job == job]
    return []


def _behind(size: int, launches: list[LaunchPlan]) -> Ranks:
    ranks: Ranks = []
    for one in launches:
        ranks.append((size, one.processes))
        size += one.processes
    return ranks


def _members(state: State, group: Group, mine: set[int]) -> World:
    """By role, how many members there are with these."""
    found = {span.name: 0 for span in group.roles}
    for job in members_of(state, group):
        there = job.state in ("STARTING", "RUNNING", "FINISHED", "ENDING") or job.key in mine
        found[job.role] += there
    return tuple(found.items())


__all__ = ["World", "in_world", "join", "joins"]

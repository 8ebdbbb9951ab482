"""How many more jobs may start in a group: what a session is told, what a commit checks again."""

from xce.controller.core.arrays.elements import found_job
from xce.controller.core.fold.state import State
from xce.model.waiting.job_group import NO_LIMIT, lineage


def rooms(state: State) -> dict[str, tuple[int, int]]:
    """By group with a limit: how many have started, and how many may."""
    started = state.index.job_groups.started
    return {
        path: (started.get(path, 0), group.limit)
        for path, group in state.job_groups.items()
        if group.limit != NO_LIMIT
    }


def group_of(state: State, key: int) -> str:
    """The group of a job or an element; "" for none."""
    job = found_job(state, key) if key else None
    return state.specs[job.spec].job_group if job is not None else ""


def has_room(state: State, key: int, taken: dict[str, int]) -> bool:
    """Whether one more job may start in its group as things are now, behind what this plan took
    already."""
    paths = lineage(group_of(state, key)) if state.job_groups else ()
    started = state.index.job_groups.started
    for path in paths:
        group = state.job_groups.get(path)
        if group is None or group.limit == NO_LIMIT:
            continue
        if started.get(path, 0) + taken.get(path, 0) >= group.limit:
            return False
    return True


def take_room(state: State, key: int, taken: dict[str, int]) -> None:
    """One more job of this plan starts."""
    for path in lineage(group_of(state, key)) if state.job_groups else ():
        taken[path] = taken.get(path, 0) + 1

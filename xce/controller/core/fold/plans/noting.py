"""What the indexes keep of plain jobs that were placed in bulk.

The same as their hooks come to when each entity is put by itself: a job that waited begins, its
start has passed already, and its launch and its allocation are on one host. What only some specs
ask for is left to the hook.
"""

from collections.abc import Mapping

from msgspec import Struct

from xce.controller.core.fold.state import State
from xce.model.ids import job_index
from xce.model.job import Job
from xce.model.start import Allocation, Launch, Start


class Made(Struct, frozen=True, gc=False):
    """What a record brings into being, by number, and the jobs as they are then."""

    starts: dict[int, Start]
    allocations: dict[int, Allocation]
    launches: dict[int, Launch]
    jobs: dict[int, Job]


def note_placed(state: State, before: Mapping[int, Job | None], made: Made) -> None:
    """Keeps the indexes in step with entities that are in the tables already. `before` are the
    jobs as they were, None for an element that was its array's letter."""
    index = state.index
    _note_jobs(state, before, made.jobs)
    live, starts_of = index.live_launches, index.starts_of
    hosts = []
    for number, launch in made.launches.items():
        hosts.append(launch.host)
        mine = live.get(launch.host)
        if mine is None:
            mine = live[launch.host] = {}
        mine[number] = None
        others = starts_of.get(launch.job)
        if others is None:
            starts_of[launch.job] = {launch.start: None}
        else:
            others[launch.start] = None
    granted = index.granted
    for number, allocation in made.allocations.items():
        granted(allocation.shares[0], ("allocation", number))
    index.count_changes(hosts)
    if index.usage.shared:
        for key in made.jobs:
            index.usage.refresh(key)
    if index.limits.limits:
        for number in made.allocations:
            index.limits.refresh(number)


def _note_jobs(state: State, before: Mapping[int, Job | None], jobs: Mapping[int, Job]) -> None:
    index, effects_of = state.index, state.effects_of
    waited: list[Job] = []
    for key, job in jobs.items():
        old = before[key]
        if old is not None:
            waited.append(old)
        else:
            index.count_user(None, job)
        if job_index(key):
            index.elements.note(key, old, job)
        effects = effects_of(job.spec)
        if effects.more:
            index.job_by_spec(key, old, job)
        elif effects.ends:
            index.limited[key] = None
    index.began(waited)

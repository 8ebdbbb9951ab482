"""What is fixed about a start once it is planned: who belongs to whom, how many of what.

A start is a frozen set, so all of this is worked out once and remembered by the state's indexes;
a report in a gang of ten thousand then costs what it costs in a gang of two. Nothing here is
truth: it can be worked out again from the start and what it names.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State


class Shape(Struct, frozen=True, gc=False, kw_only=True):
    """A start seen by job, role and wave. `processes` is XCE_WORLD_SIZE; `shared` are the claims
    of group and role scope; `roles` has each role's place in the tallies."""

    processes: int
    roles: Mapping[str, int]
    members: Mapping[str, int]
    launches_of_role: Mapping[str, int]
    working_of_role: Mapping[str, int]
    launches_of_job: Mapping[int, tuple[int, ...]]
    launches_of_wave: Mapping[int, tuple[int, ...]]
    claims_of_job: Mapping[int, tuple[int, ...]]
    shared: tuple[int, ...]


def shape_of(state: "State", number: int) -> Shape:
    """The shape of a start that is in the state."""
    found = state.index.shapes.get(number)
    if found is None:
        found = state.index.shapes[number] = _made(state, number)
    return found


def _made(state: "State", number: int) -> Shape:
    start = state.starts[number]
    members: dict[str, int] = {}
    for job in start.members:
        role = state.jobs[job].role
        members[role] = members.get(role, 0) + 1
    launches: dict[str, int] = {}
    working: dict[str, int] = {}
    by_job: dict[int, tuple[int, ...]] = {}
    by_wave: dict[int, list[int]] = {}
    processes = 0
    for one in (state.launches[key] for key in start.launches):
        role = state.jobs[one.job].role
        launches[role] = launches.get(role, 0) + 1
        working[role] = working.get(role, 0) + (one.processes > 0)
        by_job[one.job] = (*by_job.get(one.job, ()), one.number)
        by_wave.setdefault(one.wave, []).append(one.number)
        processes += one.processes
    claims: dict[int, tuple[int, ...]] = {}
    for key in start.claims:
        job = state.claims[key].job
        claims[job] = (*claims.get(job, ()), key) if job else claims.get(job, ())
    return Shape(
        processes=processes,
        roles={role: place for place, role in enumerate(members)},
        members=members,
        launches_of_role=launches,
        working_of_role=working,
        launches_of_job=by_job,
        launches_of_wave={wave: tuple(numbers) for wave, numbers in by_wave.items()},
        claims_of_job=claims,
        shared=tuple(key for key in start.claims if not state.claims[key].job),
    )

"""What ends and begins are written down for those that wait for them.

Runs behind every decision, on what it moved: each waiting job that is about something that moved
is judged once. Conditions that hold for good are latched; a whole dependency that held once is
met for good. One record holds what one decision means for all that wait.
"""

from typing import Any

from xce.controller.core.depending.judge import judge_waiter
from xce.controller.core.depending.names import Resolved
from xce.controller.core.depending.standing import IMPOSSIBLE
from xce.controller.core.fold.eligible import Waiter, still_awaits
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.model.config.dependencies import END
from xce.model.ids import job_number, job_text
from xce.model.job import Exit, Job
from xce.model.records import DependencyLatched, KillAsked, Latched
from xce.model.waiting.array import HELD, KILLED, PENDING, Array, among
from xce.resreq.options.dependency import Verdict

LATCHED_MAX = 1_000
"""Jobs of one record."""


def latch(draft: Draft) -> None:
    """Judge all that waits for what this decision moved, until nothing moves any more."""
    while draft.moved:
        moved = list(draft.moved)
        draft.moved.clear()
        told, hopeless = [], []
        for key in _touched(draft, moved):
            job = waiter_of(draft.state, key)
            judged = judge_waiter(draft.state, job)
            met = judged.verdict is Verdict.HOLDS
            conditions = judged.latching(job.after_latched)
            if met or conditions:
                told.append(Latched(key, conditions, met))
            if judged.verdict is Verdict.NEVER and _is_to_end(draft, job):
                hopeless.append(key)
        for first in range(0, len(told), LATCHED_MAX):
            _write(draft, tuple(told[first : first + LATCHED_MAX]))
        for key in hopeless:
            _end(draft, key)


def first_fields(found: Resolved, now_us: int) -> dict[str, Any]:
    """The fields of a job that comes to have this dependency."""
    return {
        "after": found.text,
        "after_ids": found.ids,
        "after_latched": found.judged.latching(()),
        "after_met_us": now_us if found.judged.verdict is Verdict.HOLDS else 0,
    }


def _touched(draft: Draft, moved: list[tuple[str, int]]) -> list[int]:
    """Waiting jobs that are about what moved, or that came to wait themselves."""
    state = draft.state
    dependents = state.index.links.dependents
    found: dict[int, None] = {}
    for what, key in moved:
        ref = -key if what == "group" else job_number(key)
        own = state.arrays.get(key) if what == "array" else state.jobs.get(key)
        if what != "group" and own is not None and own.after and still_awaits(own):
            found[key] = None
        if ref in dependents:
            found.update(dependents[ref])
    return sorted(found)


def waiter_of(state: State, key: int) -> Waiter:
    """The job or the array that waits under this key."""
    return state.jobs.get(key) or state.arrays[key]


def _is_to_end(draft: Draft, waiter: Waiter) -> bool:
    if isinstance(waiter, Job) and waiter.state not in ("PENDING", "HELD"):
        return False
    settled = draft.state.config.dependencies.impossible == END
    return settled or draft.state.specs[waiter.spec].end_if_impossible


def _write(draft: Draft, told: tuple[Latched, ...]) -> None:
    draft.open(DependencyLatched(jobs=told), [job_text(one.job) for one in told])
    for one in told:
        job = waiter_of(draft.state, one.job)
        fields: dict[str, Any] = {}
        if one.conditions:
            fields["after_latched"] = tuple(sorted((*job.after_latched, *one.conditions)))
        if one.met:
            fields["after_met_us"] = draft.now_us
        draft.patch("array" if isinstance(job, Array) else "job", one.job, **fields)


def _end(draft: Draft, key: int) -> None:
    """End a job that can never begin; those that wait for it are judged next."""
    draft.open(KillAsked(job=key, reason=IMPOSSIBLE), [job_text(key)])
    array = draft.state.arrays.get(key)
    if array is not None:
        draft.patch("array", key, killed_by=IMPOSSIBLE)
        draft.elements(key, "kill", among(array, (), PENDING + HELD), KILLED)
        return
    ended = Exit(how="none", reason=IMPOSSIBLE, by="system")
    draft.fire("job", key, "kill", kill_reason=IMPOSSIBLE, exit=ended)

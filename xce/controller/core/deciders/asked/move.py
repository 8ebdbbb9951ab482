"""Switching to another queue, and moving in the order of what waits.

Operators move work over all of its queue, arrays, gangs and accounts of a share tree included: that
is `position`. Users move among their own work of
the same queue and priority, as in LSF: right before or behind one of their own jobs, by taking a
place beside its (`turn_us`, `turn`). Positions count from 1.
"""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.deciders.asked.authority import not_yours
from xce.controller.core.deciders.asked.modify import modify_job
from xce.controller.core.fold.eligible import is_eligible
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.model.actor import USER
from xce.model.ids import is_array_key, job_index, job_number, job_text, place_of
from xce.model.job import Job
from xce.model.records import JobChanged
from xce.model.tables import ENDED_JOB

Answer = tuple[dict[str, Any], dict[str, bytes]]
TOP, BOTTOM = "top", "bottom"
Piece = tuple[str, int]
"""Something that waits: its table, and its key there."""


# -- switch ---------------------------------------------------------------------------------------


def switch_job(draft: Draft, command: c.SwitchJob) -> c.Rejection | Answer:
    """Put a job into another queue: one that waits is judged there as at its submission; one that
    runs goes on with what it has."""
    state, text = draft.state, job_text(command.job)
    work = state.arrays.get(command.job) or state.jobs.get(command.job)
    if work is None:
        return c.Rejection(code="not_found", message=f"Job <{text}>: No matching job found")
    if not command.actor.may_change(work.owner):
        return not_yours(command.actor, f"Job <{text}>")
    if work.queue == command.queue:
        said = f"Job <{text}>: Job is already in queue <{command.queue}>"
        return c.Rejection(code="conflict", message=said)
    running = isinstance(work, Job) and work.state in ("STARTING", "RUNNING") and not work.group
    if not running:
        asked = c.ModifyJob(actor=command.actor, job=command.job, queue=command.queue)
        made = modify_job(draft, asked)
        if isinstance(made, c.Rejection):
            return made
        return {"job": text, "queue": command.queue}, made[1]
    known = state.config.queue(command.queue)
    if known is None or not known.open:
        said = "No such queue." if known is None else "Queue has been closed."
        code = "unknown_queue" if known is None else "queue_closed"
        return c.Rejection(code=code, message=f"{command.queue}: {said}", field="queue")
    draft.open(JobChanged(job=command.job, field="queue", new=command.queue), [text])
    draft.patch("job", command.job, queue=command.queue)
    return {"job": text, "queue": command.queue}, {}


# -- top and bottom -------------------------------------------------------------------------------


def move_job(draft: Draft, command: c.MoveJob) -> c.Rejection | Answer:
    """Move a job that waits to a position from the top or the bottom."""
    state, text = draft.state, job_text(command.job)
    job = state.jobs.get(command.job)
    if job is None:
        return c.Rejection(code="not_found", message=f"Job <{text}>: No matching job found")
    if not command.actor.may_change(job.owner):
        return not_yours(command.actor, f"Job <{text}>")
    if why := _cannot_move(job):
        return c.Rejection(code="conflict", message=f"Job <{text}>: {why}")
    own, me = command.actor.kind == USER, ("job", job.key)
    row = _own_row(state, job) if own else _row(state, job)
    others = [one for one in row if one != me]
    at = min(max(command.position, 1), len(row)) - 1
    if command.to == BOTTOM:
        at = len(others) - at
    wanted = [*others[:at], me, *others[at:]]
    if wanted != row or not (own or _apart(state, wanted, at)):
        facts = JobChanged(job=job.key, field=command.to, new=str(command.position))
        draft.open(facts, [text])
        if own:
            _insert(draft, wanted, at)
        else:
            _push(draft, wanted, at)
    position = at + 1 if command.to == TOP else len(row) - at
    return {"job": text, "to": command.to, "position": position}, {}


def _cannot_move(job: Job) -> str:
    if job.state in ENDED_JOB:
        return "Job has already finished"
    if job.group or job_index(job.key):
        return "members of gangs and elements of arrays are not moved alone"
    if job.state != "PENDING":
        return "Job has started" if job.state != "HELD" else "Job is suspended"
    return "" if is_eligible(job) else "Job waits for others; it has no place in the order yet"


def _row(state: State, job: Job) -> list[Piece]:
    """All that waits in the job's queue, in its order: jobs, arrays and gangs."""
    found: list[Piece] = []
    for group, key, _ in state.index.pending.walk():
        if group:
            found.append(("group", group))
        else:
            found.append(("array", job_number(key)) if is_array_key(key) else ("job", key))
    return [(what, key) for what, key in found if state.tables[what][key].queue == job.queue]


def _own_row(state: State, job: Job) -> list[Piece]:
    """Those plain jobs of its owner that have the same priority and position."""
    same = (job.owner, job.priority, job.position)
    keys = (key for what, key in _row(state, job) if what == "job" and not job_index(key))
    row = ((key, state.jobs[key]) for key in keys)
    return [("job", k) for k, one in row if (one.owner, one.priority, one.position) == same]


def _apart(state: State, wanted: list[Piece], at: int) -> bool:
    """Whether what stands at `at` is there whoever's turn it is: where a queue is shared, only
    positions say so; else the order does."""
    what, key = wanted[at]
    if len(wanted) == 1 or not state.index.ordering.account_of(state.tables[what][key]):
        return True
    before, behind = (at, at + 1) if at < len(wanted) - at else (at - 1, at)
    first, second = (state.tables[what][key].position for what, key in wanted[before : behind + 1])
    return bool(first < second)


def _insert(draft: Draft, wanted: list[Piece], at: int) -> None:
    """Put what was moved to `at` right before the next of the row, or right behind the last one:
    what stands close before it there moves on by one."""
    jobs, keys = draft.state.jobs, [key for _, key in wanted]
    if at + 1 == len(keys):
        at_us, turn = _place_of(jobs[keys[at - 1]])
        draft.patch("job", keys[at], turn_us=at_us, turn=turn + 1)
        return
    at_us, turn = _place_of(jobs[keys[at + 1]])
    for key in reversed(keys[: at + 1]):
        turn -= 1
        if key != keys[at] and _place_of(jobs[key]) < (at_us, turn + 1):
            return
        draft.patch("job", key, turn_us=at_us, turn=turn)


def _place_of(job: Job) -> tuple[int, int]:
    """Where a job stands among those of its queue and priority: its own place, or what it took."""
    return job.turn_us or job.submit_us, job.turn or place_of(job.key)


def _push(draft: Draft, wanted: list[Piece], at: int) -> None:
    """Give positions so that the row is in the wanted order: to what was moved to `at`, and to all
    between it and its nearer end; the rest keep theirs."""
    if at < len(wanted) - at:
        limit = _position(draft, wanted[at + 1]) - 1
        for piece in reversed(wanted[: at + 1]):
            _place(draft, piece, limit)
            limit = min(limit, _position(draft, piece)) - 1
    else:
        limit = _position(draft, wanted[at - 1]) + 1
        for piece in wanted[at:]:
            _place(draft, piece, limit)
            limit = max(limit, _position(draft, piece)) + 1


def _position(draft: Draft, piece: Piece) -> int:
    return int(draft.state.tables[piece[0]][piece[1]].position)


def _place(draft: Draft, piece: Piece, position: int) -> None:
    if _position(draft, piece) != position:
        draft.patch(*piece, position=position)

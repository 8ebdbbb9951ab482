"""How what a condition is about stands: a job, an element, a whole array, a gang.

An array is looked at by its exact tally: what all elements must satisfy holds when as many as
there are do, and can never hold once one does not. Which code an element ended with is known as
long as it is a job of its own; it was latched when it ended, if anybody waited for it.
"""

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec import Struct

from xce.controller.core.arrays.elements import found_job, tally_of
from xce.controller.core.depending.terms import ref_of, ref_text
from xce.model.group import Group
from xce.model.ids import job_key, job_text
from xce.model.job import Exit, Job
from xce.model.tables import ENDED_JOB
from xce.model.waiting.array import EXITED, KILLED, Array
from xce.resreq.options.dependency import EACH, Condition, Verdict

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State

IMPOSSIBLE = "dependency"
"""Reason of the exit of a job whose dependency could never be met."""

SIGNAL_BASE = 128
COMPARE = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
BEGUN = frozenset({"RUNNING", "FINISHED", "ENDING", "RETRACTING"})
COUNTED_AS: Mapping[str, tuple[str, ...]] = {
    "numpend": ("PENDING",),
    "numhold": ("HELD",),
    "numstart": ("STARTING", "RUNNING", "ENDING"),
    "numrun": ("RUNNING", "ENDING"),
    "numdone": ("DONE",),
    "numexit": ("EXITED",),
    "numended": ("DONE", "EXITED"),
}
NOT_THERE = "is not there any more"


class Seen(Protocol):
    """The part of a state that is looked at."""

    @property
    def jobs(self) -> Mapping[int, Job]:
        """By key."""

    @property
    def groups(self) -> Mapping[int, Group]:
        """By number."""

    @property
    def arrays(self) -> Mapping[int, Array]:
        """By number."""

    @property
    def index(self) -> Any:
        """What it can be asked without a search."""


class Standing(Struct, frozen=True, gc=False):
    """How something stands: its state and how it ended; of a whole array how many elements are in
    each state. `unsure`: it ended otherwise than well, with a code that is not known any more."""

    state: str = ""
    exit: Exit | None = None
    tally: tuple[tuple[str, int], ...] = ()
    unsure: bool = False


Past = Mapping[int, Standing]


def standing_of(state: Seen, condition: Condition, past: Past) -> Standing | None:
    """How what a condition is about stands; None when nobody knows it any more."""
    ref = ref_of(condition)
    if ref < 0:
        group = state.groups.get(-ref)
        return past.get(ref) if group is None else standing_of_group(group)
    array = state.arrays.get(ref)
    if array is not None and not condition.of.index:
        return Standing(tally=tuple(sorted(tally_of(cast("State", state), ref).items())))
    if array is not None:
        return _of_element(state, array, int(condition.of.index))
    job = state.jobs.get(ref)
    return past.get(ref) if job is None else Standing(job.state, job.exit)


def _of_element(state: Seen, array: Array, index: int) -> Standing | None:
    job = found_job(cast("State", state), job_key(array.number, index))
    if job is None:
        return None
    letter = array.letter(index)
    return Standing(job.state, job.exit, unsure=letter in (EXITED, KILLED))


def standing_of_group(group: Group) -> Standing:
    """A gang's verdict stands for an exit: 0, or 1."""
    if group.state not in ENDED_JOB:
        return Standing(group.state)
    code = 0 if group.state == "DONE" else 1
    return Standing(group.state, Exit(how="exited", code=code, reason=group.reason))


def verdict_of(condition: Condition, seen: Standing) -> Verdict:
    """What a condition's standing says of it."""
    if seen.tally:
        return _of_tally(condition, dict(seen.tally))
    over = seen.state in ENDED_JOB
    if condition.word == "started":
        if over:
            return Verdict.NEVER if is_orphan(seen) else Verdict.HOLDS
        return Verdict.HOLDS if seen.state in BEGUN else Verdict.WAITS
    if not over:
        return Verdict.WAITS
    held = {
        "done": seen.state == "DONE",
        "ended": True,
        "exit": seen.state == "EXITED" and not is_orphan(seen) and _code_fits(condition, seen),
        # Nothing runs behind a job, so what does is fine once the job is over.
        "post_done": True,
        "post_err": False,
    }[condition.word]
    return Verdict.HOLDS if held else Verdict.NEVER


def _of_tally(condition: Condition, tally: Mapping[str, int]) -> Verdict:
    """Of a whole array: counts look at the present; everything else must hold for each element."""
    size = sum(tally.values())
    over = set(tally) <= ENDED_JOB
    if condition.word.startswith("num"):
        found = sum(tally.get(one, 0) for one in COUNTED_AS[condition.word])
        op, number = ("==", size) if condition.op == EACH else (condition.op, condition.number)
        if COMPARE[op](found, number):
            return Verdict.HOLDS
        return Verdict.NEVER if over else Verdict.WAITS
    good, spoils = {
        "done": ({"DONE"}, {"EXITED"}),
        "exit": ({"EXITED"}, {"DONE"}),
        "ended": (ENDED_JOB, set()),
        "post_done": (ENDED_JOB, set()),
        "post_err": (set(), ENDED_JOB),
        "started": (BEGUN | ENDED_JOB, set()),
    }[condition.word]
    if set(tally) <= good:
        return Verdict.HOLDS
    return Verdict.WAITS if spoils.isdisjoint(tally) else Verdict.NEVER


def is_orphan(seen: Standing) -> bool:
    """Whether it was ended because its own dependency could never be met."""
    return seen.exit is not None and seen.exit.reason == IMPOSSIBLE


def code_of(seen: Standing) -> int:
    """The code that `exit` compares: as a shell has it, 0 where nothing ran to an end."""
    ended = seen.exit
    if ended is None or ended.how not in ("exited", "signalled"):
        return 0
    return ended.code if ended.how == "exited" else SIGNAL_BASE + ended.code


def _code_fits(condition: Condition, seen: Standing) -> bool:
    if not condition.op:
        return True
    return not seen.unsure and bool(COMPARE[condition.op](code_of(seen), condition.number))


def told_of_standing(condition: Condition, seen: Standing | None) -> str:
    """How what a condition is about stands, in words."""
    ref = ref_of(condition)
    if seen is None:
        return f"{_named(condition)} {NOT_THERE}"
    what = f"{'gang' if ref < 0 else 'job'} {_named(condition)}"
    if seen.tally:
        counts = ", ".join(f"{count} {name}" for name, count in seen.tally)
        return f"of array {ref} {counts}"
    if seen.state == "DONE":
        return f"{what} is done"
    if seen.state != "EXITED":
        return f"{what} is {seen.state}"
    if is_orphan(seen):
        return f"{what} never began: its own dependency could not be met"
    if seen.unsure:
        return f"{what} ended otherwise than well, its code is not known any more"
    if seen.exit is not None and seen.exit.how in ("exited", "signalled"):
        return f"{what} ended with exit code {code_of(seen)}"
    return f"{what} was ended before it ran"


def _named(condition: Condition) -> str:
    ref = ref_of(condition)
    return job_text(job_key(ref, int(condition.of.index))) if condition.of.index else ref_text(ref)

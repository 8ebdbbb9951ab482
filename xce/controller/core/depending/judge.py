"""What is known of a dependency now: of each of its conditions, and of the whole.

`done exit ended` look at how things ended, and once they held they are latched: `latched` holds
the numbers of those, and a job that is run again, or that has left the state, changes nothing of
them. `started` and the counts look at the present. A job that was ended because its own
dependency could never be met has never begun anything: it satisfies `ended`, and neither `exit`
nor `started`, so that a chain of "if the one before failed" does not go off by turns.
"""

import operator
from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from xce.controller.core.depending.terms import ref_of, ref_text, tree_of
from xce.controller.core.fold.eligible import awaits_others
from xce.model.group import Group
from xce.model.job import Exit, Job
from xce.model.tables import ENDED_JOB
from xce.resreq.options.dependency import (
    LATCHING,
    Condition,
    Verdict,
    canonical_dependency,
    verdict,
)
from xce.scheduler.reasons import Code, PendReason, reason

IMPOSSIBLE = "dependency"
"""Reason of the exit of a job whose dependency could never be met."""

SHOWN_MAX = 3
SIGNAL_BASE = 128
_COMPARE = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_BEGUN = frozenset({"RUNNING", "FINISHED", "ENDING", "RETRACTING"})


class Seen(Protocol):
    """The part of a state that is looked at."""

    @property
    def jobs(self) -> Mapping[int, Job]:
        """By key."""

    @property
    def groups(self) -> Mapping[int, Group]:
        """By number."""


class Standing(Struct, frozen=True, gc=False):
    """What a condition looks at: a job's or gang's state and how it ended."""

    state: str
    exit: Exit | None = None


class Part(Struct, frozen=True, gc=False):
    """One condition and what is known of it; `why` is for people."""

    condition: Condition
    verdict: Verdict
    why: str


class Judged(Struct, frozen=True, gc=False):
    """What is known of a whole dependency, and of its conditions in their order."""

    verdict: Verdict
    parts: tuple[Part, ...]

    def latching(self, latched: tuple[int, ...]) -> tuple[int, ...]:
        """Numbers of the conditions that hold for good and are not latched yet."""
        return tuple(
            number
            for number, part in enumerate(self.parts)
            if part.verdict is Verdict.HOLDS
            and part.condition.word in LATCHING
            and number not in latched
        )


def judge(
    state: Seen,
    text: str,
    latched: tuple[int, ...] = (),
    past: Mapping[int, Standing] | None = None,
) -> Judged:
    """What is known of an accepted expression; `past` tells of what left the state."""
    parts: list[Part] = []

    def look(condition: Condition) -> Verdict:
        if len(parts) in latched:
            part = Part(condition, Verdict.HOLDS, "")
        else:
            part = _judged(condition, standing_of(state, ref_of(condition), past or {}))
        parts.append(part)
        return part.verdict

    whole = verdict(tree_of(text), look)
    return Judged(whole, tuple(parts))


def judge_job(state: Seen, job: Job) -> Judged:
    """What is known of a job's dependency."""
    return judge(state, job.after_ids, job.after_latched)


def standing_of(state: Seen, ref: int, past: Mapping[int, Standing]) -> Standing | None:
    """How a job or a gang stands; None when nobody knows it any more."""
    if ref < 0:
        group = state.groups.get(-ref)
        return past.get(ref) if group is None else standing_of_group(group)
    job = state.jobs.get(ref)
    return past.get(ref) if job is None else Standing(job.state, job.exit)


def standing_of_group(group: Group) -> Standing:
    """A gang's verdict stands for an exit: 0, or 1."""
    if group.state not in ENDED_JOB:
        return Standing(group.state)
    code = 0 if group.state == "DONE" else 1
    return Standing(group.state, Exit(how="exited", code=code, reason=group.reason))


def _judged(condition: Condition, seen: Standing | None) -> Part:
    if seen is None:
        return Part(
            condition, Verdict.NEVER, f"{ref_text(ref_of(condition))} is not there any more"
        )
    found = _verdict(condition, seen)
    return Part(condition, found, "" if found is Verdict.HOLDS else _told(condition, seen))


def _verdict(condition: Condition, seen: Standing) -> Verdict:
    over = seen.state in ENDED_JOB
    if condition.word == "started":
        if over:
            return Verdict.NEVER if _is_orphan(seen) else Verdict.HOLDS
        return Verdict.HOLDS if seen.state in _BEGUN else Verdict.WAITS
    if not over:
        return Verdict.WAITS
    held = {
        "done": seen.state == "DONE",
        "ended": True,
        "exit": seen.state == "EXITED" and not _is_orphan(seen) and _code_fits(condition, seen),
        # Nothing runs behind a job, so what does is fine once the job is over.
        "post_done": True,
        "post_err": False,
    }[condition.word]
    return Verdict.HOLDS if held else Verdict.NEVER


def _is_orphan(seen: Standing) -> bool:
    return seen.exit is not None and seen.exit.reason == IMPOSSIBLE


def code_of(seen: Standing) -> int:
    """The code that `exit` compares: as a shell has it, 0 where nothing ran to an end."""
    ended = seen.exit
    if ended is None or ended.how not in ("exited", "signalled"):
        return 0
    return ended.code if ended.how == "exited" else SIGNAL_BASE + ended.code


def _code_fits(condition: Condition, seen: Standing) -> bool:
    return not condition.op or bool(_COMPARE[condition.op](code_of(seen), condition.number))


def _told(condition: Condition, seen: Standing) -> str:
    """How what a condition is about stands, in words."""
    what = f"{'gang' if ref_of(condition) < 0 else 'job'} {ref_text(ref_of(condition))}"
    if seen.state == "DONE":
        return f"{what} is done"
    if seen.state == "EXITED":
        if _is_orphan(seen):
            return f"{what} never began: its own dependency could not be met"
        ended = seen.exit
        if ended is not None and ended.how in ("exited", "signalled"):
            return f"{what} ended with exit code {code_of(seen)}"
        return f"{what} was ended before it ran"
    return f"{what} is {seen.state}"


# -- for people -----------------------------------------------------------------------------------


def pend_reason(state: Seen, job: Job) -> PendReason | None:
    """Why a job waits for others, with numbers; None when it does not."""
    if job.state != "PENDING" or not awaits_others(job):
        return None
    judged = judge_job(state, job)
    hold = sum(part.verdict is Verdict.HOLDS for part in judged.parts)
    never = judged.verdict is Verdict.NEVER
    wanted = Verdict.NEVER if never else Verdict.WAITS
    missing = [part for part in judged.parts if part.verdict is wanted]
    code = Code.DEPENDENCY_NEVER if never else Code.DEPENDENCY
    told = missing_text(missing or list(judged.parts))
    return reason(code, needed=len(judged.parts), available=hold, detail=told)


def missing_text(parts: list[Part]) -> str:
    """`done(12): job 12 is RUNNING; ...`."""
    told = [f"{part_text(part)}: {part.why or 'it holds'}" for part in parts[:SHOWN_MAX]]
    more = len(parts) - SHOWN_MAX
    return "; ".join([*told, *([f"and {more} more"] if more > 0 else [])])


def part_text(part: Part) -> str:
    """The condition as it is written, with the number of what it is about."""
    return canonical_dependency(part.condition).replace('"', "")


def told(text: str, judged: Judged) -> dict[str, Any]:
    """A dependency and each condition of it, as answers show them."""
    parts = [
        {"text": part_text(part), "verdict": part.verdict.value, "why": part.why or None}
        for part in judged.parts
    ]
    return {"text": text, "verdict": judged.verdict.value, "conditions": parts}


def told_of(state: Seen, job: Job) -> dict[str, Any] | None:
    """A job's dependency as answers show it; None when it has none. What was met stays met,
    whatever is known of its conditions now."""
    if not job.after:
        return None
    body = told(job.after, judge_job(state, job))
    if job.after_met_us:
        body["verdict"] = Verdict.HOLDS.value
    return {**body, "met_us": job.after_met_us or None}

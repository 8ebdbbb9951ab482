"""What is known of a dependency now: of each of its conditions, and of the whole.

`done exit ended` look at how things ended, and once they held they are latched: `latched` holds
the numbers of those, and a job that is run again, or that has left the state, changes nothing of
them. `started` and the counts look at the present. A job that was ended because its own
dependency could never be met has never begun anything: it satisfies `ended`, and neither `exit`
nor `started`, so that a chain of "if the one before failed" does not go off by turns.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from xce.controller.core.depending.standing import (
    Seen,
    Standing,
    standing_of,
    told_of_standing,
    verdict_of,
)
from xce.controller.core.depending.terms import tree_of
from xce.controller.core.fold.eligible import Waiter, still_awaits
from xce.model.job import Job
from xce.resreq.options.dependency import (
    LATCHING,
    Condition,
    Verdict,
    canonical_dependency,
    verdict,
)
from xce.scheduler.reasons import Code, PendReason, reason

SHOWN_MAX = 3


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
            part = _judged(condition, standing_of(state, condition, past or {}))
        parts.append(part)
        return part.verdict

    whole = verdict(tree_of(text), look)
    return Judged(whole, tuple(parts))


def judge_waiter(state: Seen, waiter: Waiter) -> Judged:
    """What is known of the dependency of a job or an array."""
    return judge(state, waiter.after_ids, waiter.after_latched)


def _judged(condition: Condition, seen: Standing | None) -> Part:
    found = verdict_of(condition, seen) if seen is not None else Verdict.NEVER
    why = "" if found is Verdict.HOLDS else told_of_standing(condition, seen)
    return Part(condition, found, why)


# -- for people -----------------------------------------------------------------------------------


def pend_reason(state: Seen, job: Waiter) -> PendReason | None:
    """Why a job or an array waits for others, with numbers; None when it does not."""
    held = isinstance(job, Job) and job.state != "PENDING"
    if held or not still_awaits(job):
        return None
    judged = judge_waiter(state, job)
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


def told_of(state: Seen, job: Waiter) -> dict[str, Any] | None:
    """A job's dependency as answers show it; None when it has none. What was met stays met,
    whatever is known of its conditions now."""
    if not job.after:
        return None
    body = told(job.after, judge_waiter(state, job))
    if job.after_met_us:
        body["verdict"] = Verdict.HOLDS.value
    return {**body, "met_us": job.after_met_us or None}

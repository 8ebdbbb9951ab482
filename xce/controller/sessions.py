"""Sessions between steps: when one is wanted, what it saw, and its plan as commands.

A session is wanted when something began to wait, or something was freed or changed since the
last one looked. Reasons of classes that did not fit are kept; while nothing was freed they hold,
and the next session skips those classes.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, structs

from xce.controller.core.arrays.elements import found_job, running_of
from xce.controller.core.claims.quota import limit_of
from xce.controller.core.claims.using import uses_in, uses_of, why_not
from xce.controller.core.commands import (
    Command,
    CommitPlan,
    CommitResumes,
    EndSession,
    Rejection,
    SubmitGroup,
)
from xce.controller.core.decide import Outcome, decide
from xce.controller.core.depending.judge import pend_reason
from xce.controller.core.fold.apply import apply
from xce.controller.core.fold.state import State
from xce.controller.core.never import NeverFits
from xce.controller.core.time.estimate import Estimate, estimate
from xce.controller.core.time.policies import sees_all
from xce.controller.core.view import Viewer
from xce.controller.core.whatif import Change, what_if
from xce.controller.step import Step
from xce.model.actor import CONTROLLER
from xce.model.ids import group_text, job_number, parse_claim, parse_group, parse_job
from xce.model.job import Job
from xce.model.units import format_moment
from xce.model.waiting.array import Array
from xce.scheduler.place.resuming import PREFIX
from xce.scheduler.plan import Plan
from xce.scheduler.reasons import Code, Cure, PendReason, reason
from xce.scheduler.session import SessionRun

STEPS_PER_TURN = 5_000
SLICE_GROUPS = 128
BOUND = Code.BACKFILL_BOUND
WIDER = frozenset({"reservation", "alternative"})
"""Timers at which a reservation falls, or a further alternative of a requirement opens."""


class Work(Struct):
    """A session under way."""

    run: SessionRun
    lsn: int
    now_us: int
    freed: int
    config_lsn: int
    tick_lsn: int
    known: Mapping[str, PendReason]
    planned: int = 0
    stale: int = 0
    reserved: int = 0


class Sessions:
    """The sessions of one state."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._viewer = Viewer(state)
        self.never = NeverFits(state, self._viewer)
        self._seen = (-1, -1)
        self._backoff_due = False
        self._looked_us = 0
        self._again_us = 0
        self._reasons: dict[str, PendReason] = {}
        self._reasons_freed = -1
        self._reasons_config = -1
        self._bounded = False
        self._learnt = False

    def wanted(self) -> bool:
        """Whether a session could change something."""
        index = self._state.index
        if not len(index.pending) and not index.resuming and not index.claims.waiting:
            return False
        return self._backoff_due or (index.freed, index.waits) != self._seen

    def note(self, done: Step) -> None:
        """What a step did: a back-off that is over makes work worth looking at again, and so does
        time that widens what may be placed: then no earlier reason holds."""
        if "backoff" in done.timers:
            self._backoff_due = True
        if not WIDER.isdisjoint(done.timers):
            self._backoff_due, self._reasons_freed = True, -1

    def begin(self, now_us: int) -> Work:
        """Take a snapshot and start on it."""
        index = self._state.index
        self._seen = (index.freed, index.waits)
        self._backoff_due = False
        self._looked_us = now_us
        known = self._known()
        snapshot = self._viewer.snapshot(now_us, known)
        self._look_again(snapshot.preempting.again_us)
        state, run = self._state, SessionRun(snapshot)
        lsns = (state.config_lsn, state.last("tick_lsn"))
        return Work(run, snapshot.lsn, now_us, index.freed, *lsns, known)

    def _known(self) -> dict[str, PendReason]:
        """Reasons that still hold: all of them while nothing was freed; else those of classes
        that would still be over the limit that they wait for."""
        index = self._state.index
        if sees_all(self._state.config):
            return {}
        if self._reasons_freed == index.freed:
            return self._tried() if self._bounded else self._reasons
        if self._reasons_config != self._state.config_lsn:
            return {}
        return {
            key: why
            for key, why in self._reasons.items()
            if why.code is Code.LIMIT_REACHED and index.limits.still(why)
        }

    def _tried(self) -> dict[str, PendReason]:
        """What is known without the classes that were only not looked at any more."""
        return {k: why for k, why in self._reasons.items() if why.code is not BOUND}

    def _look_again(self, at_us: int) -> None:
        """A session at that moment: then somebody may give way who may not yet."""
        if at_us and at_us != self._again_us:
            self._again_us = at_us
            self._state.index.timers.set(at_us, "reservation", 0)

    def advance(self, work: Work) -> bool:
        """Work on for a fixed count of search steps; True when the plan is there."""
        return work.run.advance(STEPS_PER_TURN)

    def slices(self, work: Work) -> Iterator[CommitPlan | CommitResumes]:
        """The plan as commands: who goes on, then placements of at most 256 groups."""
        plan = work.run.plan
        self._keep_reasons(plan, work)
        if plan.resumes:
            yield CommitResumes(
                actor=CONTROLLER,
                session=plan.session,
                snapshot_lsn=work.lsn,
                config_lsn=work.config_lsn,
                snapshot_us=work.now_us,
                digest=plan.digest,
                resumes=plan.resumes,
                tick_lsn=work.tick_lsn,
            )
        timed = bool(plan.reserves or plan.evictions)
        firsts = range(0, len(plan.placements), SLICE_GROUPS) or range(timed)
        for number, first in enumerate(firsts):
            yield CommitPlan(
                actor=CONTROLLER,
                session=plan.session,
                slice=number,
                snapshot_lsn=work.lsn,
                config_lsn=work.config_lsn,
                snapshot_us=work.now_us,
                digest=plan.digest,
                placements=plan.placements[first : first + SLICE_GROUPS],
                tick_lsn=work.tick_lsn,
                reserves=plan.reserves if number == len(firsts) - 1 else (),
                evictions=plan.evictions if number == len(firsts) - 1 else (),
            )

    def committed(self, work: Work, done: Step) -> None:
        """A slice was decided: count what held and what was stale."""
        for answer in done.answers:
            if isinstance(answer, Outcome):
                work.planned += answer.body.get("planned", 0)
                work.reserved += answer.body.get("reserved", 0)
                work.stale += len(answer.body.get("stale", ()))

    def end(self, work: Work) -> Command | None:
        """The session's last word, None when it changed nothing."""
        # Where the bound of looks kept some from being tried, the next session begins with them.
        if work.stale or (self._bounded and (work.planned or self._learnt)):
            self._backoff_due = True
        if not work.planned and not work.reserved:
            return None
        return EndSession(
            actor=CONTROLLER,
            session=work.run.plan.session,
            planned=work.planned,
            stale=work.stale,
            blocked=len(work.run.plan.reasons),
        )

    def _keep_reasons(self, plan: Plan, work: Work) -> None:
        if self._reasons_freed != work.freed:
            self._reasons = dict(work.known)
        self._reasons_freed, self._reasons_config = work.freed, work.config_lsn
        self._bounded = self._learnt = False
        all_again = sees_all(self._state.config)
        for entry in plan.reasons:
            bounded = entry.reason.code is BOUND
            self._bounded = self._bounded or bounded
            if not bounded and not all_again and entry.class_key not in work.known:
                self._learnt = True
            self._reasons[entry.class_key] = entry.reason

    # -- looking -----------------------------------------------------------------------------------
    def reason_for(self, entity: str) -> PendReason | None:
        """Why a job or a group waits, as the last session saw it."""
        state = self._state
        claim = state.claims.get(parse_claim(entity) or 0)
        if claim is not None:
            over = limit_of(state, self._viewer.table(), claim)
            return reason(Code.CLAIM_LIMIT, detail=over) if over else self._reasons.get(entity)
        number = parse_group(entity)
        if number is not None:
            going_on = (number, 0) in state.index.resuming
            group = state.groups.get(number)
            members = () if going_on or group is None else group.members()
            waits = (why_not(state, uses_of(state, state.jobs[one])) for one in members)
            if why := next((one for one in waits if one is not None), None):
                return why
            return self._reasons.get(f"{PREFIX}g{number}" if going_on else f"g{number}")
        key = parse_job(entity)
        if key is None:
            return None
        job = state.arrays.get(key) or found_job(state, key)
        if job is None:
            return None
        if isinstance(job, Job) and job.group:
            return self.reason_for(group_text(job.group))
        if isinstance(job, Job) and job.suspension != "ACTIVE":
            return self._reasons.get(f"{PREFIX}{entity}") if job.resume_us else None
        if why := pend_reason(state, job):
            return why
        if job.not_before_us > self._looked_us and self._begins(job):
            return reason(Code.BEGIN_TIME, detail=format_moment(job.not_before_us))
        if why := why_not(state, uses_in(state.specs[job.spec].claims)):
            return why
        return limit_reached(state, key) or self._reasons.get(state.index.class_of(job))

    def expected(self, entity: str, now_us: int) -> Estimate | None:
        """When a job or gang that waits is expected to begin, and where; None if unknown."""
        return estimate(self._state, self._viewer, entity, now_us)

    def _begins(self, job: Job | Array) -> bool:
        """Whether what a job waits for is its begin time, and no pause after a failed start."""
        return self._state.specs[job.spec].begin_us == job.not_before_us

    def dry_run(self, command: SubmitGroup | Change, now_us: int) -> Mapping[str, Any] | Rejection:
        """What would happen with this; nothing is kept."""
        if isinstance(command, SubmitGroup):
            return self._gang(command, now_us)
        return what_if(self._state, command, now_us)

    def _gang(self, command: SubmitGroup, now_us: int) -> Mapping[str, Any] | Rejection:
        """What a session would do with the gang if it were all that waits."""
        outcome = decide(self._state, command, now_us)
        if isinstance(outcome, Rejection):
            return outcome
        state = self._state
        for name, blob in outcome.blobs.items():
            state.intern(name, blob)
        with state.trial():
            for record in outcome.records:
                apply(state, record)
            number = parse_group(str(outcome.body["group"])) or 0
            ask = self._viewer.ask(number, 0, f"g{number}", now_us)
            assert ask is not None, "a gang that was just submitted waits"
            snapshot = self._viewer.snapshot(now_us, {}, 0, (ask,))
        for name in outcome.blobs:
            if name not in state.index.users:
                state.forget(name)
        run = SessionRun(structs.replace(snapshot, resumes=()))
        while not run.advance(STEPS_PER_TURN):
            pass
        return shown(run.plan)


def limit_reached(state: State, key: int) -> PendReason | None:
    """What the slot limit of an array says to its elements that wait, once it is reached."""
    array = state.arrays.get(job_number(key))
    running = running_of(state, array.number) if array is not None else 0
    if array is None or not array.limit or running < array.limit:
        return None
    return reason(Code.ARRAY_LIMIT, needed=array.limit, available=running)


def shown(plan: Plan) -> dict[str, Any]:
    """A plan of one gang for people: who would be where, or why not."""
    if not plan.placements:
        why = plan.reasons[0].reason if plan.reasons else None
        text = why.text() if why is not None else "no reason was given"
        never = why is not None and why.cure == Cure.NEVER
        return {"fits": False, "never": never, "members": [], "reason": text}
    members = [
        {
            "role": member.role,
            "rank": member.rank,
            "hosts": [
                {"host": share.host, "tasks": share.tasks, "instances": list(share.instances)}
                for share in member.shares
            ],
        }
        for member in plan.placements[0].members
    ]
    return {"fits": True, "never": False, "members": members, "reason": ""}

"""decide(state, command, now_us): what a command means, as records or a Rejection. Pure.

The state is used as scratch paper inside a trial and is the same afterwards. Each command type
has one function; the rooms beside this file hold them by who asks.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from xce.controller.core import commands as c
from xce.controller.core.claims.decide import create_claim, end_claim, renew_claim
from xce.controller.core.claims.islands import publish_island
from xce.controller.core.deciders.asked.arrays import limit_array
from xce.controller.core.deciders.asked.kill import kill
from xce.controller.core.deciders.asked.modify import modify_job
from xce.controller.core.deciders.asked.move import move_job, switch_job
from xce.controller.core.deciders.asked.queues import change_queue, turn_window
from xce.controller.core.deciders.asked.requeue import requeue_job
from xce.controller.core.deciders.asked.submit import submit_group, submit_job
from xce.controller.core.deciders.asked.suspend import resume_work, suspend_work
from xce.controller.core.deciders.clock import timer_due
from xce.controller.core.deciders.hosts import host_event, register_host
from xce.controller.core.deciders.log import end_session, load_config, note_cut, start_leading
from xce.controller.core.deciders.losses import host_fenced, leases_over
from xce.controller.core.deciders.plan import commit_plan
from xce.controller.core.deciders.reports import take_report
from xce.controller.core.deciders.resumes import commit_resumes
from xce.controller.core.depending.latch import latch
from xce.controller.core.fold.state import State
from xce.controller.core.gangs.settling import settle_gangs
from xce.controller.core.job_groups.decide import change_job_group
from xce.controller.core.life.draft import Draft
from xce.controller.core.resources.decide import add_pool, add_type, remove_resource, take_tick
from xce.controller.core.time.advance import add_reservation, remove_reservation
from xce.controller.core.time.reservations import settle_reservations
from xce.model.actor import SYSTEM
from xce.model.records import Record


class Outcome(Struct, frozen=True, gc=False, kw_only=True):
    """What was decided: records in order, the blobs they name, the answer for the asker. `lsn`
    is that of an earlier answer which is given again, else 0."""

    records: tuple[Record, ...] = ()
    blobs: dict[str, bytes] = {}
    body: dict[str, Any] = {}
    lsn: int = 0


_DECIDERS: dict[type, Callable[[Draft, Any], c.Rejection | tuple[dict[str, Any], dict[str, bytes]]]]
_DECIDERS = {
    c.SubmitJob: submit_job,
    c.SubmitGroup: submit_group,
    c.Kill: kill,
    c.ChangeJobGroup: change_job_group,
    c.AddReservation: add_reservation,
    c.RemoveReservation: remove_reservation,
    c.LimitArray: limit_array,
    c.RequeueJob: requeue_job,
    c.Suspend: suspend_work,
    c.Resume: resume_work,
    c.ModifyJob: modify_job,
    c.SwitchJob: switch_job,
    c.MoveJob: move_job,
    c.CreateClaim: create_claim,
    c.RenewClaim: renew_claim,
    c.PublishIsland: publish_island,
    c.EndClaim: end_claim,
    c.LoadConfig: load_config,
    c.ChangeQueue: change_queue,
    c.TurnWindow: turn_window,
    c.RegisterHost: register_host,
    c.TakeReport: take_report,
    c.HostEvent: host_event,
    c.LeasesOver: leases_over,
    c.HostFenced: host_fenced,
    c.TimerDue: timer_due,
    c.CommitPlan: commit_plan,
    c.CommitResumes: commit_resumes,
    c.EndSession: end_session,
    c.NoteCut: note_cut,
    c.StartLeading: start_leading,
    c.AddType: add_type,
    c.AddPool: add_pool,
    c.RemoveResource: remove_resource,
    c.TakeTick: take_tick,
}


_INTERNAL = (
    c.TimerDue, c.CommitPlan, c.CommitResumes, c.EndSession, c.NoteCut, c.StartLeading,
    c.LeasesOver, c.HostFenced, c.TurnWindow,
)  # fmt: skip


def decide(state: State, command: c.Command, now_us: int) -> Outcome | c.Rejection:
    """What `command` means at `now_us`. Leaves `state` as it was.

    Gives a Rejection for the asker's mistakes. Raises IllegalTransition or AssertionError only
    for a bug: then nothing may be written and the process must stop.
    """
    early = _early(command)
    if early is not None:
        return early
    with state.trial():
        return _decided(state, command, now_us)


def decide_and_apply(state: State, command: c.Command, now_us: int) -> Outcome | c.Rejection:
    """`decide`, and then `apply` of each record, in one go: what decide tried is kept, since it
    was tried by the very functions that apply uses. A Rejection leaves `state` as it was."""
    early = _early(command)
    if early is not None:
        return early
    with state.trial() as trial:
        outcome = _decided(state, command, now_us)
        if isinstance(outcome, Outcome):
            for name, blob in outcome.blobs.items():
                state.intern(name, blob)
            trial.keep()
    return outcome


def _early(command: c.Command) -> Outcome | c.Rejection | None:
    """What can be said without a look at the state."""
    request = getattr(command, "request", None)
    if request is not None and request.key:
        repeated = _repeated(request)
        if repeated is not None:
            return repeated
    if isinstance(command, _INTERNAL) and command.actor.kind != SYSTEM:
        return c.Rejection(code="not_allowed", message="only the controller itself may ask that")
    return None


def _decided(state: State, command: c.Command, now_us: int) -> Outcome | c.Rejection:
    draft = Draft(state, command.actor, now_us, _cause(command))
    result = _DECIDERS[type(command)](draft, command)
    if isinstance(result, c.Rejection):
        return result
    settle_gangs(draft)
    latch(draft)
    settle_reservations(draft)
    body, blobs = result
    return Outcome(records=tuple(draft.close()), blobs=blobs, body=body)


def _cause(command: c.Command) -> str:
    request = getattr(command, "request", None)
    return f"{command.actor.uid}:{request.key}" if request is not None and request.key else ""


def _repeated(request: c.Request) -> Outcome | c.Rejection | None:
    if request.seen_answer is None:
        return None
    if request.seen_digest != request.digest:
        return c.Rejection(
            code="key_reused",
            message=f"the idempotency key {request.key} was used for another request",
            field="Idempotency-Key",
            hint="make a new key for each new request",
        )
    return Outcome(body=request.seen_answer, lsn=request.seen_lsn)

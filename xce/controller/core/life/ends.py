"""How work ends: launches, then members; what that means for their gang is judged in `gangs`.

A launch's end gives back its share, then may end its member, then its group. A group ends only
when none of its launches is live.
"""

from msgspec import structs

from xce.controller.core.gangs.judging import exit_of, note_failure
from xce.controller.core.gangs.restarting import members_of_broken, settle_restarts
from xce.controller.core.gangs.settling import settle_group
from xce.controller.core.gangs.standing import STOPPED, is_further, is_good
from xce.controller.core.life.again import is_success, runs_again
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.missing import launch_name
from xce.controller.core.life.relations import consumers, is_over
from xce.controller.core.life.rules import CLAIM_LOST
from xce.controller.core.life.starts import (
    BAD_TASK,
    break_start,
    count_ready,
    fail_start,
    launch_begun,
    retry_broken_job,
    retry_broken_members,
)
from xce.controller.core.life.suspending import settle_suspension
from xce.controller.core.queueing.fairness import charge
from xce.model.group import Group
from xce.model.ids import claim_text, group_text, host_ref, job_text
from xce.model.job import Exit, Job
from xce.model.records import LaunchEnded
from xce.model.start import Launch, Start
from xce.model.tables import LIVE_LAUNCH

_EVENTS = {"exited": "exit", "signalled": "exit", "aborted": "abort", "lost": "lose"}
_LIMITS = ("run_limit", "deadline")
_REASONS = dict.fromkeys(("host_lost", "reboot", "lease"), "host_lost") | {
    cause: cause for cause in ("oom", *_LIMITS)
}
_OF_GANGS = ("group_retract", "group_finish", "start_break", "start_fail", "burst", "restart")
"""Why the system stops members of gangs: what they then exit with says nothing about them."""


def end_launch(draft: Draft, facts: LaunchEnded, host: str) -> None:
    """A launch is over, by a report or by proof: everything that follows from it."""
    state = draft.state
    launch = state.launches[facts.launch]
    job = state.jobs[launch.job]
    draft.open(facts, [job_text(job.key), *([group_text(job.group)] if job.group else [])])
    draft.name(host_ref(host))
    before = launch.state
    start = state.starts[launch.start]
    if before in LIVE_LAUNCH:
        draft.patch("start", start.number, ended=start.ended + 1)
    draft.fire(
        "launch", launch.number, _EVENTS[facts.how], how=facts.how, code=facts.code,
        cause_of_end=facts.cause_of_end, ran=facts.ran, ended_us=facts.ended_us or draft.now_us,
        started_us=facts.started_us or launch.started_us,
    )  # fmt: skip
    _give_up_share(draft, launch)
    _empty_host(draft, host)
    if facts.ran == "yes" and not launch.started_us:
        launch_begun(draft, launch)
    culprit = (f"{launch_name(state, launch)} on {host}: {_why(facts)}",)
    # Only what is known never to have run may be run again: `unknown` is a host lost.
    if before in ("PREPARING", "ARMED") and facts.ran == "no":
        if start.state == "OPEN":
            fail_start(draft, start.number, facts.cause_of_end or "prepare_failed", culprit)
        else:
            reason = BAD_TASK if facts.cause_of_end == BAD_TASK else "start_lost"
            break_start(draft, start.number, culprit, reason)
    _member_progress(draft, launch, _exit_of(facts, before, launch.stop_reason, host))


def _empty_host(draft: Draft, host: str) -> None:
    """A draining host is closed when nothing of it is left."""
    state = draft.state
    if state.hosts[host].admin == "DRAINING" and not state.index.live_launches.get(host):
        draft.fire("admin", host, "empty")


def lose_claim(draft: Draft, claim: int) -> None:
    """A claim failed under its consumers: a start that has not passed fails; what runs with the
    claim is stopped, for that reason."""
    state = draft.state
    found = state.claims[claim]
    culprit = f"claim {found.name or found.type} ({claim_text(claim)}) was lost"
    used = consumers(state, claim)
    own = [found.start] if found.start else []
    starts = [*own, *(state.launches[one].start for one in used)]
    opened = [one for one in dict.fromkeys(starts) if state.starts[one].state == "OPEN"]
    for start in opened:
        fail_start(draft, start, CLAIM_LOST, (culprit,))
    for number in used:
        launch = state.launches[number]
        if launch.start not in opened and launch.state in LIVE_LAUNCH:
            _stop_for_claim(draft, number, claim)


def _stop_for_claim(draft: Draft, number: int, claim: int) -> None:
    draft.name(claim_text(claim))
    draft.fire("launch", number, "stop", stop_reason=CLAIM_LOST)


def _why(facts: LaunchEnded) -> str:
    cause = facts.message or facts.cause_of_end.replace("_", " ")
    return f"{facts.how}{f', {cause}' if cause else ''}, seen by {facts.evidence}"


def _give_up_share(draft: Draft, launch: Launch) -> None:
    allocation = draft.state.allocations.get(launch.allocation)
    if allocation is None:
        return
    left = tuple(share for share in allocation.shares if share.host != launch.host)
    for share in allocation.shares:
        if share.host == launch.host:
            charge(draft, draft.state.jobs[launch.job], share)
    if left:
        lent = tuple(share for share in allocation.lent if share.host != launch.host)
        fields = {"lent": lent} if lent != allocation.lent else {}
        draft.patch("allocation", allocation.number, shares=left, **fields)
    else:
        draft.drop("allocation", allocation.number, "given_up")


def _exit_of(facts: LaunchEnded, before: str, stop_reason: str, host: str) -> Exit:
    """What the launch's end means for its job."""
    if facts.cause_of_end in _REASONS:
        reason = _REASONS[facts.cause_of_end]
    elif before == "STOPPING" and stop_reason == CLAIM_LOST:
        reason = CLAIM_LOST
    elif before == "STOPPING" and stop_reason in _LIMITS and facts.how != "lost":
        reason = stop_reason
    elif before == "STOPPING" and _was_stopped(facts, stop_reason):
        reason = STOPPED
    elif facts.how == "exited":
        reason = "exit"
    else:
        reason = {"signalled": "signal", "lost": "host_lost"}.get(facts.how, "start_lost")
    return Exit(how=facts.how, code=facts.code, reason=reason, host=host)


def _was_stopped(facts: LaunchEnded, stop_reason: str) -> bool:
    """Whether a launch ended because it was to be gone. A member of a gang may have failed by
    itself just before its host heard of that: then its host names no cause."""
    if stop_reason not in _OF_GANGS or facts.how == "lost":
        return facts.how != "exited"
    return bool(facts.cause_of_end) and (facts.how != "exited" or facts.code != 0)


def _member_progress(draft: Draft, launch: Launch, ended: Exit) -> None:
    state = draft.state
    job = state.jobs[launch.job]
    if job.start != launch.start:
        return
    own = [state.launches[number] for number in job.launches]
    live = [one for one in own if one.state in LIVE_LAUNCH]
    # Hosts beyond the first have no processes of their own under `run: once`; losing one is still
    # losing a part of the job, while being stopped after the first one's end means nothing.
    if launch.processes or (ended.reason == "host_lost" and launch.state != "STOPPING"):
        if job.exit is None or (is_good(job.exit) and not is_good(ended)):
            draft.patch("job", job.key, exit=ended)
        working = any(one.processes for one in live)
        if not is_good(ended) or not working:
            for one in live:
                draft.fire("launch", one.number, "stop", stop_us=draft.now_us, stop_reason="done")
    if not live:
        _end_member(draft, job.key)
    else:
        settle_suspension(draft, job.key)


def _end_member(draft: Draft, key: int) -> None:
    """All launches of a member's attempt are over."""
    state = draft.state
    job = state.jobs[key]
    if job.group == 0:
        _end_plain(draft, job)
        return
    group = state.groups[job.group]
    if job.state == "ENDING":
        draft.fire("job", key, "end_exited", exit=_killed(job))
    elif group.state in ("RUNNING", "ENDING") and state.starts[job.start].state == "PASSED":
        draft.fire("job", key, "finish", ended_us=draft.now_us, allocation=0)
        if group.state == "RUNNING":
            _finished(draft, group, state.jobs[key])
    elif group.state == "RUNNING" and is_further(state, state.starts[job.start]):
        _settle_broken(draft, state.starts[job.start])
    settle_group(draft, job.group)


def _settle_broken(draft: Draft, start: Start) -> None:
    """A start of some members broke: once nothing of it is left they wait again, but for those
    that had ended well."""
    state = draft.state
    if not is_over(state, start.number):
        return
    for job in members_of_broken(state, start):
        if not (job.state == "FINISHED" and is_good(job.exit)):
            draft.fire("job", job.key, "start_failed")
    retry_broken_members(draft, start.number)


def _end_plain(draft: Draft, job: Job) -> None:
    if job.state == "ENDING":
        draft.fire("job", job.key, "end_exited", exit=_killed(job), allocation=0)
    elif runs_again(draft, job.key):
        return
    elif draft.state.starts[job.start].state == "FAILED":
        retry_broken_job(draft, job.key)
    else:
        event = "end_done" if is_success(draft.state, job) else "end_exited"
        draft.fire("job", job.key, event, ended_us=draft.now_us, allocation=0)


def _killed(job: Job) -> Exit:
    """The exit of a job that was asked to end: what its processes said, and why."""
    reason = job.kill_reason if job.kill_reason in _LIMITS else "killed"
    return structs.replace(job.exit or Exit(), reason=reason, by=job.kill_reason)


def _finished(draft: Draft, group: Group, job: Job) -> None:
    """A member ended while its group runs."""
    if job.awaits:
        settle_restarts(draft, group.number)
    elif is_good(job.exit):
        count_ready(draft, job.start, job, "done")
    elif exit_of(job).reason != STOPPED:
        note_failure(draft, group, job)


__all__ = ["end_launch", "lose_claim", "settle_group"]

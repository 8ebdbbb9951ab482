"""How work ends: launches, then members, then groups; success, failure and their rules.

A launch's end gives back its share, then may end its member, then its group. Failures that leave
others running open a window in which one burst counts as one event; then the first matching rule
decides. A group ends only when none of its launches is live.
"""

from msgspec import structs

from xce.controller.core.fold.state import State
from xce.controller.core.life.again import is_success, runs_again
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.relations import consumers, is_over
from xce.controller.core.life.rules import CLAIM_LOST, delay_us, rank_of, spend
from xce.controller.core.life.starts import (
    BAD_TASK,
    break_start,
    count_ready,
    fail_start,
    launch_begun,
    launch_name,
    retry_broken_job,
    role_ready,
)
from xce.controller.core.life.suspending import settle_suspension
from xce.controller.core.queueing.fairness import charge
from xce.model.group import FailureRule, Group
from xce.model.ids import claim_text, group_text, host_ref, job_text
from xce.model.job import Exit, Job
from xce.model.records import FailureNoted, GroupDecided, GroupEnded, LaunchEnded
from xce.model.start import Launch
from xce.model.tables import LIVE_LAUNCH

_EVENTS = {"exited": "exit", "signalled": "exit", "aborted": "abort", "lost": "lose"}
_LIMITS = ("run_limit", "deadline")
_REASONS = dict.fromkeys(("host_lost", "reboot", "lease"), "host_lost") | {
    cause: cause for cause in ("oom", *_LIMITS)
}


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
    starts = [found.start] if found.start else [state.launches[one].start for one in used]
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
    elif before == "STOPPING" and facts.how != "exited":
        reason = "stopped"
    elif facts.how == "exited":
        reason = "exit"
    else:
        reason = {"signalled": "signal", "lost": "host_lost"}.get(facts.how, "start_lost")
    return Exit(how=facts.how, code=facts.code, reason=reason, host=host)


def is_good(ended: Exit | None) -> bool:
    """Whether an end counts as success."""
    if ended is None or ended.reason == "host_lost":
        return False
    return ended.how == "exited" and ended.code == 0


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
    settle_group(draft, job.group)


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
    if is_good(job.exit):
        count_ready(draft, job.start, job, "done")
        return
    if any_live(draft.state, group.number):
        if not group.window_until_us:
            until = draft.now_us + draft.state.config.failure_window_us
            draft.open(
                FailureNoted(group=group.number, job=job.key, until_us=until),
                [group_text(group.number), job_text(job.key)],
            )
            draft.patch("group", group.number, window_until_us=until, window_opened_us=draft.now_us)
    else:
        classify(draft, group.number)


def any_live(state: State, number: int) -> bool:
    """Whether a launch of the group's present start is live."""
    group = state.groups[number]
    return bool(group.start) and not is_over(state, group.start)


# -- groups ---------------------------------------------------------------------------------------


def settle_group(draft: Draft, number: int) -> None:
    """Take a group on when nothing of it is live: retracted, ended, or all FINISHED."""
    state = draft.state
    group = state.groups[number]
    if any_live(state, number):
        return
    if group.state == "RETRACTING":
        draft.fire("group", number, "retracted", pending_us=draft.now_us, window_until_us=0)
        # Only now: its claims are found by way of its start.
        draft.patch("group", number, start=0)
    elif group.state == "ENDING":
        _end_group(draft, number, group.verdict, group.reason)
    elif group.state == "RUNNING":
        members = state.starts[group.start].members
        if all(state.jobs[key].state == "FINISHED" for key in members):
            if _undecided(state, group):
                classify(draft, number)
            else:
                _end_group(draft, number, "DONE", "")


def _end_group(draft: Draft, number: int, verdict: str, reason: str) -> None:
    draft.open(GroupEnded(group=number, verdict=verdict, reason=reason), [group_text(number)])
    state = draft.state
    for key in state.groups[number].members():
        job = state.jobs[key]
        if job.state == "FINISHED":
            good = is_good(job.exit) or (verdict == "DONE" and _stopped(job.exit))
            draft.fire("job", key, "end_done" if good else "end_exited")
        elif job.exit is None and job.state in ("PENDING", "STARTING", "RUNNING", "HELD"):
            draft.patch("job", key, exit=Exit(how="none", reason=reason or "not_started"))
    event = "end_done" if verdict == "DONE" else "end_exited"
    draft.fire("group", number, event, ended_us=draft.now_us, verdict=verdict, reason=reason)


def _stopped(ended: Exit | None) -> bool:
    return ended is not None and ended.reason == "stopped"


# -- failure rules --------------------------------------------------------------------------------


def _undecided(state: State, group: Group) -> list[Job]:
    """Members whose failure no rule has judged yet, in rank order."""
    jobs = (state.jobs[key] for key in state.starts[group.start].members)
    return [
        job
        for job in jobs
        if job.state == "FINISHED" and not is_good(job.exit) and job.exit and not job.exit.by
    ]


def classify(draft: Draft, number: int) -> None:
    """Judge a burst of failures: infrastructure first, then the first rule that matches."""
    state = draft.state
    group = state.groups[number]
    failed = _undecided(state, group)
    if group.state != "RUNNING" or not failed:
        return
    rules = state.group_spec(group).failure_policy
    judged = [(rank_of(rules, group.spent, job.role, exit_of(job)), job) for job in failed]
    (_, index), culprit = min(judged, key=lambda pair: (pair[0], pair[1].ended_us, pair[1].key))
    text = f"{culprit.role}[{culprit.rank}] {_exit_text(exit_of(culprit))}"
    _decide(draft, group, index, (text, tuple(job.key for job in failed)))
    settle_group(draft, number)


def _decide(draft: Draft, group: Group, index: int, what: tuple[str, tuple[int, ...]]) -> str:
    """Write down which rule decides (none: the gang fails) and act on it; gives the action."""
    rules = draft.state.group_spec(group).failure_policy
    rule = rules[index] if index < len(rules) else FailureRule()
    delay = delay_us(rule, group.spent, index)
    reason, members = what
    facts = GroupDecided(
        group=group.number,
        rule=index if index < len(rules) else -1,
        action=rule.action,
        members=members,
        reason=reason,
        not_before_us=draft.now_us + delay if delay else 0,
    )
    draft.open(facts, [group_text(group.number), *(job_text(key) for key in members)])
    _act(draft, group.number, facts, spend(group.spent, index, len(rules)))
    return rule.action


def not_ready(draft: Draft, number: int, role: str, text: str) -> None:
    """A role was not ready in time: a failure of its own kind, for the rules to judge."""
    state = draft.state
    group = state.groups[number]
    rules = state.group_spec(group).failure_policy
    _, index = rank_of(rules, group.spent, role, Exit(reason="not_ready"))
    action = _decide(draft, group, index, (f"{role} {text}", ()))
    if action == "tolerate":
        role_ready(draft, group.start, role)
    settle_group(draft, number)


def _act(draft: Draft, number: int, facts: GroupDecided, spent: tuple[int, ...]) -> None:
    common = {"window_until_us": 0, "spent": spent}
    if facts.action == "restart_group":
        draft.fire("group", number, "retract", not_before_us=facts.not_before_us, **common)
    elif facts.action == "tolerate":
        for key in facts.members:
            ended = draft.state.jobs[key].exit
            assert ended is not None
            told = Exit(how=ended.how, code=ended.code, reason=ended.reason, by="tolerated")
            draft.patch("job", key, exit=told)
        draft.patch("group", number, **common)
    else:
        draft.fire("group", number, "finish", verdict="EXITED", reason=facts.reason, **common)


def exit_of(job: Job) -> Exit:
    """How a finished member ended."""
    assert job.exit is not None
    return job.exit


def _exit_text(ended: Exit) -> str:
    if ended.how == "exited":
        return f"exited with code {ended.code}"
    if ended.how == "signalled":
        return f"was ended by signal {ended.code} ({ended.reason})"
    return f"{ended.how} ({ended.reason})"


__all__ = [
    "any_live",
    "classify",
    "end_launch",
    "is_good",
    "lose_claim",
    "not_ready",
    "settle_group",
]

"""What failures mean for a gang: its rules judge a burst, and what they say is done.

The first failure that leaves others running opens a window; what no rule could keep is stopped at
once. When the window is over, causes of the infrastructure are judged first, then by the order of
the rules, then by the order of the ends. A rule that is about the whole gang decides alone. A
restart of members for a cause of the infrastructure covers all that failed with it; every other
rule covers the failures that it matches, and the rest are judged after it. A kill by the system
is no failure.
"""

from msgspec import structs

from xce.controller.core.fold.state import State
from xce.controller.core.gangs.restarting import repair_members, restart_members
from xce.controller.core.gangs.standing import (
    STOPPED,
    TOLERATED,
    any_live,
    below_minimum,
    is_good,
    members_of,
)
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.rules import (
    RESTART_MEMBER,
    RESTART_ROLE,
    TOLERATE,
    WHOLE,
    delay_us,
    doomed,
    rank_of,
    spend,
)
from xce.controller.core.life.starts import role_ready
from xce.model.group import FailureRule, Group
from xce.model.ids import group_text, job_text
from xce.model.job import Exit, Job
from xce.model.records import FailureNoted, GroupDecided
from xce.model.tables import LIVE_LAUNCH
from xce.model.units import format_duration

BURST = "burst"
Judged = tuple[int, int]


def note_failure(draft: Draft, group: Group, job: Job) -> None:
    """A member of a running gang failed: wait for what else the same event took, or judge."""
    state = draft.state
    if not any_live(state, group.number):
        classify(draft, group.number)
        return
    if not group.window_until_us:
        until = draft.now_us + state.config.failure_window_us
        draft.open(
            FailureNoted(group=group.number, job=job.key, until_us=until),
            [group_text(group.number), job_text(job.key)],
        )
        draft.patch("group", group.number, window_until_us=until, window_opened_us=draft.now_us)
    spec = state.group_spec(group)
    roles = doomed(spec.failure_policy, group.spent, job.role, exit_of(job), spec.repairs)
    for one in members_of(state, group) if roles else ():
        if one.role in roles or "" in roles:
            stop_member(draft, one, BURST)


def stop_member(draft: Draft, job: Job, why: str) -> None:
    """Within the record in the making: what runs of a member is to be gone."""
    for number in job.launches:
        if draft.state.launches[number].state in LIVE_LAUNCH:
            draft.fire("launch", number, "stop", stop_reason=why)


def undecided(state: State, group: Group) -> list[Job]:
    """Members whose failure no rule has judged yet, in rank order."""
    return [
        job
        for job in members_of(state, group)
        if job.state == "FINISHED"
        and not job.awaits
        and job.exit
        and not (is_good(job.exit) or job.exit.by or job.exit.reason == STOPPED)
    ]


def classify(draft: Draft, number: int) -> None:
    """Judge a burst of failures; see above for the order."""
    before = -1
    while True:
        group = draft.state.groups[number]
        failed = undecided(draft.state, group)
        if group.state != "RUNNING" or not failed:
            return
        if len(failed) == before:
            raise AssertionError(f"failures of group {number} were judged and are still there")
        before = len(failed)
        rules = draft.state.group_spec(group).failure_policy
        judged = [(rank_of(rules, group.spent, job.role, exit_of(job)), job) for job in failed]
        rank, culprit = min(judged, key=lambda pair: (pair[0], pair[1].ended_us, pair[1].key))
        text = f"{culprit.role}[{culprit.rank}] {_exit_text(exit_of(culprit))}"
        covered = _covered(rules, rank, judged)
        _decide(draft, group, rank, (text, covered))


def _covered(
    rules: tuple[FailureRule, ...], rank: Judged, judged: list[tuple[Judged, Job]]
) -> tuple[int, ...]:
    infrastructure, index = rank
    action = rules[index].action if index < len(rules) else ""
    collateral = not infrastructure and action in (RESTART_MEMBER, RESTART_ROLE)
    if action in WHOLE or collateral:
        return tuple(job.key for _, job in judged)
    return tuple(job.key for one, job in judged if one == rank)


def _decide(draft: Draft, group: Group, rank: Judged, what: tuple[str, tuple[int, ...]]) -> str:
    """Write down which rule decides (none: the gang fails, or is repaired) and act on it; gives
    the action."""
    spec = draft.state.group_spec(group)
    rules = spec.failure_policy
    infrastructure, index = rank
    rule = rules[index] if index < len(rules) else FailureRule()
    if index >= len(rules) and not infrastructure and spec.repairs and what[1]:
        rule = FailureRule(action=TOLERATE)
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
    if rule.avoid_host:
        _avoid(draft, members)
    _act(draft, group.number, facts, spend(group.spent, index, len(rules)))
    return rule.action


def _avoid(draft: Draft, members: tuple[int, ...]) -> None:
    """Failed members do not come back to the hosts that they failed on."""
    for key in members:
        job = draft.state.jobs[key]
        host = exit_of(job).host
        if host and host not in job.avoid:
            draft.patch("job", key, avoid=tuple(sorted((*job.avoid, host))))


def not_ready(draft: Draft, number: int, start: int, role: str, text: str) -> None:
    """A role was not ready in time: a failure of its own kind, for the rules to judge."""
    state = draft.state
    group = state.groups[number]
    rules = state.group_spec(group).failure_policy
    rank = rank_of(rules, group.spent, role, Exit(reason="not_ready"))
    rule = rules[rank[1]] if rank[1] < len(rules) else FailureRule()
    late: tuple[int, ...] = ()
    if rule.action in (RESTART_ROLE, RESTART_MEMBER):
        late = tuple(key for key in state.starts[start].members if state.jobs[key].role == role)
    action = _decide(draft, group, rank, (f"{role} {text}", late))
    if action == TOLERATE:
        role_ready(draft, start, role)


def _act(draft: Draft, number: int, facts: GroupDecided, spent: tuple[int, ...]) -> None:
    common = {"window_until_us": 0, "spent": spent}
    if facts.action in ("restart_group", "requeue"):
        again = {"turn_us": draft.now_us} if facts.action == "requeue" else {}
        until_us = facts.not_before_us
        draft.fire("group", number, "retract", not_before_us=until_us, **again, **common)
    elif facts.action == TOLERATE:
        draft.patch("group", number, **common)
        for key in facts.members:
            told = structs.replace(exit_of(draft.state.jobs[key]), by=TOLERATED)
            draft.patch("job", key, exit=told)
        _degrade(draft, number, facts)
    elif facts.action in (RESTART_ROLE, RESTART_MEMBER):
        draft.patch("group", number, **common)
        restart_members(draft, number, facts)
    else:
        draft.fire("group", number, "finish", verdict="EXITED", reason=facts.reason, **common)


def _degrade(draft: Draft, number: int, facts: GroupDecided) -> None:
    """Lost ranks are repaired where the manifest says so, while each role has its minimum."""
    state = draft.state
    group = state.groups[number]
    if not (state.group_spec(group).repairs and facts.members):
        return
    repair_members(draft, number, facts.members)
    short = below_minimum(state, group)
    if short is not None:
        give_up_degraded(draft, number, f"{facts.reason}; {short.name} is below its minimum")


def degraded_due(draft: Draft, number: int) -> None:
    """A degraded gang was not repaired within its grace."""
    group = draft.state.groups.get(number)
    if group is None or group.state != "RUNNING" or not group.degraded_us:
        return
    grace_us = draft.state.group_spec(group).degraded_grace_us
    if group.degraded_us + grace_us <= draft.now_us:
        give_up_degraded(draft, number, f"not repaired within {format_duration(grace_us)}")


def give_up_degraded(draft: Draft, number: int, why: str) -> None:
    """What the manifest says becomes of a degraded gang that cannot go on."""
    group = draft.state.groups[number]
    then = draft.state.group_spec(group).degraded_then
    facts = GroupDecided(group=number, rule=-1, action=then, members=(), reason=f"degraded: {why}")
    draft.open(facts, [group_text(number)])
    _act(draft, number, facts, group.spent)


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


__all__ = ["classify", "degraded_due", "not_ready", "note_failure"]

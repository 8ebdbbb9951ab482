"""Members of a running gang that are placed again: by a rule, or because they were lost.

A member that a rule restarts is stopped first; when nothing of any such member of the gang is left
they wait together for one start of their own. A lost rank waits at once. Neither moves the others.
"""

from collections.abc import Iterable

from xce.controller.core.fold.state import State
from xce.controller.core.gangs.standing import (
    GIVEN_UP,
    GROWTH,
    REPAIR,
    RESTART,
    members_of,
    shared_claims,
    starts_of,
    uses_shared,
)
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.rules import RESTART_ROLE
from xce.model.job import Job
from xce.model.records import GroupDecided
from xce.model.start import Start
from xce.model.tables import LIVE_LAUNCH

START_FAILED = "start_failed"


def restart_members(draft: Draft, number: int, facts: GroupDecided) -> None:
    """Within the decision: these members, or all members of their roles, run again."""
    state = draft.state
    keys = set(facts.members)
    if facts.action == RESTART_ROLE:
        roles = {state.jobs[key].role for key in keys}
        whole = members_of(state, state.groups[number])
        keys = {job.key for job in whole if job.role in roles and _has_begun(job)}
    for key in sorted(keys):
        fields = {"awaits": RESTART, "not_before_us": facts.not_before_us}
        draft.patch("job", key, **fields)
        for launch in state.jobs[key].launches:
            if state.launches[launch].state in LIVE_LAUNCH:
                draft.fire("launch", launch, "stop", stop_reason=RESTART)
    settle_restarts(draft, number)


def _has_begun(job: Job) -> bool:
    return job.state != "PENDING" or job.awaits == REPAIR


def settle_restarts(draft: Draft, number: int) -> None:
    """Within the record in the making: once nothing of the members to restart is left they wait,
    and what only their roles shared is given up."""
    state = draft.state
    if state.groups[number].state != "RUNNING" or state.index.gangs.stopping.get(number):
        return
    ready = [
        job
        for job in members_of(state, state.groups[number])
        if job.state == "FINISHED" and job.awaits == RESTART
    ]
    for job in ready:
        draft.fire("job", job.key, "return")
    _give_up_claims(draft, number, {job.role for job in ready})


def _give_up_claims(draft: Draft, number: int, roles: Iterable[str]) -> None:
    """Claims of roles of which nothing runs: the next start makes them again."""
    state = draft.state
    group = state.groups[number]
    for claim in shared_claims(state, group):
        if claim.role in roles and not uses_shared(state, group, claim.role):
            draft.fire("claim", claim.number, "release")


def repair_members(draft: Draft, number: int, keys: Iterable[int]) -> None:
    """Within the decision: lost ranks wait to be placed again, those that were before for longer
    each time."""
    policy = draft.state.group_spec(draft.state.groups[number]).retries
    for key in keys:
        times = draft.state.jobs[key].requeues
        until_us = draft.now_us + policy.delay_us(times) if times else 0
        draft.patch("job", key, awaits=REPAIR, not_before_us=until_us, requeues=times + 1)
        draft.fire("job", key, "return")
    if not draft.state.groups[number].degraded_us:
        draft.patch("group", number, degraded_us=draft.now_us)


def repaired(draft: Draft, number: int) -> None:
    """Within the record in the making: a gang of which no rank is lost any more is whole."""
    state = draft.state
    group = state.groups[number]
    if not group.degraded_us or group.state != "RUNNING":
        return
    under_way = any(one.kind == REPAIR and one.state == "OPEN" for one in starts_of(state, group))
    if not under_way and all(job.awaits != REPAIR for job in members_of(state, group)):
        draft.patch("group", number, degraded_us=0)


# -- further starts that did not do ---------------------------------------------------------------


def leave_start(draft: Draft, start: Start) -> None:
    """A further start did not pass: it is none of its gang's any more."""
    group = draft.state.groups[start.group]
    left = tuple(one for one in group.further if one != start.number)
    draft.patch("group", group.number, further=left)


def retry_members(draft: Draft, start: Start, text: str, cost: int, *, for_good: bool) -> str:
    """Members whose start failed or broke wait again for `cost` of its retries. Gives why the gang
    cannot go on, "" where it can: growth is given up, for lost ranks the gang says what then."""
    state = draft.state
    group = state.groups[start.group]
    policy = state.group_spec(group).retries
    kind = start.kind if start.kind in (RESTART, REPAIR) else ""
    failures = cost + max((state.jobs[key].start_failures for key in start.members), default=0)
    # Lost ranks are tried for as long as the gang may be degraded.
    over = for_good or (failures > policy.max and kind != REPAIR)
    until_us = draft.now_us + policy.delay_us(failures) if cost else 0
    for key in start.members:
        job = state.jobs[key]
        if job.state != "PENDING":
            continue
        awaits = job.awaits or (GIVEN_UP if over and not kind else kind)
        draft.patch(
            "job", key, awaits=awaits, start_failures=failures, last_failure=text,
            not_before_us=max(until_us, job.not_before_us),
        )  # fmt: skip
    if kind == REPAIR and not group.degraded_us:
        draft.patch("group", group.number, degraded_us=draft.now_us)
    return text if over and start.kind != GROWTH else ""


def members_of_broken(state: State, start: Start) -> list[Job]:
    """Members of a start that broke which are to be placed again."""
    jobs = (state.jobs[key] for key in start.members)
    return [job for job in jobs if job.start == start.number and job.state != "PENDING"]

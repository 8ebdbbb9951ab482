"""The life of a start: judged at its barrier, passed, failed, broken, opened wave by wave.

A start is failed before its pass and broken after it; either way its launches are stopped and can
never run (again), and its members wait for another start while `start_retries` lasts. Leftovers
stay with the failed start until their hosts confirm; nobody else waits for them.
"""

from collections.abc import Container, Iterable, Mapping

from xce.controller.core.fold.shape import shape_of
from xce.controller.core.fold.state import State
from xce.controller.core.gangs.restarting import leave_start, repaired, retry_members
from xce.controller.core.gangs.standing import REPAIR, is_further
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.missing import missing_of
from xce.dispatch import barrier
from xce.model.group import GroupSpec, RoleSpec
from xce.model.ids import group_text, job_text
from xce.model.job import Exit, Job
from xce.model.records import BarrierPassed, GroupEnded, RoleReady, StartFailed, WaveOpened
from xce.model.start import Launch, Start

START_FAILED = "start_failed"
BAD_TASK = "bad_task"
NOTHING, ONE, ALL = "nothing", "one", "all"
"""What a failed start costs of `start_retries`."""


def names_of(state: State, start: Start) -> list[str]:
    """How records name a start: its gang, else its plain job."""
    return [group_text(start.group)] if start.group else [job_text(key) for key in start.members]


def judge(draft: Draft, number: int) -> None:
    """Pass the start if everything stands now; a record of its own, right behind its cause."""
    start = draft.state.starts[number]
    if start.state != "OPEN" or not barrier.complete(
        start.armed, len(start.launches), start.ready, len(start.attachments)
    ):
        return
    if missing_of(draft.state, start):
        return
    first = tuple(one for one in start.launches if draft.state.launches[one].wave == 0)
    facts = BarrierPassed(start=number, armed=start.armed, ready=start.ready, first_wave=first)
    draft.open(facts, names_of(draft.state, start))
    let_pass(draft, number, first)


def let_pass(draft: Draft, number: int, first: Iterable[int]) -> None:
    """The pass itself, within the record in the making."""
    draft.fire("start", number, "pass", passed_us=draft.now_us, wave=0, wave_opened_us=draft.now_us)
    group = draft.state.starts[number].group
    if group and not draft.state.groups[group].started_us:
        draft.patch("group", group, started_us=draft.now_us)
    for launch in first:
        draft.patch("launch", launch, go=True)
    if draft.state.starts[number].kind == REPAIR:
        repaired(draft, group)


# -- waves ----------------------------------------------------------------------------------------


def wave_of_roles(spec: GroupSpec, among: Container[str] | None = None) -> dict[str, int]:
    """The wave of each role: one more than the latest of the roles that it depends on. In a start
    of some roles (`among`) the others are not waited for."""
    waves: dict[str, int] = {}
    roles = [role for role in spec.roles if among is None or role.name in among]
    names = {role.name for role in roles}
    for _ in roles:
        for role in roles:
            needed = [waves.get(name, 0) for name in role.depends_on if name in names]
            waves[role.name] = 1 + max(needed) if needed else 0
    return waves


def is_watched(spec: GroupSpec, role: RoleSpec) -> bool:
    """Whether the role's readiness is waited for: by another role, or as a promise of its own."""
    return role.ready.kind == "port" or any(role.name in one.depends_on for one in spec.roles)


def role_ready(draft: Draft, number: int, role: str) -> None:
    """A role of a passed start met its readiness; opens the next wave when that was the last."""
    start = draft.state.starts[number]
    if role in start.ready_roles or start.state != "PASSED":
        return
    draft.open(RoleReady(start=number, role=role), names_of(draft.state, start))
    draft.patch("start", number, ready_roles=(*start.ready_roles, role))
    _open_waves(draft, number)
    group = draft.state.groups[start.group]
    own = draft.state.group_spec(group).role(role)
    for other in group.starts():
        # Members of it were started again before it had become ready.
        if other != number and is_further(draft.state, start) and _is_met(draft.state, other, own):
            role_ready(draft, other, role)


def launch_begun(draft: Draft, launch: Launch) -> None:
    """A launch was let go, told by itself or by its end; call it once for each launch. When all
    were, the start is good and the failures before it are forgotten."""
    state = draft.state
    start = state.starts[launch.start]
    job = state.jobs[launch.job]
    of_gang = bool(job.group) and not is_further(state, start)
    what, key = ("group", job.group) if of_gang else ("job", job.key)
    if what == "job" and job.group and job.start_failures:
        draft.patch("job", job.key, start_failures=0, last_failure="")
    elif state.tables[what][key].start_failures:
        draft.patch("start", start.number, begun=start.begun + 1)
        if start.begun + 1 == len(start.launches):
            draft.patch(what, key, start_failures=0, last_failure="")
    count_ready(draft, start.number, job, "started")


def count_ready(draft: Draft, number: int, job: Job, kind: str) -> None:
    """One more launch (`started`, `port`) or member (`done`) of a role met its readiness."""
    state = draft.state
    start = state.starts[number]
    if not job.group:
        return
    spec = state.group_spec(state.groups[job.group])
    role = spec.role(job.role)
    if role.ready.kind != kind or not is_watched(spec, role):
        return
    shape = shape_of(state, number)
    tally = list(start.role_tally or [0] * len(shape.roles))
    tally[shape.roles[job.role]] += 1
    draft.patch("start", number, role_tally=tuple(tally))
    if _is_met(state, number, role):
        role_ready(draft, number, job.role)


def _is_met(state: State, number: int, role: RoleSpec) -> bool:
    """Whether all of a role's launches (or members) in a start met its readiness; those members
    that were started again since did so there."""
    start, shape = state.starts[number], shape_of(state, number)
    if role.name not in shape.roles:
        return False
    counted: Mapping[str, Mapping[str, int]] = {
        "started": shape.launches_of_role,
        "port": shape.working_of_role,
        "done": shape.members,
    }
    tally = start.role_tally[shape.roles[role.name]] if start.role_tally else 0
    for key in start.members:
        job = state.jobs[key]
        if job.role != role.name or job.start == number:
            continue
        again = state.starts.get(job.start)
        if again is None or role.name not in again.ready_roles:
            return False
        own = [state.launches[one] for one in shape.launches_of_job[key]]
        units = {"started": len(own), "port": sum(one.processes > 0 for one in own), "done": 1}
        tally += units[role.ready.kind]
    return tally >= counted[role.ready.kind][role.name]


def _open_waves(draft: Draft, number: int) -> None:
    start = draft.state.starts[number]
    group = draft.state.groups[start.group]
    spec = draft.state.group_spec(group)
    if is_suspended(draft.state, start):
        return
    while start.wave + 1 < start.waves and group.state == "RUNNING":
        wave = start.wave + 1
        launches = shape_of(draft.state, number).launches_of_wave[wave]
        needed = [
            name
            for name in _needed(draft.state, spec, launches)
            if name in shape_of(draft.state, number).roles
        ]
        if not set(needed) <= set(start.ready_roles):
            return
        draft.open(
            WaveOpened(start=number, wave=wave, launches=launches), names_of(draft.state, start)
        )
        draft.patch("start", number, wave=wave, wave_opened_us=draft.now_us)
        for launch in launches:
            draft.patch("launch", launch, go=True)
        start = draft.state.starts[number]


def is_suspended(state: State, start: Start) -> bool:
    """Whether a member of the start is stopped, or does not go on yet."""
    return any(state.jobs[key].suspension != "ACTIVE" for key in start.members)


def go_on_with_waves(draft: Draft, number: int, since_us: int) -> None:
    """A member goes on. Once all do, the wave has as long to become ready as it had left, and what
    became ready meanwhile counts."""
    start = draft.state.starts[number]
    if start.state != "PASSED" or is_suspended(draft.state, start):
        return
    if start.wave_opened_us:
        away_us = draft.now_us - max(since_us, start.wave_opened_us)
        draft.patch("start", number, wave_opened_us=start.wave_opened_us + away_us)
    _open_waves(draft, number)


def _needed(state: State, spec: GroupSpec, launches: Iterable[int]) -> list[str]:
    roles = dict.fromkeys(state.jobs[state.launches[one].job].role for one in launches)
    return [needed for role in roles for needed in spec.role(role).depends_on]


# -- failing --------------------------------------------------------------------------------------


def fail_start(
    draft: Draft, number: int, reason: str, missing: tuple[str, ...], *, spend: bool = True
) -> None:
    """Fail an OPEN start: its members wait again, or end when their retries are used up."""
    start = draft.state.starts[number]
    if start.state != "OPEN":
        return
    facts = StartFailed(start=number, reason=reason, missing=missing)
    draft.open(facts, names_of(draft.state, start))
    draft.fire("start", number, "fail", reason=reason)
    text = _failure_text(reason, missing)
    cost = ALL if reason == BAD_TASK else ONE if spend else NOTHING
    if is_further(draft.state, start):
        # Members that were killed keep it until their launches are gone: the gang waits for them.
        if all(draft.state.jobs[key].state != "ENDING" for key in start.members):
            leave_start(draft, start)
        _retry_further(draft, start, text, cost)
    elif start.group:
        _retry_group(draft, start.group, text, cost)
    else:
        for key in start.members:
            _retry_job(draft, key, text, cost)


def break_start(
    draft: Draft, number: int, missing: tuple[str, ...], reason: str = "start_lost"
) -> None:
    """Break a PASSED start: a launch is proven dead and had never started. No rule is asked."""
    start = draft.state.starts[number]
    if start.state != "PASSED":
        return
    facts = StartFailed(start=number, reason=reason, missing=missing, broken=True)
    draft.open(facts, names_of(draft.state, start))
    draft.fire("start", number, "break", reason=reason)
    text = _failure_text(reason, missing)
    if not start.group:
        for key in start.members:
            draft.patch("job", key, last_failure=text)
        return
    group = draft.state.groups[start.group]
    if is_further(draft.state, start):
        for key in start.members:
            draft.patch("job", key, last_failure=text)
        return
    if group.state != "RUNNING":
        return
    failures = group.start_failures + 1
    policy = draft.state.group_spec(group).retries
    fields = {"start_failures": failures, "last_failure": text}
    if failures > policy.max or reason == BAD_TASK:
        draft.fire("group", group.number, "finish", verdict="EXITED", reason=START_FAILED, **fields)
    else:
        until = draft.now_us + policy.delay_us(failures)
        draft.fire("group", group.number, "retract", not_before_us=until, **fields)


def _retry_further(draft: Draft, start: Start, text: str, cost: str) -> None:
    """Members of a start of some of a gang wait again; without retries left the gang fails, or
    what it says of lost ranks follows."""
    if draft.state.groups[start.group].state != "RUNNING":
        return
    ones = 0 if cost == NOTHING else 1
    over = retry_members(draft, start, text, ones, for_good=cost == ALL)
    if over:
        reason = f"{START_FAILED} ({start.kind}): {over}"
        draft.fire("group", start.group, "finish", verdict="EXITED", reason=reason)


def retry_broken_members(draft: Draft, number: int) -> None:
    """Members of a further start that broke, all its launches gone, wait again."""
    start = draft.state.starts[number]
    leave_start(draft, start)
    text = draft.state.jobs[start.members[0]].last_failure
    _retry_further(draft, start, text, ALL if start.reason == BAD_TASK else ONE)


def retry_broken_job(draft: Draft, key: int) -> None:
    """A plain job whose passed start broke, all its launches gone: back to the queue, or over."""
    own_fault = draft.state.starts[draft.state.jobs[key].start].reason == BAD_TASK
    draft.fire("job", key, "start_failed")
    text = draft.state.jobs[key].last_failure
    _retry_job(draft, key, text, ALL if own_fault else ONE)


def _retry_job(draft: Draft, key: int, text: str, cost: str) -> None:
    """Back to the queue for `cost` of its retries, or over when they are used up."""
    job = draft.state.jobs[key]
    if job.state != "PENDING":
        return
    policy = draft.state.specs[job.spec].retries or draft.state.config.start_retries
    failures = job.start_failures + (cost != NOTHING)
    if failures > policy.max or cost == ALL:
        ended = Exit(how="none", reason=START_FAILED)
        draft.fire(
            "job", key, "end_exited", exit=ended, ended_us=draft.now_us, last_failure=text,
            start_failures=failures,
        )  # fmt: skip
        return
    until = draft.now_us + policy.delay_us(failures) if cost != NOTHING else 0
    draft.patch("job", key, start_failures=failures, last_failure=text, not_before_us=until)


def _retry_group(draft: Draft, number: int, text: str, cost: str) -> None:
    group = draft.state.groups[number]
    if group.state != "PENDING":
        return
    policy = draft.state.group_spec(group).retries
    failures = group.start_failures + (cost != NOTHING)
    if failures > policy.max or cost == ALL:
        give_up(draft, number, START_FAILED, text)
        return
    until = draft.now_us + policy.delay_us(failures) if cost != NOTHING else 0
    draft.patch(
        "group", number, start_failures=failures, last_failure=text, not_before_us=until,
        pending_us=draft.now_us, start=0,
    )  # fmt: skip


def give_up(draft: Draft, number: int, reason: str, text: str) -> None:
    """End a pending gang: its placement timeout or its retries are used up."""
    draft.open(GroupEnded(group=number, verdict="EXITED", reason=reason), [group_text(number)])
    ended = Exit(how="none", reason=reason)
    for key in draft.state.groups[number].members():
        draft.patch("job", key, exit=ended)
    draft.fire(
        "group", number, "give_up", verdict="EXITED", reason=reason, last_failure=text,
        ended_us=draft.now_us,
    )  # fmt: skip


def _failure_text(reason: str, missing: tuple[str, ...]) -> str:
    shown = "; ".join(missing[:3])
    more = f"; and {len(missing) - 3} more" if len(missing) > 3 else ""
    return f"{reason}: {shown}{more}" if shown else reason

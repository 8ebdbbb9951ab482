"""What the clock brings: deadlines that the state named. Each is checked again before it acts."""

from itertools import islice
from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.claims.due import lease_due, retire_claim
from xce.controller.core.fold.state import State
from xce.controller.core.fold.timers import over_limit_us
from xce.controller.core.gangs.judging import degraded_due, not_ready
from xce.controller.core.gangs.settling import judge_and_settle, settle_group
from xce.controller.core.gangs.standing import starts_of
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.missing import has_suspect, missing_of
from xce.controller.core.life.starts import (
    fail_start,
    give_up,
    is_suspended,
    is_watched,
    wave_of_roles,
)
from xce.controller.core.time.giving_way import stop_due
from xce.controller.core.time.reservations import reservation_due
from xce.model.config import SECOND_US
from xce.model.ids import group_text, job_index, job_number, job_text
from xce.model.job import Exit, Job, exit_code
from xce.model.records import FailureNoted, KillAsked, Retired
from xce.model.tables import ENDED_GROUP, ENDED_JOB, LIVE_LAUNCH
from xce.model.waiting.array import DONE, EXITED, HELD, KILLED, PENDING, among, runs_of

Answer = tuple[dict[str, Any], dict[str, bytes]]
NOTHING: Answer = ({}, {})
RETIRED_AT_ONCE = 256
STOPPABLE = LIVE_LAUNCH - {"STOPPING"}


def timer_due(draft: Draft, command: c.TimerDue) -> c.Rejection | Answer:
    """A deadline may have passed."""
    act = {
        "start": _start,
        "window": _window,
        "wave": _wave,
        "degraded": degraded_due,
        "placement": _placement,
        "limit": _limit,
        "reservation_end": reservation_due,
        "preempt_stop": stop_due,
        "claim": lease_due,
        "retire_claim": retire_claim,
        "retire_job": _retire_job,
        "retire_array": _retire_elements,
        "retire_group": _retire_group,
    }.get(command.what)
    if act is not None:
        act(draft, command.key)
    return NOTHING


def _start(draft: Draft, number: int) -> None:
    """The barrier's deadline: absolute, in the record, not restarted with the controller."""
    start = draft.state.starts.get(number)
    if start is None or start.state != "OPEN" or start.deadline_us > draft.now_us:
        return
    led_us = draft.state.last("leader_us")
    without_leader = start.deadline_us <= led_us
    missing = missing_of(draft.state, start)
    fail_start(draft, number, "barrier_timeout", missing, spend=not without_leader)


def _window(draft: Draft, number: int) -> None:
    """A burst's window is over; longer, and bounded, while a host of the group is SUSPECT: it
    may be about to say that the same event took members there, too."""
    state = draft.state
    group = state.groups.get(number)
    if group is None or not 0 < group.window_until_us <= draft.now_us:
        return
    latest_us = group.window_opened_us + state.config.host_grace_us
    silent = any(has_suspect(state, start) for start in starts_of(state, group))
    if silent and draft.now_us < latest_us:
        until_us = min(draft.now_us + state.config.failure_window_us, latest_us)
        facts = FailureNoted(group=number, job=0, until_us=until_us)
        draft.open(facts, [group_text(number)])
        draft.patch("group", number, window_until_us=until_us)
        return
    judge_and_settle(draft, number)


def _wave(draft: Draft, number: int) -> None:
    """A wave not ready `ready_timeout` after it opened is a failure of its roles, one by one."""
    state = draft.state
    start = state.starts.get(number)
    if start is None or start.state != "PASSED" or not start.group:
        return
    group = state.groups[start.group]
    spec = state.group_spec(group)
    if number not in group.starts():
        return
    if start.wave_opened_us + spec.ready_timeout_us > draft.now_us:
        return
    if is_suspended(state, start):
        return
    jobs = (state.jobs[key] for key in start.members)
    among = {job.role for job in jobs if job.start == number}
    waves = wave_of_roles(spec, {state.jobs[key].role for key in start.members})
    waited_s = spec.ready_timeout_us // SECOND_US
    for role in (one for one in spec.roles if one.name in among):
        now = state.starts[number]
        if state.groups[group.number].state != "RUNNING":
            return
        late = waves[role.name] <= start.wave and role.name not in now.ready_roles
        if late and is_watched(spec, role):
            text = f"not ready {waited_s} s after its wave opened"
            not_ready(draft, group.number, number, role.name, text)
            settle_group(draft, group.number)


def _placement(draft: Draft, number: int) -> None:
    group = draft.state.groups.get(number)
    if group is None or group.state != "PENDING":
        return
    timeout = draft.state.group_spec(group).placement_timeout_us
    if timeout and group.pending_us + timeout <= draft.now_us:
        give_up(draft, number, "placement_timeout", group.last_failure)


def _limit(draft: Draft, key: int) -> None:
    """A job is over a limit of its time: one that waits ends, what runs is stopped. Its host
    stopped it already, unless it could not."""
    state = draft.state
    job = state.jobs.get(key)
    if key in state.arrays:
        _limit_array(draft, key)
    if job is None:
        return
    due_us, why = over_limit_us(job, state.specs[job.spec])
    if not 0 < due_us <= draft.now_us:
        return
    live = [one for one in job.launches if state.launches[one].state in STOPPABLE]
    waits = job.state in ("PENDING", "HELD", "STARTING")
    if not (live or waits):
        return
    draft.open(KillAsked(job=key, reason=why), [job_text(key)])
    if waits:
        ended = {"exit": Exit(reason=why)} if job.state != "STARTING" else {}
        draft.fire("job", key, "kill", kill_reason=why, **ended)
        if job.start and state.starts[job.start].state == "OPEN":
            fail_start(draft, job.start, why, (), spend=False)
    for number in live if not waits else ():
        draft.fire("launch", number, "stop", stop_reason=why)


def _limit_array(draft: Draft, number: int) -> None:
    """What only waits of an array ends at its termination time; its jobs have their own timers."""
    array = draft.state.arrays[number]
    waiting = among(array, (), PENDING + HELD)
    due_us = draft.state.specs[array.spec].terminate_us
    if waiting and 0 < due_us <= draft.now_us:
        draft.open(KillAsked(job=number, reason="deadline"), [job_text(number)])
        draft.patch("array", number, killed_by="deadline")
        draft.elements(number, "kill", waiting, KILLED)


# -- retiring -------------------------------------------------------------------------------------


def _retire_job(draft: Draft, key: int) -> None:
    """Take this ended plain job out of the state."""
    state = draft.state
    job = state.jobs.get(key)
    if job is None or job_number(key) in state.index.links.dependents:
        return
    if not _may_leave(draft, job):
        return
    if job_index(key):
        _retire_elements(draft, job_number(key))
        return
    draft.open(Retired(ids=(job_text(key),)), [job_text(key)])
    _drop(draft, [key])


def _may_leave(draft: Draft, job: Job) -> bool:
    """Whether a job ended long enough ago, and nothing of it is left on a host."""
    clean_us = draft.state.config.clean_period_us
    if job.state not in ENDED_JOB or job.ended_us + clean_us > draft.now_us:
        return False
    return _clean(draft.state, [job.key])


def _retire_elements(draft: Draft, number: int) -> None:
    """Elements that may leave become letters of their array again, many in one record; the array
    itself leaves with the last of them, once it ended long enough ago."""
    state = draft.state
    array = state.arrays.get(number)
    if array is None or number in state.index.links.dependents:
        return
    first = islice(state.index.elements.ended.get(number, ()), RETIRED_AT_ONCE)
    jobs = sorted(
        (job for job in map(state.jobs.__getitem__, first) if _may_leave(draft, job)),
        key=lambda job: job.key,
    )
    left = len(state.index.elements.keys.get(number, ())) > len(jobs)
    clean_us = state.config.clean_period_us
    over = bool(array.ended_us) and array.ended_us + clean_us <= draft.now_us and not left
    if not jobs and not over:
        return
    names = [job_text(job.key) for job in jobs] + ([job_text(number)] if over else [])
    draft.open(Retired(ids=tuple(names)), names)
    for letter, good in ((DONE, True), (EXITED, False)):
        mine = (job_index(job.key) for job in jobs if (job.state == "DONE") == good)
        draft.elements(number, "retired", runs_of(mine), letter)
    code = next((one for job in jobs if (one := exit_code(job.exit))), 0)
    if code and not array.exit_code:
        draft.patch("array", number, exit_code=code)
    _drop(draft, [job.key for job in jobs])
    if over:
        draft.drop("array", number, "retired")


def _retire_group(draft: Draft, number: int) -> None:
    state = draft.state
    group = state.groups.get(number)
    if group is None or group.state not in ENDED_GROUP:
        return
    members = group.members()
    if any(ref in state.index.links.dependents for ref in (-number, *members)):
        return
    if group.ended_us + state.config.clean_period_us > draft.now_us or not _clean(state, members):
        return
    draft.open(Retired(ids=(group_text(number),)), [group_text(number)])
    _drop(draft, members)
    draft.drop("group", number, "retired")


def _starts_of(state: State, members: list[int]) -> list[int]:
    return sorted({one for key in members for one in state.index.starts_of.get(key, {})})


def _clean(state: State, members: list[int]) -> bool:
    """Whether nothing of the members is live on a host any more."""
    for number in _starts_of(state, members):
        start = state.starts[number]
        if start.ended < len(start.launches):
            return False
        if any(state.attachments[one].state != "RELEASED" for one in start.attachments):
            return False
    return True


def _drop(draft: Draft, members: list[int]) -> None:
    state = draft.state
    for number in _starts_of(state, members):
        start = state.starts[number]
        for launch in start.launches:
            draft.drop("launch", launch, "retired")
        for attachment in start.attachments:
            draft.drop("attachment", attachment, "retired")
        for claim in start.claims:
            draft.drop("claim", claim, "retired")
        draft.drop("start", number, "retired")
    for key in members:
        draft.drop("job", key, "retired")

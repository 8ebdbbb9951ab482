"""Taking a gang on when nothing of it is live: retracted, ended, judged, or all FINISHED."""

from xce.controller.core.fold.state import State
from xce.controller.core.gangs.judging import classify, undecided
from xce.controller.core.gangs.restarting import settle_restarts
from xce.controller.core.gangs.standing import any_live, is_good, members_of, starts_of
from xce.controller.core.life.draft import Draft
from xce.controller.core.life.starts import fail_start
from xce.model.group import Group
from xce.model.ids import group_text
from xce.model.job import Exit
from xce.model.records import GroupEnded

MOVED_ON = "group_moved_on"


def settle_gangs(draft: Draft) -> None:
    """Behind every decision: a gang that is stopped has no start that could still pass, and a
    start whose members are to be restarted cannot either."""
    for what, number in list(draft.moved):
        group = draft.state.groups.get(number) if what == "group" else None
        if group is not None and group.state in ("RETRACTING", "ENDING"):
            fail_further(draft, group)
            settle_group(draft, number)
    for number in list(draft.state.index.gangs.stopping):
        stopped = draft.state.groups[number]
        if stopped.state == "RUNNING":
            fail_further(draft, stopped, of_members=True)
            settle_restarts(draft, number)


def fail_further(draft: Draft, group: Group, *, of_members: bool = False) -> None:
    """Fail further starts that have not passed; those of members to be restarted, or all."""
    state = draft.state
    for start in list(starts_of(state, group)):
        if start.number == group.start or start.state != "OPEN":
            continue
        if not of_members or any(state.jobs[key].awaits for key in start.members):
            fail_start(draft, start.number, MOVED_ON, (), spend=False)


def settle_group(draft: Draft, number: int) -> None:
    """Take a group on when nothing of it is live."""
    state = draft.state
    group = state.groups[number]
    if any_live(state, number):
        return
    if group.state == "RETRACTING":
        draft.fire("group", number, "retracted", pending_us=draft.now_us, window_until_us=0)
        # Only now: its claims are found by way of its starts.
        draft.patch("group", number, start=0, **_WHOLE)
        for job in members_of(state, group):
            if job.awaits or job.start_failures or job.requeues:
                draft.patch("job", job.key, **_AS_NEW)
    elif group.state == "ENDING":
        _end_group(draft, number, group.verdict, group.reason)
    elif group.state == "RUNNING":
        _settle_running(draft, group)


_WHOLE: dict[str, object] = {"further": (), "degraded_us": 0}
_AS_NEW: dict[str, object] = {"awaits": "", "start_failures": 0, "not_before_us": 0, "requeues": 0}


def _settle_running(draft: Draft, group: Group) -> None:
    state = draft.state
    begun = [
        job for job in members_of(state, group) if job.start or job.awaits in ("restart", "repair")
    ]
    if not all(job.state == "FINISHED" and not job.awaits for job in begun):
        return
    if undecided(state, group):
        classify(draft, group.number)
        settle_group(draft, group.number)
    else:
        _end_group(draft, group.number, "DONE", "")


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
    draft.fire(
        "group", number, event, ended_us=draft.now_us, verdict=verdict, reason=reason,
        degraded_us=0, window_until_us=0,
    )  # fmt: skip


def _stopped(ended: Exit | None) -> bool:
    return ended is not None and ended.reason == "stopped"


def judge_and_settle(draft: Draft, number: int) -> None:
    """The window of a burst is over."""
    classify(draft, number)
    settle_group(draft, number)


__all__ = ["State", "judge_and_settle", "settle_gangs", "settle_group"]

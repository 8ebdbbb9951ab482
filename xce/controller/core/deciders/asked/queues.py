"""Queues at run time: operators open and close, activate and inactivate them; windows turn."""

from typing import Any

from xce.controller.core import commands as c
from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.controller.core.queueing.backlog import over_backlog
from xce.controller.core.queueing.queues import is_active, is_open, queue_state
from xce.controller.core.queueing.run_windows import suspend_outside
from xce.model.actor import ADMIN, OPERATOR, SYSTEM
from xce.model.config import QueueConfig
from xce.model.config.shares import groups_of, matches
from xce.model.records import ConfigChanged
from xce.model.units import nearest

Answer = tuple[dict[str, Any], dict[str, bytes]]
EVENTS = {
    "open": ("open", 1, "opened"),
    "close": ("open", 0, "closed"),
    "active": ("active", 1, "activated"),
    "inactive": ("active", 0, "inactivated"),
}


def change_queue(draft: Draft, command: c.ChangeQueue) -> c.Rejection | Answer:
    """Open, close, activate or inactivate a queue; an operator's word lasts through reloads."""
    state = draft.state
    if command.actor.kind not in (OPERATOR, ADMIN, SYSTEM):
        said = f"{command.queue}: User permission denied"
        return c.Rejection(code="not_allowed", message=said, hint="operators may change queues")
    queue = state.config.queue(command.queue)
    if queue is None:
        near = nearest(command.queue, [one.name for one in state.config.queues])
        return c.Rejection(
            code="not_found",
            message=f"{command.queue[:80]}: No such queue.",
            hint=f"did you mean '{near}'?" if near else "`xcecli queues` lists them",
        )
    field, value, word = EVENTS[command.event]
    now = is_open(state, queue) if field == "open" else is_active(state, queue)
    answer = {"queue": queue.name, "said": f"Queue <{queue.name}> is {word}.", "changed": True}
    if now == bool(value) and queue_state(state, queue.name).why == command.why:
        return {**answer, "changed": False}, {}
    draft.open(ConfigChanged(what="queue", name=queue.name), [f"queue:{queue.name}"])
    draft.patch(
        "queue", queue.name, why=command.why, by=command.actor.text(), changed_us=draft.now_us,
        **{field: value},
    )  # fmt: skip
    return answer, {}


def turn_window(draft: Draft, command: c.TurnWindow) -> c.Rejection | Answer:
    """A window of a queue opened or shut, and what runs outside its run window is suspended; the
    loop knows the time of day, decide does not."""
    queue = draft.state.config.queue(command.queue)
    now = queue_state(draft.state, command.queue)
    if queue is None:
        return {"changed": False}, {}
    if getattr(now, command.window) == int(command.open):
        return {"changed": False, "suspended": suspend_outside(draft, queue.name)}, {}
    facts = ConfigChanged(what="window", name=f"{queue.name}.{command.window}")
    draft.open(facts, [f"queue:{queue.name}"])
    fields = {command.window: int(command.open), "changed_us": draft.now_us}
    draft.patch("queue", queue.name, **fields)
    return {"changed": True, "suspended": suspend_outside(draft, queue.name)}, {}


def unfit_for(
    state: State, queue: QueueConfig, owner: int, priority: int, group: str, count: int
) -> c.Rejection | None:
    """Why a queue does not take work of this owner, with LSF's words; None when it does."""
    config = state.config
    if queue.users and not matches(config.user_groups, queue.users, owner):
        said = f"{queue.name}: User cannot use the queue."
        return c.Rejection(code="not_allowed", message=said, field="queue")
    if group and group not in groups_of(config.user_groups, owner):
        known = ", ".join(groups_of(config.user_groups, owner)) or "none"
        return c.Rejection(
            code="invalid", message=f"{group}: User not in the specified user group.",
            field="user_group", hint=f"the groups of uid {owner}: {known}",
        )  # fmt: skip
    if config.priority_max and priority > config.priority_max:
        said = f"priority {priority} is not from 0 to {config.priority_max} (max_user_priority)"
        return c.Rejection(code="invalid", message=said, field="priority")
    over = over_backlog(state, owner, count)
    if over is not None:
        whose, used, allowed = over
        return c.Rejection(
            code="too_many_pending",
            message=f"Pending job threshold reached: {used} of {allowed} wait for user {whose}.",
            hint="submit again when some of them have started",
        )
    return None

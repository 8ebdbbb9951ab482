"""Whether a queue takes work and gives it out now: the configuration, an operator, its windows."""

from typing import TYPE_CHECKING

from xce.model.config import QueueConfig
from xce.model.waiting.queue import UNSAID, Queue
from xce.scheduler.reasons import Code, PendReason, reason

if TYPE_CHECKING:
    from xce.controller.core.fold.state import State


def queue_state(state: "State", name: str) -> Queue:
    """What is known of a queue at run time."""
    found: Queue | None = state.tables["queue"].get(name)
    return found if found is not None else Queue(name=name)


def is_open(state: "State", queue: QueueConfig) -> bool:
    """Whether it takes submissions; an operator's word lasts through reloads."""
    said = queue_state(state, queue.name).open
    return queue.open if said == UNSAID else bool(said)


def is_active(state: "State", queue: QueueConfig) -> bool:
    """Whether an operator, or the configuration, lets it give out work."""
    said = queue_state(state, queue.name).active
    return queue.active if said == UNSAID else bool(said)


def shut_window(state: "State", queue: QueueConfig) -> tuple[str, tuple[str, ...]]:
    """The kind of window that is shut now, and the windows; ("", ()) where none is. A window that
    the loop has not looked at yet is shut."""
    now = queue_state(state, queue.name)
    if queue.dispatch_window and now.dispatches != 1:
        return "dispatch", queue.dispatch_window
    if queue.run_window and now.runs != 1:
        return "run", queue.run_window
    return "", ()


def stops_work(state: "State", name: str) -> bool:
    """Whether the queue's run window is shut: what ran of it is suspended until it opens."""
    queue = state.config.queue(name)
    return queue is not None and bool(queue.run_window) and queue_state(state, name).runs != 1


def outside_run_window(state: "State", name: str) -> PendReason | None:
    """Why suspended work of a queue does not go on yet, None where no window keeps it."""
    if not stops_work(state, name):
        return None
    queue = state.config.queue(name)
    said = ", ".join(queue.run_window) if queue is not None else ""
    return reason(Code.QUEUE_WINDOW, where=name, what="run", detail=said)


def dispatches(state: "State", queue: QueueConfig | None) -> bool:
    """Whether the queue is there and gives out work now."""
    return queue is not None and is_active(state, queue) and not shut_window(state, queue)[0]


def why_not(state: "State", name: str) -> PendReason | None:
    """Why a queue gives out nothing now, None when it does."""
    queue = state.config.queue(name)
    if queue is None or not is_active(state, queue):
        now = queue_state(state, name)
        said = f" ({now.why})" if now.why and not now.active else ""
        return reason(Code.QUEUE_INACTIVE, where=name, detail=said)
    kind, windows = shut_window(state, queue)
    if kind:
        return reason(Code.QUEUE_WINDOW, where=name, what=kind, detail=", ".join(windows))
    return None


def status(state: "State", queue: QueueConfig) -> str:
    """`Open:Active`, as LSF says it, with why it is inactive."""
    taken = "Open" if is_open(state, queue) else "Closed"
    if not is_active(state, queue):
        return f"{taken}:Inact_Adm"
    return f"{taken}:Inact_Win" if shut_window(state, queue)[0] else f"{taken}:Active"

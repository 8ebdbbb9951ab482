"""Plain jobs that run again: asked for, by their exit value, or because a host was lost.

An attempt that is over goes back to its queue under the same number and with its submission time;
the next one has another attempt number. How often exit values may do that is limited: then the job
waits held, for its owner to look. What a user or the system stopped is never judged by exit values.
"""

from typing import TypeVar

from msgspec import Struct

from xce.controller.core.fold.state import State
from xce.controller.core.life.draft import Draft
from xce.model.job import Job
from xce.resreq.options.exits import EXCLUDE, exit_values

T = TypeVar("T")
HELD = "HELD"


class Again(Struct, frozen=True, gc=False):
    """That a job runs again: why, for people; whether by exit value; whether elsewhere."""

    why: str
    counted: bool = False
    elsewhere: bool = False


def runs_again(draft: Draft, key: int) -> bool:
    """Send a job back to its queue whose attempt is over, if it is to run again."""
    state = draft.state
    job = state.jobs[key]
    again = _asked(job) or _by_exit(state, job) or _by_loss(state, job)
    if again is None:
        return False
    most = setting(state, job, "requeues_max", -1)
    held = job.requeue == HELD or (again.counted and 0 <= most <= job.requeues)
    why = again.why
    if held and again.counted:
        why = f"{why}; it ran again {job.requeues} times, which is all that is allowed"
    hosts = {state.launches[number].host for number in job.launches} if again.elsewhere else set()
    draft.fire(
        "job", key, "return", last_failure=why, requeue="", not_before_us=0,
        requeues=job.requeues + (again.counted and not held),
        avoid=tuple(sorted({*job.avoid, *hosts})),
    )  # fmt: skip
    if held:
        draft.fire("job", key, "hold")
    return True


def is_success(state: State, job: Job) -> bool:
    """Whether a plain job ended well: by 0, or as its profile or queue says (LSF:
    SUCCESS_EXIT_VALUES)."""
    ended = job.exit
    if ended is None or ended.how != "exited":
        return False
    return ended.code == 0 or (
        ended.reason == "exit" and ended.code in setting(state, job, "success_exits", ())
    )


def setting(state: State, job: Job, name: str, unset: T) -> T:
    """What the job's profile says, or else its queue; `unset` where both say nothing."""
    own = state.config.application(state.specs[job.spec].application)
    for place in (own, state.config.queue(job.queue)):
        value: T = getattr(place, name, unset)
        if value != unset:
            return value
    return unset


def _asked(job: Job) -> Again | None:
    told = job.last_failure if job.last_failure.startswith("preempted") else ""
    return Again(told or "requeued by request") if job.requeue else None


def _by_exit(state: State, job: Job) -> Again | None:
    ended = job.exit
    if ended is None or ended.how != "exited" or ended.reason != "exit":
        return None
    own = state.specs[job.spec].requeue_exits
    meaning = exit_values(own or setting(state, job, "requeue_exits", "")).meaning(ended.code)
    if not meaning:
        return None
    return Again(f"requeued: exited with exit code {ended.code}", True, meaning == EXCLUDE)


def _by_loss(state: State, job: Job) -> Again | None:
    ended = job.exit
    if ended is None or ended.reason != "host_lost":
        return None
    own = state.specs[job.spec].rerunnable
    if not (setting(state, job, "rerunnable", False) if own is None else own):
        return None
    return Again(f"rerun: host {ended.host} was lost")

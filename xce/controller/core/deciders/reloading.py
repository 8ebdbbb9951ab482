"""What a reload means for what is there: queues with work stay, closed; pending work of queues
whose requirement changed is merged again. What was allocated keeps its merge."""

from collections.abc import Iterator
from hashlib import blake2b

from msgspec import structs

from xce.controller.core.commands import Rejection
from xce.controller.core.deciders.job_limits import asked_of
from xce.controller.core.deciders.requirements import resolve_spec
from xce.controller.core.fold.state import State, spec_blob
from xce.controller.core.life.draft import Draft
from xce.model.config import Config, QueueConfig
from xce.model.job import Job, Spec
from xce.model.tables import ENDED_GROUP, ENDED_JOB
from xce.model.waiting.array import Array
from xce.model.waiting.queue import UNSAID

WAITS = ("PENDING", "HELD")


def with_used_queues(state: State, config: Config) -> tuple[Config, list[str]]:
    """The configuration with the queues that it leaves out and that have work, closed."""
    names = {queue.name for queue in config.queues}
    used = {job.queue for job in state.jobs.values() if job.state not in ENDED_JOB}
    used |= {group.queue for group in state.groups.values() if group.state not in ENDED_GROUP}
    used |= {array.queue for array in state.arrays.values() if not array.ended_us}
    left = [queue for queue in state.config.queues if queue.name in used - names]
    closed = tuple(structs.replace(queue, open=False) for queue in left)
    kept = sorted(f"queue {queue.name} (closed)" for queue in closed)
    return structs.replace(config, queues=(*config.queues, *closed)), kept


def close_left(draft: Draft, config: Config) -> None:
    """An operator's earlier word does not keep a queue open that the configuration leaves out."""
    for name, said in sorted(draft.state.tables["queue"].items()):
        if config.queue(said.name) is None and said.open != UNSAID:
            draft.patch("queue", name, open=UNSAID, changed_us=draft.now_us)


def merge_again(draft: Draft, before: Config) -> dict[str, bytes]:
    """Pending plain jobs and arrays of queues that changed are merged with what their queues say
    now; what no longer fits its queue stays as it was. Gives the specs that were made."""
    state = draft.state
    # Jobs that wait are looked at one by one: a reload is rare.
    changed = {
        queue.name: queue
        for queue in state.config.queues
        if before.queue(queue.name) not in (None, queue)
    }
    made: dict[str, str] = {}
    blobs: dict[str, bytes] = {}
    for what, key, one in _waiting(state):
        if one.queue not in changed:
            continue
        if one.spec not in made:
            spec = _merged(state, state.specs[one.spec], changed[one.queue])
            blob = spec_blob(spec)
            made[one.spec] = blake2b(blob, digest_size=16).hexdigest()
            blobs[made[one.spec]] = blob
            state.intern(made[one.spec], blob)
        if made[one.spec] != one.spec:
            draft.patch(what, key, spec=made[one.spec])
    return blobs


def _waiting(state: State) -> Iterator[tuple[str, int, Job | Array]]:
    """Pending plain jobs and all arrays, ascending."""
    for key in sorted(state.jobs):
        job = state.jobs[key]
        if job.state in WAITS and not job.group:
            yield "job", key, job
    for key in sorted(state.arrays):
        yield "array", key, state.arrays[key]


def _merged(state: State, spec: Spec, queue: QueueConfig) -> Spec:
    again = resolve_spec(state.config, asked_of(spec), queue)
    return spec if isinstance(again, Rejection) else again

"""What a queue and an application profile say of a job's own limits: defaults, and what is allowed.

The profile's default goes before the queue's; nothing may be beyond what either allows. A job that
names no limit gets the default, and where there is none what is allowed. What the job itself asked
is kept beside what it got, so that both can be judged anew in another queue.
"""

from msgspec import structs

from xce.controller.core.commands import Rejection
from xce.model.config import ApplicationConfig, Config, QueueConfig
from xce.model.job import Asked, Spec
from xce.model.units import format_duration, format_size

Places = tuple[ApplicationConfig | QueueConfig, ...]


def limited(config: Config, spec: Spec, queue: QueueConfig) -> Spec | Rejection:
    """The spec with the limits that hold for it in this queue, or what is beyond them."""
    own = config.application(spec.application)
    places: Places = (own, queue) if own is not None else (queue,)
    tasks = spec.tasks or _first(places, "tasks_default") or 1
    run_us = spec.run_limit_us or _default(places, "run_limit")
    mem = spec.mem_limit_bytes or _least(places, "mem_limit_bytes")
    asked = Asked(
        resreq=spec.resreq,
        tasks=spec.tasks,
        tasks_max=spec.tasks_max,
        run_limit_us=spec.run_limit_us,
        mem_limit_bytes=spec.mem_limit_bytes,
    )
    made = structs.replace(spec, tasks=tasks, run_limit_us=run_us, mem_limit_bytes=mem, asked=asked)
    return _beyond(made, places) or made


def asked_of(spec: Spec) -> Spec:
    """The spec as its user asked, before any queue was looked at."""
    asked = spec.asked
    if asked is None:
        return spec
    return structs.replace(
        spec, resreq=asked.resreq, tasks=asked.tasks, tasks_max=asked.tasks_max,
        run_limit_us=asked.run_limit_us, mem_limit_bytes=asked.mem_limit_bytes, asked=None,
    )  # fmt: skip


def _beyond(spec: Spec, places: Places) -> Rejection | None:
    """A limit that is beyond what the profile or the queue allows."""
    for place in places:
        most_us, most = place.run_limit_us, place.mem_limit_bytes
        if most_us and spec.run_limit_us > most_us:
            said = f"{format_duration(spec.run_limit_us)} is beyond {format_duration(most_us)}"
            return _refused("RUNLIMIT", said, place, "run_limit_us")
        if most and spec.mem_limit_bytes > most:
            said = f"{format_size(spec.mem_limit_bytes)} is beyond {format_size(most)}"
            return _refused("MEMLIMIT", said, place, "mem_limit_bytes")
    return None


def sized(config: Config, spec: Spec, queue: QueueConfig) -> Spec | Rejection:
    """The spec with the numbers of tasks that the profile and the queue take, of those that it may
    have; or why they take none of them."""
    own = config.application(spec.application)
    least, most = spec.tasks, max(spec.tasks, spec.tasks_max)
    for place in (own, queue) if own is not None else (queue,):
        few, many = place.tasks_min, place.tasks_max
        if few and most < few:
            return _wrong_tasks("few", f"{most}, and {_named(place)} takes {few} or more")
        if many and least > many:
            return _wrong_tasks("many", f"{least}, and {_named(place)} takes {many} at most")
        least, most = max(least, few), min(most, many or most)
    if least > most:
        return _wrong_tasks("few", f"{most}, and {_named(queue)} and its profile take no such job")
    return structs.replace(spec, tasks=least, tasks_max=most if most > least else 0)


def _wrong_tasks(how: str, said: str) -> Rejection:
    return Rejection(
        code="limit_exceeded", message=f"Too {how} processors requested: {said}", field="tasks"
    )


def _refused(name: str, said: str, place: ApplicationConfig | QueueConfig, field: str) -> Rejection:
    kind = "queue" if isinstance(place, QueueConfig) else "application profile"
    return Rejection(
        code="limit_exceeded",
        message=f"{name}: Cannot exceed {kind}'s hard limit(s): {said} of {place.name}",
        field=field,
    )


def _named(place: ApplicationConfig | QueueConfig) -> str:
    kind = "queue" if isinstance(place, QueueConfig) else "profile"
    return f"{kind} {place.name}"


def _first(places: Places, field: str) -> int:
    return next((value for place in places if (value := getattr(place, field))), 0)


def _least(places: Places, field: str) -> int:
    return min((value for place in places if (value := getattr(place, field))), default=0)


def _default(places: Places, name: str) -> int:
    """The default, never beyond what is allowed; what is allowed where there is no default."""
    most = _least(places, f"{name}_us")
    default = _first(places, f"{name}_default_us")
    return min(default, most) if default and most else default or most

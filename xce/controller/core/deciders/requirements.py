"""From a submission as written to the spec that is interned: its resreq resolved and checked."""

from functools import lru_cache

from msgspec import structs

from xce.controller.core.commands import Rejection
from xce.controller.core.deciders.job_limits import limited, sized
from xce.controller.core.queueing.exclusive import wrong_exclusive
from xce.model.config import ApplicationConfig, Config, QueueConfig, TypeConfig
from xce.model.job import TASKS_MAX, Spec
from xce.model.need import Need
from xce.model.resources import site_types
from xce.model.units import nearest
from xce.resreq.allowed import ranges_of
from xce.resreq.errors import ResreqError
from xce.resreq.merge import merge_levels
from xce.resreq.parse import COMPAT, parse
from xce.resreq.print import canonical
from xce.resreq.resolve import resolve
from xce.resreq.tree import Tree


def resolve_spec(config: Config, spec: Spec, queue: QueueConfig) -> Spec | Rejection:
    """The spec with its requirement in canonical text and resolved form."""
    if not spec.command and not spec.script:
        return Rejection(code="invalid", message="there is no command to run", field="command")
    wrong = _wrong_number(spec)
    if wrong is not None:
        return wrong
    application = _application(config, spec.application)
    if isinstance(application, Rejection):
        return application
    within = limited(config, spec, queue)
    if isinstance(within, Rejection):
        return within
    below = (queue.default_resreq, queue.reservation_ranges)
    try:
        resreq, need = resolved(spec.resreq, application.resreq, below, config.types)
    except ResreqError as error:
        if application.resreq and _fits(spec.resreq, below, config.types):
            return _refusal(error, application.resreq, application.name)
        return _refusal(error, spec.resreq)
    levels = (("Job", spec.resreq), ("Application", application.resreq), ("Queue", "{"))
    level = next(name for name, text in levels if "{" in text)
    tasks = _tasks(within.tasks, need, level)
    if isinstance(tasks, Rejection):
        return tasks
    wrong = _unfit(config, structs.replace(within, need=need), queue)
    if wrong is not None:
        return wrong
    made = sized(config, structs.replace(within, resreq=resreq, need=need, tasks=tasks), queue)
    if isinstance(made, Rejection):
        return made
    for count in (made.tasks, made.tasks_max or made.tasks):
        tasks = _tasks(count, need, level)
        if isinstance(tasks, Rejection):
            return tasks
    return made


def _wrong_number(spec: Spec) -> Rejection | None:
    """A number, or a range, of tasks that no job can have."""
    if not 0 <= spec.tasks <= TASKS_MAX:
        return Rejection(
            code="invalid",
            message=f"-n {spec.tasks}: the number of tasks must be from 1 to {TASKS_MAX}",
            field="tasks",
        )
    if spec.tasks_max and not 0 < spec.tasks <= spec.tasks_max <= TASKS_MAX:
        return Rejection(
            code="invalid",
            message=f"-n {spec.tasks},{spec.tasks_max}: the most is not from the least to "
            f"{TASKS_MAX}",
            field="tasks_max",
        )
    return None


def _unfit(config: Config, spec: Spec, queue: QueueConfig) -> Rejection | None:
    """Why a queue does not take this kind of job."""
    if queue.interactive == "ONLY":
        said = f"{queue.name}: Queue accepts interactive jobs only"
        hint = "there are no interactive jobs yet: choose another queue"
        return Rejection(code="interactive_only", message=said, field="queue", hint=hint)
    return wrong_exclusive(config, spec, queue)


def _application(config: Config, name: str) -> ApplicationConfig | Rejection:
    """The profile that a job names, an empty one where it names none."""
    found = config.application(name) if name else ApplicationConfig(name="")
    if found is not None:
        return found
    known = [one.name for one in config.applications]
    near = nearest(name, known)
    here = f"application profiles here: {', '.join(known)}" if known else "there are none here"
    return Rejection(
        code="unknown_application",
        message=f"{name}: No such application profile.",
        field="application",
        hint=f"did you mean '{near}'?" if near else here,
    )


def _fits(job: str, queue: tuple[str, str], declared: tuple[TypeConfig, ...]) -> bool:
    """Whether a job would be taken without its application profile."""
    try:
        resolved(job, "", queue, declared)
    except ResreqError:
        return False
    return True


def _refusal(error: ResreqError, text: str, application: str = "") -> Rejection:
    """What is wrong with a job's requirement, or with that of its application profile."""
    whose = f" of the application profile {application}" if application else ""
    return Rejection(
        code=f"resreq_{error.code}",
        message=f"Bad resource requirement{whose}: {error.message}",
        field="application" if application else "resreq",
        line=1,
        column=error.column,
        hint=error.hint,
        text=error.text or text,
    )


@lru_cache(maxsize=4_096)
def _tasks(given: int, need: Need, level: str) -> int | Rejection:
    """The tasks of a job: where -n is not given, those that the terms of a compound are. `level`
    is whose compound or alternative requirement it is."""
    first = need.alternative(0).terms
    if given == 1 and first and all(term.tasks for term in first):
        given = sum(term.tasks for term in first)
    for index in range(len(need.others) + 1):
        chosen = need.alternative(index)
        named = sum(term.tasks for term in chosen.terms)
        open_ = any(not term.tasks for term in chosen.terms)
        if chosen.terms and (named >= given if open_ else named != given):
            what = "alternative" if need.others else "compound"
            said = f"{level}-level {what} resource requirement causes slot requirements conflict"
            terms = f"the terms are {named} tasks{' and more' if open_ else ''}"
            return _conflict(f"{said}: {terms}, -n says {given}")
        for tasks, part in need.terms_of(index, given):
            if part.block and tasks % part.block:
                said = "Number of slots requested by the job is not a multiple of the block size"
                return _conflict(f"{said}: {tasks} tasks, span[block={part.block}]")
    return given


def _conflict(message: str) -> Rejection:
    return Rejection(code="resreq_conflict", message=message, field="tasks")


@lru_cache(maxsize=65_536)
def resolved(
    job: str, application: str, queue: tuple[str, str], declared: tuple[TypeConfig, ...]
) -> tuple[str, Need]:
    """Canonical text and resolved form of a job's requirement over its application profile's and
    its queue's (LSF 10.1, "How resource requirements are resolved"); raises ResreqError. `queue` is
    its requirement and the ranges that it lets its jobs reserve."""
    types = site_types(declared)
    made = merge_levels(
        job=_read(job),
        application=_read(application),
        queue=_read(queue[0]),
        ranges=ranges_of(queue[1]),
        types=types,
    )
    if made is None:
        return "", Need()
    return canonical(made), resolve(made, types=types)


def _read(text: str) -> Tree | None:
    return parse(text, mode=COMPAT).tree if text.strip() else None

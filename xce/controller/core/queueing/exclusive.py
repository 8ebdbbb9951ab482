"""Who may have hosts or compute units for himself: what a queue's EXCLUSIVE lets its jobs ask for.

As in LSF, Y takes jobs that want their hosts whole (-x), CU and CU[level] take those that want
compute units for themselves, too: with a level, units of that level or of a finer one. A queue that
says nothing takes no -x; units are then as the requirement has them.
"""

from xce.controller.core.commands import Rejection
from xce.model.config import Config, QueueConfig
from xce.model.job import Spec
from xce.model.need import UnitNeed

NOBODY, HOSTS, UNITS = "N", "Y", "CU"


def wrong_exclusive(config: Config, spec: Spec, queue: QueueConfig) -> Rejection | None:
    """Why the queue does not take a job that wants something for itself; None when it does."""
    kind = queue.exclusive.partition("[")[0]
    if spec.exclusive and kind not in (HOSTS, UNITS):
        return Rejection(
            code="not_exclusive",
            message=f"{queue.name}: Queue does not accept EXCLUSIVE jobs",
            field="exclusive",
            hint=_others(config),
        )
    level = queue.exclusive.partition("[")[2].rstrip("]")
    for units in _alone(spec) if kind else ():
        if kind != UNITS:
            said = (
                "The queue must have EXCLUSIVE=CU configured to accept exclusive compute unit jobs"
            )
            return Rejection(code="not_exclusive", message=f"{queue.name}: {said}", field="resreq")
        asked = units.exclusive if units.exclusive != "!" else units.level
        if level and asked and _place(config, asked) > _place(config, level):
            said = f"cu[excl={asked}] is beyond EXCLUSIVE=CU[{level}] of the queue"
            return Rejection(code="not_exclusive", message=f"{queue.name}: {said}", field="resreq")
    return None


def _others(config: Config) -> str:
    names = [one.name for one in config.queues if one.exclusive.partition("[")[0] in (HOSTS, UNITS)]
    return f"these queues do: {', '.join(names)}" if names else "no queue here does"


def _place(config: Config, level: str) -> int:
    """How coarse a level is; one that is not declared is refused elsewhere."""
    return config.levels.index(level) if level in config.levels else 0


def _alone(spec: Spec) -> list[UnitNeed]:
    """The units that the requirement wants for itself."""
    need, found = spec.need, []
    for index in range(len(need.others) + 1):
        parts = (part for _, part in need.terms_of(index, spec.tasks))
        found += [part.units for part in parts if part.units is not None and part.units.exclusive]
    return found

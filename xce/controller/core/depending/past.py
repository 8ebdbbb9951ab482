"""Work that left the state, as far as a dependency asks for it."""

from collections.abc import Mapping
from typing import Any

from msgspec import convert

from xce.controller.core.depending.standing import standing_of_group
from xce.controller.core.fold.state import State
from xce.model.group import Group
from xce.model.ids import parse_group, parse_job
from xce.model.job import Job, Past
from xce.model.waiting.array import DONE, EXITED, KILLED, STATE_OF, Array


def past_from(name: str, kept: Mapping[str, Any]) -> Past:
    """How a job or a gang ended, from what the history kept of it."""
    if "group" in kept:
        return past_of_group(name, convert(kept["group"], Group))
    if "array" in kept:
        array = convert(kept["array"], Array)
        ended: dict[str, int] = {}
        for letter in (DONE, EXITED, KILLED):
            if array.count(letter):
                state = STATE_OF[letter]
                ended[state] = ended.get(state, 0) + array.count(letter)
        return Past(of=name, tally=tuple(sorted(ended.items())))
    return past_of_job(name, convert(kept["job"], Job))


def past_of_job(name: str, job: Job) -> Past:
    """How a job stands."""
    return Past(of=name, state=job.state, exit=job.exit)


def past_of_group(name: str, group: Group) -> Past:
    """How a gang stands."""
    seen = standing_of_group(group)
    return Past(of=name, state=seen.state, exit=seen.exit)


def is_past(state: State, name: str) -> bool:
    """Whether a job or a gang is in the state no more."""
    return parse_group(name) not in state.groups and parse_job(name) not in state.jobs

"""Work that left the state, as far as a dependency asks for it."""

from collections.abc import Mapping
from typing import Any

from msgspec import convert

from xce.controller.core.commands import Past
from xce.controller.core.depending.judge import standing_of_group
from xce.model.group import Group
from xce.model.job import Job


def past_from(name: str, kept: Mapping[str, Any]) -> Past:
    """How a job or a gang ended, from what the history kept of it."""
    if "group" in kept:
        return past_of_group(name, convert(kept["group"], Group))
    return past_of_job(name, convert(kept["job"], Job))


def past_of_job(name: str, job: Job) -> Past:
    """How a job stands."""
    return Past(of=name, state=job.state, exit=job.exit)


def past_of_group(name: str, group: Group) -> Past:
    """How a gang stands."""
    seen = standing_of_group(group)
    return Past(of=name, state=seen.state, exit=seen.exit)

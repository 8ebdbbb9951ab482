"""Begin and termination times of a command line: local times become moments."""

from __future__ import annotations

import time

from xcecli import say
from xcecli.say import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from xce.resreq.options.times import Local

FIELDS = (("-b", "begin", "begin_us"), ("-t", "terminate", "terminate_us"))


def resolved(values: dict[str, Any], now_us: int) -> dict[str, int]:
    """`begin_us` and `terminate_us` of what was given; a Failure says what no time can be."""
    from xce.resreq import ResreqError
    from xce.resreq.options.times import moment_us

    now = time.localtime(now_us // 1_000_000)
    local = (now.tm_year, now.tm_mon, now.tm_mday, now.tm_hour, now.tm_min)
    found: dict[str, int] = {}
    for option, field, name in FIELDS:
        if values.get(field):
            try:
                found[name] = moment_us(values[field], local, now_us, stamp, option)
            except ResreqError as error:
                said = f"{error.message}. Job not submitted."
                raise Failure(said, say.REFUSED, error.hint) from None
    return found


def stamp(local: Local) -> int:
    """The microseconds of a local time."""
    return int(time.mktime((*local, 0, 0, 0, -1))) * 1_000_000

"""What routes have in common: answers, page cursors, long polls, commands put to the controller.

A long poll reads, and sleeps until the log has grown, until what it waits for is there or its
time is over; it never holds the state over an await.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response

from xce.api.ports import Answered, Engine
from xce.api.problem import Problem, refused
from xce.controller.core.commands import Command, Rejection
from xce.model.units import nearest

WAIT_S_MAX = 60.0
LIMIT_MAX = 1000
JSON = "application/json"

STATS = (
    "PEND", "PSUSP", "PROV", "RUN", "USUSP", "SSUSP", "UNKWN", "ZOMBI", "FIN", "DONE", "EXIT",
)  # fmt: skip
"""LSF's words for the states of jobs."""

Found = TypeVar("Found")
_ENCODER = msgspec.json.Encoder()


def answer(body: Any, status: int = 200) -> Response:
    """A JSON answer."""
    return Response(_ENCODER.encode(body), status, media_type=JSON)


async def asked(engine: Engine, command: Command) -> Answered:
    """The controller's answer; a rejection becomes a Problem."""
    result = await engine.ask(command)
    if isinstance(result, Rejection):
        raise refused(result)
    return result


async def until(engine: Engine, look: Callable[[], Found | None], timeout_s: float) -> Found | None:
    """What `look` finds in the settled state, waiting for changes up to `timeout_s`."""
    end = time.monotonic() + min(max(timeout_s, 0.0), WAIT_S_MAX)
    while True:
        await engine.settled()
        found, lsn = look(), engine.state.lsn
        left = end - time.monotonic()
        if found is not None or left <= 0:
            return found
        await engine.changed(lsn, left)


def page(items: list[Any], limit: int, key: Callable[[Any], int]) -> tuple[list[Any], str | None]:
    """The first `limit` items and the cursor of the next page, None at the end."""
    if len(items) <= limit:
        return items, None
    shown = items[:limit]
    return shown, str(key(shown[-1]))


def cursor_of(text: str) -> int:
    """The number that a cursor stands for."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise Problem("bad_request", "cursor: one that a list gave", pointer="/cursor")
    return int(text)


def stats_of(text: str) -> frozenset[str]:
    """The words of a comma list like `pend,run`; a Problem where one is no state's."""
    stats = frozenset(word for word in text.upper().split(",") if word)
    for word in sorted(stats.difference(STATS)):
        near = nearest(word, STATS)
        hint = f"did you mean {near}?" if near else f"known are {', '.join(STATS)}"
        raise Problem("invalid", f"stat: no job is ever {word[:40]}", hint=hint)
    return stats

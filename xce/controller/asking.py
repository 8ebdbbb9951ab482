"""What askers get, and whose turn it is: theirs, or that of the session under way.

A session gets its part of the loop, however much is asked meanwhile. Without this, steps full of
submissions would leave it a small portion between two of them, and what is pending would wait the
longer the more is submitted. Reads are served all the time: the loop gives the event loop a turn
after every portion and every commit.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from xce.controller.core.commands import Rejection

SESSION_PART = 0.4
WAITING_MAX = 2_000
"""Submissions that may wait while a session is under way; those beyond are told to come back."""


class Answered(Struct, frozen=True, gc=False, kw_only=True):
    """A command that was taken and is durable."""

    lsn: int
    entity: str
    body: dict[str, Any]


Asker = asyncio.Future[Answered | Rejection] | None
"""Who waits for a command's answer, if anybody does."""


class Overloaded(Exception):
    """The inbox is full; try again in a moment."""


class Stopped(Exception):
    """The controller is not (or no longer) leading; the outcome of what was asked is unknown."""


class Turns:
    """The time that one session and the steps between its portions have had."""

    def __init__(self) -> None:
        self.session_s = 0.0
        self.steps_s = 0.0

    @contextmanager
    def session(self) -> Iterator[None]:
        """A portion of the session, or the commit of a slice of it."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.session_s += time.monotonic() - began

    @contextmanager
    def step(self) -> Iterator[None]:
        """A step with what was asked meanwhile."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.steps_s += time.monotonic() - began

    @property
    def step_is_next(self) -> bool:
        """Whether the session has had its part of the time so far."""
        whole = self.session_s + self.steps_s
        return self.session_s >= whole * SESSION_PART

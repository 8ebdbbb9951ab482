"""What users ask of jobs that are there: change, switch, move, run again."""

from typing import Any

from msgspec import Struct

from xce.controller.core.asking import Request
from xce.model.actor import Actor
from xce.model.job import Past


class ModifyJob(Struct, frozen=True, gc=False, kw_only=True):
    """Change what a job (or an array) asked for: `spec` has new values of fields of its spec, a
    requirement as it is written; `queue` "" is the default queue, `priority` -1 the default one,
    `after` "" no dependency; None leaves them. `past` is the loop's look-up for `after`."""

    actor: Actor
    job: int
    spec: dict[str, Any] = {}
    queue: str | None = None
    priority: int | None = None
    after: str | None = None
    past: tuple[Past, ...] = ()
    blobs: dict[str, bytes] = {}
    request: Request = Request()


class SwitchJob(Struct, frozen=True, gc=False, kw_only=True):
    """Put a job into another queue."""

    actor: Actor
    job: int
    queue: str
    request: Request = Request()


class MoveJob(Struct, frozen=True, gc=False, kw_only=True):
    """Move a job that waits: `to` is top or bottom, `position` counts from there, from 1 on."""

    actor: Actor
    job: int
    to: str = "top"
    position: int = 1
    request: Request = Request()


class RequeueJob(Struct, frozen=True, gc=False, kw_only=True):
    """Let a plain job run again if it is in one of the ways of `which` (running done exited):
    as soon as it can, or (`held`) when it is let go."""

    actor: Actor
    job: int
    which: tuple[str, ...] = ("running",)
    held: bool = False
    request: Request = Request()

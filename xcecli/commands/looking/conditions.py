"""Waiting for a condition, as bwait does."""

from __future__ import annotations

import json
import math
import time
from typing import Any

from xcecli import say
from xcecli.doing import POLL_S, RECONNECT_S, format_of, place_of, quoted
from xcecli.long import condition_lines
from xcecli.say import Failure
from xcecli.wire import Place, call


def await_condition(values: dict[str, Any], condition: str, limit_s: float | None) -> int:
    """0 when it holds, 1 when it can never hold, 125 when the time is over."""
    if limit_s is not None and not math.isfinite(limit_s):
        raise Failure("the time to wait is no number", say.USAGE)
    place = place_of(values)
    end = None if limit_s is None else time.monotonic() + limit_s
    while True:
        left = POLL_S if end is None else max(0.0, min(POLL_S, end - time.monotonic()))
        told = _ask(place, condition, left)
        over = end is not None and time.monotonic() >= end
        if told["verdict"] != "waits" or over:
            break
    if format_of(values) == "json":
        print(json.dumps(told))
    if told["verdict"] == "holds":
        return say.OK
    never = told["verdict"] == "never"
    said = "Wait condition is never satisfied" if never else "Wait condition: timeout"
    code = say.FAILED if never else say.OWN_FAILURE
    raise Failure(said, code, "", "\n".join(condition_lines(told)))


def _ask(place: Place, condition: str, wait_s: float) -> dict[str, Any]:
    """One look that lasts up to `wait_s`; a controller that is away for a while is waited for."""
    lost_since = 0.0
    while True:
        try:
            path = f"/v1/wait?condition={quoted(condition)}&timeout={wait_s:.3f}"
            status, told = call(place, "GET", path)
        except Failure as failure:
            now = time.monotonic()
            lost_since = lost_since or now
            if failure.code != say.UNREACHABLE or now - lost_since > RECONNECT_S:
                raise Failure(failure.message, say.OWN_FAILURE, failure.hint) from None
            time.sleep(1.0)
            continue
        if status >= 300:
            raise say.failure_of(status, told)
        found: dict[str, Any] = told
        return found

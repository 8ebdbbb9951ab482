"""Amounts and ends of leases as people write them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from xce.model.units import UnitError, parse_duration, parse_size
from xcecli import say
from xcecli.say import Failure


def amount_of(text: str, type_: str) -> int:
    """A size; a bare number is MB of the sizes that are built in, as it is in a requirement, and
    of any other type that number itself."""
    from xce.model.resources import BUILT_IN, BYTES

    is_size = type_ in BUILT_IN and BUILT_IN[type_].unit == BYTES
    if text.isascii() and text.isdigit() and not is_size:
        return int(text)
    try:
        return parse_size(text)
    except UnitError as error:
        raise Failure(f"--amount {text}: {error}", say.USAGE) from None


def lease_of(until: str | None) -> dict[str, Any]:
    """`2h` as a duration, an RFC 3339 time as a moment."""
    if not until:
        return {}
    try:
        parse_duration(until)
    except UnitError:
        return {"until_us": _moment(until)}
    return {"lease": until}


def _moment(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        hint = "a duration like 2h, or a time like 2026-12-01T08:00:00Z"
        raise Failure(f"--until {text}: neither a duration nor a time", say.USAGE, hint) from None
    if moment.tzinfo is None:
        moment = moment.astimezone()
    return int(moment.timestamp() * 1_000_000)

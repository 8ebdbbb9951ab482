"""What people are told of work on a host that is not heard of: what is known, and what cures it."""

from collections.abc import Iterable
from typing import Any

from xce.api.ports import StateView
from xce.dispatch.lease import patience_us
from xce.model.config import SECOND_US
from xce.model.start import Launch
from xce.model.tables import LIVE_LAUNCH
from xce.model.units import format_duration

HOSTS_TOLD = 5


def silence(state: StateView, launches: Iterable[Launch]) -> dict[str, Any] | None:
    """The DOWN hosts of live launches with the sentence about them; None when there are none."""
    live = [one for one in launches if one.state in LIVE_LAUNCH]
    down = sorted({one.host for one in live if _is_down(state, one.host)})
    if not down:
        return None
    own = [one for one in live if one.host in down]
    return {"hosts": down, "text": f"{_known(state, down)}; {_cures(state, down, own)}"}


def _is_down(state: StateView, name: str) -> bool:
    host = state.hosts.get(name)
    return host is not None and host.liveness == "DOWN"


def _known(state: StateView, down: list[str]) -> str:
    told = [
        f"host {name} is DOWN ({state.hosts[name].why or 'not heard'})"
        for name in down[:HOSTS_TOLD]
    ]
    more = f" and {len(down) - HOSTS_TOLD} more" if len(down) > HOSTS_TOLD else ""
    return f"{', '.join(told)}{more}: nobody knows whether its work goes on"


def _cures(state: StateView, down: list[str], launches: list[Launch]) -> str:
    """The four cures; for work with a lease time is the fifth."""
    hook = "a fencing hook says yes" if state.config.fencing.command else _NO_HOOK
    word = f"`xce host lost {down[0]}`"
    cures = f"settled when the host is back, when it has a new boot, when {hook}, or by {word}"
    waits = [_patience_us(state, one) for one in launches]
    if not any(waits):
        return cures
    most_us = -(-max(waits) // SECOND_US) * SECOND_US
    return (
        f"{cures}; at the latest {format_duration(most_us)} after the host was last heard (or this "
        "controller began), because its supervisor stops what has a stop_after"
    )


_NO_HOOK = "a fencing hook says yes (none is configured: [fencing] in xce.toml)"


def _patience_us(state: StateView, launch: Launch) -> int:
    start = state.starts[launch.start]
    return patience_us(start.stop_after_us, start.kill_grace_us) if start.stop_after_us else 0

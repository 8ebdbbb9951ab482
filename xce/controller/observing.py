"""What hosts report of themselves, gathered between ticks.

Heard values are volatile: they are kept here, by host and name, and become part of the state only
through the tick that decide writes. A tick is due every `tick_interval_us` where somebody looks at
reported values, or where the state still holds some. Every sample tells, for each column, the
newest value or that it is not known: a value older than its type's time-to-live is not, and
nothing that was heard before this leader began is.

Decisions know no time of day either: what windows of queues differ from what the state says of them
is told as commands (`turned`).
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from xce.controller.core.commands import Sample, TakeTick, TurnWindow
from xce.controller.core.fold.state import State
from xce.controller.core.queueing.queues import queue_state
from xce.controller.core.queueing.run_windows import is_due
from xce.controller.core.resources.observed import is_reported, named_columns
from xce.controller.core.resources.pools import name_of, pools_of
from xce.dispatch.observe import Value, read_value
from xce.dispatch.protocol import Poll
from xce.model.actor import CONTROLLER
from xce.model.config import PoolConfig
from xce.model.config.windows import is_open
from xce.model.resources import ALIASES, ResourceType, site_types

NAMES_MAX = 256
Heard = dict[str, tuple[Value, int]]


class Observing:
    """The reported values of one controller's hosts."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._heard: dict[str, Heard] = {}
        self._told_us = 0

    def hear(self, poll: Poll, now_us: int) -> None:
        """Take over what a poll tells; values of no reported type are left out."""
        host = self._state.hosts.get(poll.host)
        if poll.observed is None or host is None or host.incarnation != poll.incarnation:
            return
        types = site_types(self._state.config.types)
        mine = self._heard[poll.host] = {}
        for name, told, age_us in poll.observed.values[:NAMES_MAX]:
            type_ = types.get(name) or types.get(ALIASES.get(name, ""))
            value = read_value(type_, told) if type_ is not None and is_reported(type_) else None
            if type_ is not None and value is not None:
                mine[type_.name] = (value, now_us - max(0, age_us))

    def due(self, now_us: int) -> list[TakeTick]:
        """The tick that is due, if one is."""
        interval_us = self._state.config.tick_interval_us
        if not interval_us or now_us - self._told_us < interval_us:
            return []
        columns = named_columns(self._state)
        pools = [pool for pool in self._state.config.pools if pool.reported]
        if not columns and not pools and not self._state.observed:
            return []
        self._told_us = now_us
        self._forget_gone()
        samples = [*self._of_hosts(columns, now_us), *self._of_pools(pools, now_us)]
        return [TakeTick(actor=CONTROLLER, samples=tuple(samples))]

    def _forget_gone(self) -> None:
        for name in [name for name in self._heard if name not in self._state.hosts]:
            del self._heard[name]

    def _of_hosts(self, columns: tuple[str, ...], now_us: int) -> Iterator[Sample]:
        types = site_types(self._state.config.types)
        for host in sorted(self._state.hosts):
            values = tuple((name, self._fresh(host, types[name], now_us)) for name in columns)
            if values:
                yield Sample(of=host, values=values)

    def _of_pools(self, pools: list[PoolConfig], now_us: int) -> Iterator[Sample]:
        """The total of a pool is what the first of its hosts, by name, says."""
        config = self._state.config
        types = site_types(config.types)
        for pool in pools:
            mine = (
                host
                for host in sorted(self._heard)
                if pools_of(config.pools, host).get(pool.type) == pool
            )
            told = (self._fresh(host, types[pool.type], now_us) for host in mine)
            value = next((one for one in told if one is not None), None)
            yield Sample(of=name_of(pool), values=((pool.type, value),))

    def _fresh(self, host: str, type_: ResourceType, now_us: int) -> Value | None:
        value, at_us = self._heard.get(host, {}).get(type_.name, (None, 0))
        return None if type_.ttl_us and now_us - at_us > type_.ttl_us else value


# -- the time of day ------------------------------------------------------------------------------


def minute_of_week(now_us: int) -> int:
    """Minutes since Sunday began, in the machine's own time."""
    local = datetime.fromtimestamp(now_us // 1_000_000, UTC).astimezone()
    return (local.isoweekday() % 7 * 24 + local.hour) * 60 + local.minute


def turned(state: State, now_us: int) -> Iterator[TurnWindow]:
    """The windows that are not as the state has them, or are shut while work of them runs."""
    queues = [one for one in state.config.queues if one.dispatch_window or one.run_window]
    if not queues:
        return
    minute = minute_of_week(now_us)
    for queue in queues:
        now = queue_state(state, queue.name)
        for window, windows, seen in (
            ("dispatches", queue.dispatch_window, now.dispatches),
            ("runs", queue.run_window, now.runs),
        ):
            opened = is_open(windows, minute)
            runs_on = window == "runs" and not opened and is_due(state, queue.name)
            if windows and (seen != int(opened) or runs_on):
                yield TurnWindow(actor=CONTROLLER, queue=queue.name, window=window, open=opened)

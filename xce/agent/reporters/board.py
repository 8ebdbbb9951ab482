"""The newest value of each name on this host, for whoever tells the controller.

Sources go before each other in the order in which they were added: a reporter goes before the
built-in load indices, as an ELIM does in LSF. What a source no longer tells keeps its value and
ages; the controller takes what is too old for unknown. The board is bounded and never waits.
"""

import threading
import time
from collections.abc import Callable, Mapping

from xce.agent.reporters.lines import Value
from xce.dispatch.protocol import Observed

NAMES_MAX = 256
FORGET_S = 3600.0


class Board:
    """Values by source and name. `clock` gives seconds that only grow."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._sources: dict[str, dict[str, tuple[Value, float]]] = {}

    def put(self, source: str, values: Mapping[str, Value | None]) -> None:
        """What a source tells now; None takes its value of that name away."""
        now_s = self._clock()
        with self._guard:
            mine = self._sources.setdefault(source, {})
            for name, value in values.items():
                if value is None:
                    mine.pop(name, None)
                elif name in mine or len(mine) < NAMES_MAX:
                    mine[name] = (value, now_s)

    def told(self) -> Observed | None:
        """All of it with its age, sorted by name; None where nothing was told yet."""
        now_s = self._clock()
        found: dict[str, tuple[Value, float]] = {}
        with self._guard:
            for mine in self._sources.values():
                for name in [name for name, (_, at_s) in mine.items() if now_s - at_s > FORGET_S]:
                    del mine[name]
                found |= mine
        values = tuple(
            (name, value, int((now_s - at_s) * 1_000_000))
            for name, (value, at_s) in sorted(found.items())[:NAMES_MAX]
        )
        return Observed(values=values) if values else None

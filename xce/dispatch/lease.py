"""The lease of work that stops when its host is cut off: how long each side waits.

The host counts from the moment it *sent* the last poll that was answered, the controller from the
moment it *received* the last one, which is never earlier. Both count on the clock that runs since
boot. The controller waits two parts of a hundred longer, for clocks that run unlike, the time in
which a process is asked before it is killed, and a margin; so the host always gives up first.
"""

MARGIN_US = 10_000_000
DRIFT_OF_100 = 2
SILENCES = 2
"""How many times `suspect_after` a lease lasts at least: what is UP can then always be let go."""


def patience_us(stop_after_us: int, kill_grace_us: int) -> int:
    """How long after it last heard a host the controller knows that such work is gone there."""
    drift_us = -(-stop_after_us * DRIFT_OF_100 // 100)
    return stop_after_us + drift_us + kill_grace_us + MARGIN_US


def shortest_us(suspect_after_us: int) -> int:
    """The shortest lease that a host can keep renewing."""
    return SILENCES * suspect_after_us
